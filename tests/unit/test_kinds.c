// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kinds of state: the table names each record and each descriptor once, and real event descriptors
 * are made again as their records say.
 */
#include "engine/core/state_kind.h"
#include "tests/unit/reopen_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void test_table(void **arg)
{
#define RECORD(name, number) number,
	static const uint16_t of_files[] = { CKPT_RECS_OF_FILES(RECORD) };
#undef RECORD

	(void)arg;
	for (unsigned int i = 0; state_kinds[i]; i++) {
		const struct state_kind *kind = state_kinds[i];

		assert_non_null(kind->name);
		for (unsigned int k = 0; k < STATE_KIND_FILES && kind->files[k]; k++)
			assert_ptr_equal(state_kind_of_file(kind->files[k]), kind);
		for (unsigned int k = 0; k < STATE_KIND_RECORDS && kind->records[k].type; k++) {
			assert_ptr_equal(state_kind_of_record(kind->records[k].type), kind);
			assert_true(kind->records[k].min_len >= sizeof(struct ckpt_rec_hdr));
			if (kind->records[k].owner == STATE_OWNER_OBJECT)
				assert_non_null(kind->marks);
		}
	}
	for (unsigned int i = 0; i < sizeof(of_files) / sizeof(*of_files); i++) {
		assert_non_null(state_kind_record(of_files[i]));
		assert_int_equal(state_kind_record(of_files[i])->owner, STATE_OWNER_FILE);
	}
}

static struct ckpt_rec_eventfd *add_eventfd(struct opening *f, uint32_t id, uint64_t count,
					    uint32_t flags)
{
	struct ckpt_rec_eventfd *rec;

	opening_file(f, id, CKPT_FILE_EVENTFD, "anon_inode:[eventfd]", O_RDWR | O_NONBLOCK);
	rec = stream_add(&f->stream, CKPT_REC_EVENTFD, sizeof(*rec), NULL, 0);
	rec->of.file = id;
	rec->count = count;
	rec->flags = flags;
	return rec;
}

static void test_eventfd(void **arg)
{
	struct opening f;
	eventfd_t value;

	opening_begin(&f, *arg, "eventfd");
	add_eventfd(&f, 2, 1ULL << 40, 0);
	add_eventfd(&f, 3, 2, EFD_SEMAPHORE);
	opening_start(&f, "eventfd");
	opening_all(&f);
	assert_int_equal(fd_flags(opening_fd(&f, 2)), O_RDWR | O_NONBLOCK);
	assert_int_equal(eventfd_read(opening_fd(&f, 2), &value), 0);
	assert_int_equal(value, 1ULL << 40);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(eventfd_read(opening_fd(&f, 3), &value), 0);
		assert_int_equal(value, 1);
	}
	assert_int_equal(eventfd_read(opening_fd(&f, 3), &value), -1);
	opening_end(&f);
}

static void test_signalfd(void **arg)
{
	struct signalfd_siginfo info;
	struct ckpt_rec_signalfd *rec;
	struct opening f;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	opening_begin(&f, *arg, "signalfd");
	opening_file(&f, 2, CKPT_FILE_SIGNALFD, "anon_inode:[signalfd]", O_RDWR);
	rec = stream_add(&f.stream, CKPT_REC_SIGNALFD, sizeof(*rec), NULL, 0);
	rec->of.file = 2;
	rec->mask = 1ULL << (SIGUSR2 - 1);
	opening_start(&f, "signalfd");
	opening_all(&f);
	raise(SIGUSR2);
	assert_int_equal(read(opening_fd(&f, 2), &info, sizeof(info)), sizeof(info));
	assert_int_equal(info.ssi_signo, SIGUSR2);
	opening_end(&f);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void test_timerfd(void **arg)
{
	struct ckpt_rec_timerfd *rec;
	struct itimerspec left;
	struct opening f;
	uint64_t ticks;

	opening_begin(&f, *arg, "timerfd");
	for (uint32_t id = 2; id <= 3; id++) {
		opening_file(&f, id, CKPT_FILE_TIMERFD, "anon_inode:[timerfd]", O_RDWR);
		rec = stream_add(&f.stream, CKPT_REC_TIMERFD, sizeof(*rec), NULL, 0);
		rec->of.file = id;
		rec->clock = CLOCK_MONOTONIC;
		rec->ticks = 7;
		if (id == 3) {
			rec->value_ns = 3600000000007ULL;
			rec->interval_ns = 1000000005;
		}
	}
	opening_start(&f, "timerfd");
	opening_all(&f);
	assert_int_equal(timerfd_gettime(opening_fd(&f, 3), &left), 0);
	assert_int_equal(left.it_value.tv_sec, 0);	/* not before the last step */
	assert_int_equal(reopen_arm(&f.r), 0);
	assert_int_equal(timerfd_gettime(opening_fd(&f, 3), &left), 0);
	assert_in_range(left.it_value.tv_sec, 3500, 3600);
	assert_int_equal(left.it_interval.tv_sec, 1);
	assert_int_equal(left.it_interval.tv_nsec, 5);
	for (uint32_t id = 2; id <= 3; id++) {
		assert_int_equal(read(opening_fd(&f, id), &ticks, sizeof(ticks)), sizeof(ticks));
		assert_int_equal(ticks, 7);
	}
	opening_end(&f);
}

/* One epoll file, 9, with @nr items; as many eventfds, 10 and more. */
static void add_epoll(struct opening *f, const struct ckpt_epoll_item *items, uint32_t nr)
{
	struct ckpt_rec_epoll *rec;

	for (uint32_t i = 0; i < nr; i++)
		add_eventfd(f, 10 + i, 0, 0);
	opening_file(f, 9, CKPT_FILE_EPOLL, "anon_inode:[eventpoll]", O_RDWR);
	rec = stream_add(&f->stream, CKPT_REC_EPOLL, sizeof(*rec), items, nr * sizeof(*items));
	rec->of.file = 9;
	rec->of.nr = nr;
}

/* Items at numbers that this process has in use: standard input, the epoll descriptor, others. */
static void test_epoll(void **arg)
{
	struct ckpt_epoll_item items[20] = { 0 };
	struct epoll_event event;
	struct opening f;
	int next = dup(0);

	close(next);
	for (uint32_t i = 0; i < 20; i++)
		items[i] = (struct ckpt_epoll_item){
			.file = 10 + i, .fd = i ? next + (int)i - 2 : 0, .events = EPOLLIN,
			.data = 0x100000000ULL + i,
		};
	opening_begin(&f, *arg, "epoll");
	add_epoll(&f, items, 20);
	opening_start(&f, "epoll");
	opening_all(&f);
	if (reopen_connect(&f.r))
		fail_msg("%s", f.error.text);
	assert_int_equal(fcntl(0, F_GETFD), 0);
	assert_int_equal(epoll_wait(opening_fd(&f, 9), &event, 1, 0), 0);
	for (uint32_t i = 0; i < 20; i++) {
		eventfd_t value;

		assert_int_equal(eventfd_write(opening_fd(&f, 10 + i), 1), 0);
		assert_int_equal(epoll_wait(opening_fd(&f, 9), &event, 1, 0), 1);
		assert_int_equal(event.data.u64, 0x100000000ULL + i);
		assert_int_equal(eventfd_read(opening_fd(&f, 10 + i), &value), 0);
		/* the number at which it was added */
		_cleanup_fd_ int kept = fcntl(items[i].fd, F_DUPFD_CLOEXEC, 100);
		_cleanup_fd_ int epoll = fcntl(opening_fd(&f, 9), F_DUPFD_CLOEXEC, 200);

		assert_true(dup2(opening_fd(&f, 10 + i), items[i].fd) >= 0);
		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_DEL, items[i].fd, &event), 0);
		if (kept >= 0)
			dup2(kept, items[i].fd);
		else
			close(items[i].fd);
	}
	opening_end(&f);
}

static void parse_fails(struct opening *f, const char *text)
{
	struct state_error why = { 0 };
	struct state *state;

	assert_int_equal(state_parse(f->stream.buf, f->stream.len, &state, &why), -EBADMSG);
	if (!strstr(why.text, text))
		fail_msg("%s, not %s", why.text, text);
	image_destroy(f->img);
	stream_done(&f->stream);
}

static void test_bad_records(void **arg)
{
	struct ckpt_epoll_item item = { .file = 10, .fd = -1 };
	struct ckpt_rec_timerfd *timer;
	struct opening f;

	opening_begin(&f, *arg, "bad1");
	opening_file(&f, 2, CKPT_FILE_EVENTFD, "anon_inode:[eventfd]", O_RDWR);
	parse_fails(&f, "no eventfd of file 2");
	opening_begin(&f, *arg, "bad2");
	add_eventfd(&f, 2, UINT64_MAX, 0);
	parse_fails(&f, "impossible eventfd");
	opening_begin(&f, *arg, "bad3");
	add_eventfd(&f, 2, 1, 0)->of.file = STREAM_CWD;
	parse_fails(&f, "another kind");
	opening_begin(&f, *arg, "bad4");
	add_eventfd(&f, 2, 1, 0)->of.file = 77;
	parse_fails(&f, "77");
	opening_begin(&f, *arg, "bad5");
	add_epoll(&f, &item, 1);
	parse_fails(&f, "bad item");
	item = (struct ckpt_epoll_item){ .file = 10, .owner = -1 };
	opening_begin(&f, *arg, "bad5 owner");
	add_epoll(&f, &item, 1);
	parse_fails(&f, "bad item");
	opening_begin(&f, *arg, "bad6");
	opening_file(&f, 2, CKPT_FILE_TIMERFD, "anon_inode:[timerfd]", O_RDWR);
	timer = stream_add(&f.stream, CKPT_REC_TIMERFD, sizeof(*timer), NULL, 0);
	timer->of.file = 2;
	timer->clock = CLOCK_PROCESS_CPUTIME_ID;
	parse_fails(&f, "impossible timerfd");
}

static struct engine_rec_ipc *add_ipc(struct opening *f, uint32_t kind, uint64_t size,
				      const void *tail, size_t len)
{
	struct engine_rec_ipc *rec;

	rec = stream_add(&f->stream, ENGINE_REC_IPC, sizeof(*rec), tail, len);
	rec->kind = kind;
	rec->id = 32769;
	rec->size = size;
	return rec;
}

static void test_bad_ipc(void **arg)
{
	const struct {
		struct engine_ipc_message head;
		char bytes[8];
	} message = { { 1, 9, 0 }, "" };
	const uint16_t values[4] = { 1, 2, 3, 4 };
	struct ckpt_rec_semadj *adj;
	struct opening f;

	opening_begin(&f, *arg, "ipc1");
	add_ipc(&f, ENGINE_IPC_SEM, 5, values, sizeof(values));
	parse_fails(&f, "impossible System V object 32769");
	opening_begin(&f, *arg, "ipc2");
	add_ipc(&f, ENGINE_IPC_SHM, 0, NULL, 0);
	parse_fails(&f, "impossible System V object");
	opening_begin(&f, *arg, "ipc3");
	add_ipc(&f, ENGINE_IPC_MSG, 100, &message, sizeof(message))->nr = 1;
	parse_fails(&f, "impossible System V object");
	opening_begin(&f, *arg, "ipc4");
	add_ipc(&f, ENGINE_IPC_MSG + 1, 1, NULL, 0);
	parse_fails(&f, "impossible System V object");
	opening_begin(&f, *arg, "ipc5");
	add_ipc(&f, ENGINE_IPC_SEM, 4, values, sizeof(values))->mode = 01777;
	parse_fails(&f, "impossible System V object");
	opening_begin(&f, *arg, "ipc6");
	adj = stream_add(&f.stream, CKPT_REC_SEMADJ, sizeof(*adj), NULL, 0);
	adj->pid = 31999;
	parse_fails(&f, "undo list away from process 31999");
}

static struct engine_rec_mqueue *add_mqueue(struct opening *f, const void *tail, size_t len,
					    uint32_t name_len)
{
	struct engine_rec_mqueue *rec;

	rec = stream_add(&f->stream, ENGINE_REC_MQUEUE, sizeof(*rec), tail, len);
	rec->maxmsg = 2;
	rec->msgsize = 8;
	rec->name_len = name_len;
	rec->notify = CKPT_MQ_NOBODY;
	return rec;
}

static void test_bad_mqueue(void **arg)
{
	const struct {
		char name[8];
		struct ckpt_mq_message head;
		char bytes[16];
	} one = { "/q", { 0, 9 }, "" };
	struct engine_rec_mqueue *rec;
	struct opening f;

	opening_begin(&f, *arg, "mq1");		/* a message longer than the queue's */
	add_mqueue(&f, &one, sizeof(one), 3)->nr = 1;
	parse_fails(&f, "impossible message queue");
	opening_begin(&f, *arg, "mq2");		/* more messages than bytes */
	rec = add_mqueue(&f, &one, sizeof(one), 3);
	rec->msgsize = 9;
	rec->nr = 2;
	parse_fails(&f, "impossible message queue");
	opening_begin(&f, *arg, "mq3");		/* more messages than there is room for */
	rec = add_mqueue(&f, &one, sizeof(one), 3);
	rec->msgsize = 9;
	rec->nr = 1;
	rec->maxmsg = 0;
	parse_fails(&f, "impossible message queue");
	opening_begin(&f, *arg, "mq4");		/* names that lead elsewhere */
	add_mqueue(&f, "q\0\0\0\0\0\0", 8, 2);
	parse_fails(&f, "impossible message queue");
	opening_begin(&f, *arg, "mq5");
	add_mqueue(&f, "/q/r\0\0\0", 8, 5);
	parse_fails(&f, "impossible message queue");
	opening_begin(&f, *arg, "mq6");
	add_mqueue(&f, "/qrstuv", 8, 3);
	parse_fails(&f, "impossible message queue");
	opening_begin(&f, *arg, "mq7");
	rec = add_mqueue(&f, "/q\0\0\0\0\0", 8, 3);
	rec->notify = 7;
	rec->notify_pid = 1;
	parse_fails(&f, "impossible notification");
	opening_begin(&f, *arg, "mq8");
	rec = add_mqueue(&f, "/q\0\0\0\0\0", 8, 3);
	rec->notify = SIGEV_SIGNAL;
	rec->notify_pid = 1;
	rec->notify_signo = 65;
	parse_fails(&f, "impossible notification");
}

struct uring_bytes {
	uint32_t files[2];
	char rings[64 + 4 * 16 + 4 * sizeof(uint32_t)];
	char sqes[4 * 64];
};

/* A ring of four and four entries, with one place for a file. */
static struct ckpt_rec_uring *add_uring(struct opening *f, const struct uring_bytes *bytes,
					size_t len)
{
	struct ckpt_rec_uring *rec;

	opening_file(f, 2, CKPT_FILE_URING, "anon_inode:[io_uring]", O_RDWR);
	rec = stream_add(&f->stream, CKPT_REC_URING, sizeof(*rec), bytes, len);
	rec->of.file = 2;
	rec->of.nr = 1;
	rec->sq_entries = 4;
	rec->cq_entries = 4;
	rec->cqes = 64;
	rec->sq_array = 64 + 4 * 16;
	rec->rings_len = sizeof(bytes->rings);
	rec->sqes_len = sizeof(bytes->sqes);
	return rec;
}

static void test_bad_uring(void **arg)
{
	static const struct uring_bytes bytes;
	struct opening f;

	opening_begin(&f, *arg, "uring1");
	add_uring(&f, &bytes, sizeof(bytes) - 8);	/* entries that the record has not */
	parse_fails(&f, "impossible io_uring, file 2");
	opening_begin(&f, *arg, "uring2");
	add_uring(&f, &bytes, sizeof(bytes))->of.nr = 4;
	parse_fails(&f, "impossible io_uring");
	opening_begin(&f, *arg, "uring3");
	add_uring(&f, &bytes, sizeof(bytes))->setup = IORING_SETUP_SQPOLL;
	parse_fails(&f, "impossible io_uring");
	opening_begin(&f, *arg, "uring4");
	add_uring(&f, &bytes, sizeof(bytes))->sq_entries = 3;
	parse_fails(&f, "impossible io_uring");
	opening_begin(&f, *arg, "uring5");
	add_uring(&f, &bytes, sizeof(bytes))->cqes = 128;	/* beyond the queue */
	parse_fails(&f, "impossible io_uring");
	opening_begin(&f, *arg, "uring6");
	add_uring(&f, &bytes, sizeof(bytes))->sq_array = UINT32_MAX;
	parse_fails(&f, "impossible io_uring");
	opening_begin(&f, *arg, "uring7");
	add_uring(&f, &bytes, sizeof(bytes))->cq_entries = 1U << 31;
	parse_fails(&f, "impossible io_uring");
	opening_begin(&f, *arg, "uring8");
	add_uring(&f, &bytes, sizeof(bytes))->setup = IORING_SETUP_CQE32;
	parse_fails(&f, "impossible io_uring");
}

static void test_bad_others(void **arg)
{
	const struct {
		struct engine_inotify_watch head;
		char path[8];
	} watch = { { 1, IN_OPEN, S_IFREG, 9 }, "/x" }, name = { { 1, IN_OPEN, S_IFREG, 2 }, "x" };
	struct engine_rec_inotify *inotify;
	struct engine_rec_fown *fown;
	struct opening f;

	opening_begin(&f, *arg, "inotify1");
	opening_file(&f, 2, CKPT_FILE_INOTIFY, "anon_inode:inotify", O_RDONLY);
	inotify = stream_add(&f.stream, ENGINE_REC_INOTIFY, sizeof(*inotify), &watch,
			     sizeof(watch));
	inotify->of.file = 2;
	inotify->of.nr = 1;
	parse_fails(&f, "bad watch 0");
	opening_begin(&f, *arg, "inotify2");
	opening_file(&f, 2, CKPT_FILE_INOTIFY, "anon_inode:inotify", O_RDONLY);
	inotify = stream_add(&f.stream, ENGINE_REC_INOTIFY, sizeof(*inotify), &name, sizeof(name));
	inotify->of.file = 2;
	inotify->of.nr = 1;
	parse_fails(&f, "bad watch 0");
	opening_begin(&f, *arg, "inotify3");
	opening_file(&f, 2, CKPT_FILE_INOTIFY, "anon_inode:inotify", O_RDONLY);
	inotify = stream_add(&f.stream, ENGINE_REC_INOTIFY, sizeof(*inotify), NULL, 0);
	inotify->of.file = 2;
	inotify->of.nr = 1;
	parse_fails(&f, "too short");
	opening_begin(&f, *arg, "fown");
	fown = stream_add(&f.stream, ENGINE_REC_FOWN, sizeof(*fown), NULL, 0);
	fown->of.file = STREAM_CWD;
	fown->signo = 65;
	parse_fails(&f, "impossible owner");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_table),   TEST(test_eventfd), TEST(test_signalfd),
		TEST(test_timerfd), TEST(test_epoll),   TEST(test_bad_records),
		TEST(test_bad_ipc), TEST(test_bad_others), TEST(test_bad_mqueue),
		TEST(test_bad_uring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
