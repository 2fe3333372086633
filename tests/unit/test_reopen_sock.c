// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening what an image has of unix sockets, with real ones: peers, names, what nobody had read;
 * names that are taken; and streams that contradict themselves.
 */
#include "tests/unit/reopen_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/filter.h>

#include "engine/core/sock_filter.h"
#include "engine/core/sock_options.h"

/* Socket @id with the file of the same number; its record is valid until the next is added. */
static struct ckpt_rec_sock *add_sock(struct opening *f, uint32_t id, uint16_t type,
				      const char *path)
{
	size_t len = path ? strlen(path) : 0;
	_cleanup_free_ char *tail = calloc(1, 2 * len + 2);
	struct ckpt_rec_sock *rec;

	if (path)	/* the name, then the path with its NUL */
		memcpy(mempcpy(tail, path, len), path, len + 1);
	rec = stream_add(&f->stream, CKPT_REC_SOCK, sizeof(*rec), tail, path ? 2 * len + 1 : 0);
	rec->id = rec->file = id;
	rec->family = AF_UNIX;
	rec->type = type;
	rec->state = CKPT_SOCK_OPEN;
	rec->mode = S_IFSOCK | 0640;
	rec->uid = getuid();
	rec->gid = getgid();
	rec->name_len = (uint32_t)len;
	rec->path_len = path ? (uint32_t)len + 1 : 0;
	rec->flags = path ? CKPT_SOCK_NAMED : 0;
	return rec;
}

static struct ckpt_rec_sock *add_end(struct opening *f, uint32_t id, uint16_t type, uint32_t peer,
				     uint32_t nr_msgs)
{
	struct ckpt_rec_sock *rec = add_sock(f, id, type, NULL);

	rec->state = CKPT_SOCK_CONNECTED;
	rec->peer = peer;
	rec->nr_msgs = nr_msgs;
	return rec;
}

/* A message to the socket that was added last, from @sender, with file @file if not 0. */
static void add_msg(struct opening *f, uint32_t sock, uint32_t sender, const char *text,
		    uint32_t file)
{
	char tail[64];
	size_t at = file ? sizeof(file) : 0, len = strlen(text);
	struct ckpt_rec_sock_msg *rec;

	memcpy(tail, &file, at);
	memcpy(tail + at, text, len);
	rec = stream_add(&f->stream, CKPT_REC_SOCK_MSG, sizeof(*rec), tail, at + len);
	rec->sock = sock;
	rec->sender = sender;
	rec->nr_files = !!file;
	rec->data_len = (uint32_t)len;
}

static void add_file(struct opening *f, uint32_t id, uint16_t type, uint32_t flags)
{
	opening_file(f, id, CKPT_FILE_SOCK, "socket:[7]", O_RDWR | flags)->object = type;
}

static void received(int fd, const char *text)
{
	char buf[64];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	assert_int_equal(n, (ssize_t)strlen(text));
	assert_memory_equal(buf, text, n);
}

static void test_pair(void **arg)
{
	struct opening f;

	opening_begin(&f, *arg, "pair");
	add_file(&f, 2, SOCK_STREAM, 0);
	add_file(&f, 3, SOCK_STREAM, O_NONBLOCK);
	add_file(&f, 4, SOCK_DGRAM, 0);
	add_file(&f, 5, SOCK_DGRAM, 0);
	add_end(&f, 2, SOCK_STREAM, 3, 1)->shutdown = 2;
	add_msg(&f, 2, 3, "to two", 0);
	add_end(&f, 3, SOCK_STREAM, 2, 2)->shutdown = 1;
	add_msg(&f, 3, 2, "to ", 0);
	add_msg(&f, 3, 2, "three", 4);	/* with the other pair's end */
	add_end(&f, 4, SOCK_DGRAM, 5, 2);
	add_msg(&f, 4, 5, "one", 0);
	add_msg(&f, 4, 5, "", 0);
	add_end(&f, 5, SOCK_DGRAM, 4, 0);
	opening_start(&f, "pair");
	opening_all(&f);
	assert_int_equal(reopen_connect(&f.r), 0);
	assert_int_equal(fd_flags(opening_fd(&f, 2)), O_RDWR);
	assert_int_equal(fd_flags(opening_fd(&f, 3)), O_RDWR | O_NONBLOCK);
	received(opening_fd(&f, 2), "to two");
	received(opening_fd(&f, 3), "to three");
	received(opening_fd(&f, 3), "");	/* the end */
	assert_int_equal(send(opening_fd(&f, 2), "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	received(opening_fd(&f, 4), "one");
	received(opening_fd(&f, 4), "");
	opening_end(&f);
}

/* Bind a socket of @type there; the caller closes it. */
static int bound(const char *path, int type)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void begin_named(struct opening *f, const struct scratch *s, const char *name,
			const char *path, uint32_t flags)
{
	opening_begin(f, s, name);
	add_file(f, 2, SOCK_DGRAM, 0);
	add_sock(f, 2, SOCK_DGRAM, path)->flags |= flags;
	opening_start(f, name);
}

static void test_names(void **arg)
{
	const char *path = scratch_path(*arg, "name");
	struct sockaddr_un addr = { 0 };
	socklen_t len = sizeof(addr);
	struct opening f;
	struct stat st;

	close(bound(path, SOCK_DGRAM));		/* left behind by the job that ended */
	begin_named(&f, *arg, "stale", path, 0);
	opening_all(&f);
	assert_int_equal(reopen_connect(&f.r), 0);
	assert_int_equal(getsockname(opening_fd(&f, 2), (struct sockaddr *)&addr, &len), 0);
	assert_string_equal(addr.sun_path, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0640);
	reopen_undo(&f.r);
	assert_int_equal(stat(path, &st), -1);
	opening_end(&f);

	begin_named(&f, *arg, "unlinked", path, CKPT_SOCK_UNLINKED);
	opening_all(&f);
	assert_int_equal(reopen_connect(&f.r), 0);
	assert_int_equal(getsockname(opening_fd(&f, 2), (struct sockaddr *)&addr, &len), 0);
	assert_string_equal(addr.sun_path, path);
	assert_int_equal(stat(path, &st), -1);
	opening_end(&f);
}

static void taken(const struct scratch *s, const char *name, const char *path)
{
	struct opening f;

	begin_named(&f, s, name, path, 0);
	assert_int_equal(reopen_check(&f.r), 0);
	assert_int_equal(reopen_all(&f.r), -EADDRINUSE);
	assert_non_null(strstr(f.error.text, path));
	assert_non_null(strstr(f.error.text, "end whoever has that name"));
	reopen_undo(&f.r);
	opening_end(&f);
}

/* A socket that lives, of any type, and a file that is none, are not touched. */
static void test_taken(void **arg)
{
	const char *path = scratch_path(*arg, "name");
	struct stat before, after;
	int fd;

	for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		fd = bound(path, type);
		listen(fd, 1);
		assert_int_equal(stat(path, &before), 0);
		taken(*arg, type == SOCK_STREAM ? "stream" : "dgram", path);
		assert_int_equal(stat(path, &after), 0);
		assert_int_equal(before.st_ino, after.st_ino);
		close(fd);
		unlink(path);
	}
	close(open(path, O_CREAT | O_WRONLY, 0600));
	taken(*arg, "file", path);
	assert_int_equal(stat(path, &after), 0);
	assert_true(S_ISREG(after.st_mode));
}

/* ---------------------------------------------------------------- strangers */

/* An unread datagram of socket 2, from a sender that is not in the tree and has that name. */
static void add_stranger(struct opening *f, const char *name)
{
	_cleanup_free_ char *tail = NULL;
	struct ckpt_rec_sock_msg *rec;
	int len = asprintf(&tail, "%sfrom %s", name, name);

	assert_true(len > 0);
	rec = stream_add(&f->stream, CKPT_REC_SOCK_MSG, sizeof(*rec), tail, (size_t)len);
	rec->sock = 2;
	rec->name_len = (uint32_t)strlen(name);
	rec->data_len = (uint32_t)len - rec->name_len;
}

/* Receive the datagram that was sent under @name; returns whether its sender has that name. */
static bool received_from(int fd, const char *name)
{
	struct sockaddr_un addr = { 0 };
	socklen_t len = sizeof(addr);
	char buf[256] = "";

	assert_true(recvfrom(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT, (struct sockaddr *)&addr,
			     &len) > 0);
	assert_memory_equal(buf, "from ", 5);
	assert_string_equal(buf + 5, name);
	return !strcmp(addr.sun_path, name);
}

/* Names of strangers lead to no file of the owner, and to no failure. */
static void test_strangers(void **arg)
{
	const char *path = scratch_path(*arg, "receiver");
	_cleanup_free_ char *free_name = strdup(scratch_path(*arg, "free"));
	_cleanup_free_ char *file = strdup(scratch_path(*arg, "precious"));
	_cleanup_free_ char *open_dir = strdup(scratch_path(*arg, "open"));
	_cleanup_free_ char *left = strdup(scratch_path(*arg, "left"));
	_cleanup_free_ char *in_open = NULL;
	struct stat before, after, was_left;
	struct opening f;

	close(bound(left, SOCK_DGRAM));
	assert_int_equal(stat(left, &was_left), 0);
	assert_true(asprintf(&in_open, "%s/name", open_dir) > 0);
	assert_int_equal(mkdir(open_dir, 0700) || chmod(open_dir, 0777), 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(stat(file, &before), 0);
	opening_begin(&f, *arg, "strangers");
	add_file(&f, 2, SOCK_DGRAM, 0);
	add_sock(&f, 2, SOCK_DGRAM, path)->nr_msgs = 5;
	add_stranger(&f, left);
	add_stranger(&f, free_name);
	add_stranger(&f, file);
	add_stranger(&f, in_open);
	add_stranger(&f, "/nowhere/at/all");
	opening_start(&f, "strangers");
	opening_all(&f);
	assert_int_equal(reopen_connect(&f.r), 0);
	assert_true(received_from(opening_fd(&f, 2), left));
	assert_true(received_from(opening_fd(&f, 2), free_name));
	assert_false(received_from(opening_fd(&f, 2), file));
	assert_false(received_from(opening_fd(&f, 2), in_open));
	assert_false(received_from(opening_fd(&f, 2), "/nowhere/at/all"));
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	assert_int_equal(stat(left, &after), 0);
	assert_int_equal(after.st_ino, was_left.st_ino);
	assert_int_equal(stat(free_name, &after), -1);
	assert_int_equal(stat(in_open, &after), -1);
	opening_end(&f);
}

/* ---------------------------------------------------------------- bad streams */

static void contradicts(struct opening *f, int err)
{
	struct state *state = NULL;
	struct state_error why = { 0 };

	assert_int_equal(state_parse(f->stream.buf, f->stream.len, &state, &why), err);
	assert_true(why.text[0]);
	assert_int_equal(image_commit(f->img, &f->error), 0);
	image_destroy(f->img);
	error_done(&f->error);
	stream_done(&f->stream);
}

static void begin_bad(struct opening *f, const struct scratch *s, const char *name)
{
	opening_begin(f, s, name);
	add_file(f, 2, SOCK_STREAM, 0);
	add_file(f, 3, SOCK_STREAM, 0);
}

/* A filter of each length comes back as it was told, and the lock behind it. */
static void test_filter(void **arg)
{
	struct sock_filter code[5], got[5];
	struct sock_fprog program = { .filter = code };
	int one = 1, fd, fresh;

	(void)arg;
	for (unsigned short nr = 1; nr <= 5; nr++) {
		struct engine_sock_option options[SOCK_OPTIONS_MAX + 3];
		const struct engine_sock_option *bad;
		socklen_t len = 5;
		unsigned int some;
		int pieces;

		for (unsigned short i = 0; i < nr; i++)
			code[i] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0, i };
		program.len = nr;
		fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		fresh = socket(AF_UNIX, SOCK_DGRAM, 0);
		assert_int_equal(sock_filter_pieces(fd), 0);
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
					    sizeof(program)), 0);
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)), 0);
		some = sock_options_get(fd, fresh, options);
		pieces = sock_filter_pieces(fd);
		assert_int_equal(pieces, (nr + 1) / 2);
		assert_int_equal(sock_filter_get(fd, 1 + (unsigned int)pieces, options), -EAGAIN);
		some = sock_options_get(fd, fresh, options);
		assert_int_equal(sock_filter_get(fd, (unsigned int)pieces, options + some), 0);
		some += (unsigned int)pieces;
		assert_int_equal(sock_options_set(fresh, options, some, &bad), 0);
		assert_int_equal(getsockopt(fresh, SOL_SOCKET, SO_GET_FILTER, got, &len), 0);
		assert_int_equal(len, nr);
		assert_memory_equal(got, code, nr * sizeof(*code));
		assert_int_equal(setsockopt(fresh, SOL_SOCKET, SO_DETACH_FILTER, &one,
					    sizeof(one)), -1);
		assert_int_equal(errno, EPERM);
		close(fresh);

		/* an image may lie: a part of an instruction, one that is none */
		fresh = socket(AF_UNIX, SOCK_DGRAM, 0);
		options[some - 1].len = 7;
		assert_int_equal(sock_options_set(fresh, options, some, &bad), -EBADMSG);
		options[some - 1].len = 8;
		memset(options[some - 1].value, 0xff, 8);
		assert_int_equal(sock_options_set(fresh, options, some, &bad), -EINVAL);
		close(fresh);
		close(fd);
	}
}

static void test_bad(void **arg)
{
	struct opening f;
	struct ckpt_rec_sock *rec;
	struct engine_rec_sock_options *options;

	begin_bad(&f, *arg, "alone");		/* its peer does not name it */
	add_end(&f, 2, SOCK_STREAM, 3, 0);
	add_end(&f, 3, SOCK_STREAM, 0, 0);
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "nobody");		/* no such peer */
	add_end(&f, 2, SOCK_STREAM, 9, 0);
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "twice");		/* two sockets of one file */
	add_sock(&f, 2, SOCK_STREAM, NULL);
	add_sock(&f, 3, SOCK_STREAM, NULL)->file = 2;
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "waits");		/* neither a file nor a listening socket */
	add_sock(&f, 2, SOCK_STREAM, NULL)->file = 0;
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "long");		/* a name that is longer than the record */
	add_sock(&f, 2, SOCK_STREAM, "/name")->name_len = 100;
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "count");		/* a message less than the socket says */
	add_end(&f, 2, SOCK_STREAM, 3, 1);
	add_end(&f, 3, SOCK_STREAM, 2, 0);
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "file");		/* a file that is not there travels */
	add_end(&f, 2, SOCK_STREAM, 3, 1);
	add_msg(&f, 2, 3, "x", 77);
	add_end(&f, 3, SOCK_STREAM, 2, 0);
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "options");
	add_sock(&f, 2, SOCK_STREAM, NULL);
	options = stream_add(&f.stream, ENGINE_REC_SOCK_OPTIONS, sizeof(*options), NULL, 0);
	options->sock = 2;
	options->nr = 5;
	contradicts(&f, -EBADMSG);

	begin_bad(&f, *arg, "family");		/* a newer program's */
	rec = add_sock(&f, 2, SOCK_STREAM, NULL);
	rec->family = AF_VSOCK;
	contradicts(&f, -EPROTONOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pair, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_names, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_taken, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_strangers, scratch_setup, scratch_teardown),
		cmocka_unit_test(test_filter),
		cmocka_unit_test_setup_teardown(test_bad, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
