// SPDX-License-Identifier: GPL-2.0-only
/*
 * What terminals of the tree have not read, on a kernel that is made up: what is
 * kept, and what is refused as a restore could not type it again.
 */
#include "base/error.h"
#include "tests/unit/dump_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define HEAP	0x10000000ULL

enum { F_TTY = 40, F_MASTER, F_CONTROL };

static const struct fake_page pages[] = { { 1, HEAP, 11, CKPT_RUN_ANON, 0, false } };

/* A terminal with "out" on its way to the master and @input typed; its settings are the default. */
static int make_terminal(const char *input)
{
	int unlock = 0, index, master, slave;
	struct termios t;

	fake_heap(pages, 1, HEAP, 0x10000, open("/", O_RDONLY | O_DIRECTORY));
	master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	assert_true(master >= 0);
	assert_int_equal(ioctl(master, TIOCSPTLCK, &unlock), 0);
	assert_int_equal(ioctl(master, TIOCGPTN, &index), 0);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	assert_int_equal(tcgetattr(slave, &t), 0);
	t.c_lflag &= (tcflag_t)~ECHO;
	assert_int_equal(tcsetattr(slave, TCSANOW, &t), 0);
	stream_fd(&fake.stream, 1, 9, F_MASTER);
	stream_fd(&fake.stream, 1, 10, F_TTY);
	fake_file_of(F_MASTER, CKPT_FILE_PTM, "/dev/ptmx", master, CKPT_FILE_OPEN, O_RDWR, 0);
	fake_file_of(F_TTY, CKPT_FILE_PTS, "/dev/pts/0", slave, CKPT_FILE_OPEN, O_RDWR, 0);
	for (size_t at = 0; at < fake.stream.len;) {
		struct ckpt_rec_file *rec = (void *)((char *)fake.stream.buf + at);

		if (rec->hdr.type == CKPT_REC_FILE &&
		    (rec->kind == CKPT_FILE_PTM || rec->kind == CKPT_FILE_PTS))
			rec->object = (unsigned int)index;
		at += rec->hdr.len;
	}
	if (input)
		assert_int_equal(write(master, input, strlen(input)), strlen(input));
	else
		assert_int_equal(write(slave, "out", 3), 3);
	return index;
}

/* The process has terminal @index, and its /dev/tty leads to terminal @object. */
static void set_control(int index, uint64_t object)
{
	const struct ckpt_rec_proc *holder = NULL;

	for (size_t at = 0; at < fake.stream.len;) {
		struct ckpt_rec_file *rec = (void *)((char *)fake.stream.buf + at);
		struct ckpt_rec_proc *proc = (void *)rec;

		if (rec->hdr.type == CKPT_REC_PROC) {
			proc->tty = index;
			holder = proc;
		}
		if (rec->hdr.type == CKPT_REC_FILE && rec->kind == CKPT_FILE_TTY) {
			rec->object = object;
			rec->pid = holder->host_pid;
		}
		at += rec->hdr.len;
	}
}

static void data_is_kept(struct scratch *s, uint32_t kind)
{
	struct dump_options options = dump_options_for(s);
	struct image_reader *r = NULL;
	struct ckpt_error error = { 0 };
	struct stream stream = { 0 };
	const struct engine_tty_bytes *data;
	struct state *model;

	dump_ok(&options, NULL);
	if (image_open(scratch_path(s, "image"), s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	model = dump_load_state(r, &stream);
	assert_int_equal(model->nr_tty_data, 1);
	assert_int_equal(model->tty_data[0]->kind, kind);
	assert_int_equal(model->tty_data[0]->len, fake.tty_len);
	data = (const void *)(model->tty_data[0] + 1);
	assert_memory_equal(data->bytes, fake.tty_bytes, fake.tty_len);
	assert_int_equal(data->marks[0], fake.tty_marks);
	state_free(model);
	stream_done(&stream);
	image_close(r);
	assert_int_equal(image_remove(scratch_path(s, "image"), &error), 0);
	fake_close_files();
}

static void set_peek(uint32_t file, const char *bytes, uint32_t len, uint32_t canon, uint64_t marks)
{
	fake.features |= CKPT_FEAT_TTY_PEEK;
	fake.tty_file = file;
	fake.tty_bytes = bytes;
	fake.tty_len = len;
	fake.tty_canon = canon;
	fake.tty_marks = marks;
}

static void test_tty_data(void **state)
{
	struct scratch *s = *state;

	make_terminal(NULL);
	set_peek(F_MASTER, "out", 3, 0, 0);
	data_is_kept(s, CKPT_FILE_PTM);
	/* a line, and half of one, which FIONREAD does not count */
	make_terminal("li\nne");
	set_peek(F_TTY, "li\nne", 5, 3, 1 << 2);
	data_is_kept(s, CKPT_FILE_PTS);
}

static void test_tty_refused(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	options.dry_run = true;
	for (int fault = 0; fault < 6; fault++) {
		make_terminal(fault < 4 ? NULL : "li\nne");
		if (fault)	/* 0: a module that cannot look */
			set_peek(F_MASTER, "out", 3, 0, 0);
		if (fault == 1)	/* not what FIONREAD says */
			fake.tty_len = 2;
		if (fault == 2)
			fake.tty_ret = -EBUSY;
		if (fault == 3)
			fake.tty_ret = -EOPNOTSUPP;
		if (fault == 4)	/* an end-of-file that ends a line; */
			set_peek(F_TTY, "li\0\nne", 6, 4, 1 << 2 | 1 << 3);
		if (fault == 5)	/* a newline that ends none, as of another mode */
			set_peek(F_TTY, "li\nne", 5, 3, 0);
		dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_TTY_DATA);
		fake_close_files();
	}
}

/* What the descriptor leads to counts, whatever terminal its process has now. */
static void test_tty_control(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	options.dry_run = true;
	for (int other = 0; other < 3; other++) {
		int index = make_terminal(NULL), fd = open("/dev/null", O_RDWR);

		set_peek(F_MASTER, "out", 3, 0, 0);
		stream_fd(&fake.stream, 1, 11, F_CONTROL);
		fake_file_of(F_CONTROL, CKPT_FILE_TTY, "/dev/tty", fd, CKPT_FILE_OPEN, O_RDWR, 0);
		set_control(index, !other ? (uint64_t)index : other == 1 ? 12345 : UINT64_MAX);
		if (other)
			dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_FD_TTY);
		else
			dump_ok(&options, NULL);
		fake_close_files();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tty_data, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_tty_refused, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_tty_control, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
