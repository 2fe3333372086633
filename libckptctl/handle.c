// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A connection to ckptd: one request, its progress, its answer.
 *
 * The answer of the last call is kept in the handle and everything that the
 * accessors return points into it.  A transport that failed once is not used
 * again: after half a frame no later byte can be trusted.  If ckptd has closed an idle
 * connection between two calls, the next call makes a new one.
 */
#include "libckptctl/handle.h"
#include "libckptctl/version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define CONNECT_S	30	/* that a daemon may take to accept a connection */

static int open_socket(const char *path, unsigned int limit_s)
{
	const struct timeval limit = { .tv_sec = limit_s }, none = { 0 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none))) {
		err = -errno;
		close(sock);
		return err;
	}
	return sock;
}

int handle_connect(const char *path, unsigned int limit_s, struct ckpt **ret_ckpt)
{
	struct ckpt *ckpt;
	int sock;

	/* An empty path is an unset variable of the caller, and does not mean the default. */
	if (path && !*path)
		return -EINVAL;
	if (!path)
		path = secure_getenv("CKPTD_SOCKET");
	path = path && *path ? path : CKPT_SOCKET_DEFAULT;
	sock = open_socket(path, limit_s);
	if (sock < 0)
		return sock;
	ckpt = calloc(1, sizeof(*ckpt));
	if (ckpt)
		ckpt->path = strdup(path);
	if (!ckpt || !ckpt->path) {
		free(ckpt);
		close(sock);
		return -ENOMEM;
	}
	ckpt->sock = sock;
	ckpt->limit_s = limit_s;
	ckpt->in.limit = WIRE_ANSWER_MAX;
	ckpt->answer_fd = -1;
	*ret_ckpt = ckpt;
	return 0;
}

API int ckpt_connect(const char *path, struct ckpt **ret_ckpt)
{
	return handle_connect(path, CONNECT_S, ret_ckpt);
}

static void forget_answer(struct ckpt *ckpt)
{
	json_decref(ckpt->answer);
	ckpt->answer = NULL;
	free(ckpt->text);
	ckpt->text = NULL;
	if (ckpt->answer_fd >= 0)
		close(ckpt->answer_fd);
	ckpt->answer_fd = -1;
	ckpt->error[0] = '\0';
}

API void ckpt_disconnect(struct ckpt *ckpt)
{
	if (!ckpt)
		return;
	forget_answer(ckpt);
	wire_in_done(&ckpt->in);
	close(ckpt->sock);
	free(ckpt->path);
	free(ckpt);
}

API void ckpt_set_progress(struct ckpt *ckpt, ckpt_progress_fn fn, void *arg)
{
	ckpt->progress = fn;
	ckpt->progress_arg = arg;
}

void handle_set_wait(struct ckpt *ckpt, handle_wait_fn fn, void *arg)
{
	int flags = fcntl(ckpt->sock, F_GETFL);

	if (flags < 0 || fcntl(ckpt->sock, F_SETFL, flags | O_NONBLOCK))
		return;
	ckpt->wait = fn;
	ckpt->wait_arg = arg;
}

int handle_refuse(struct ckpt *ckpt, int err, const char *text)
{
	forget_answer(ckpt);
	snprintf(ckpt->error, sizeof(ckpt->error), "%s", text);
	return err;
}

/* Fail this and all later calls; usable in a return statement. */
static int handle_broken(struct ckpt *ckpt, int err, const char *what)
{
	snprintf(ckpt->error, sizeof(ckpt->error), "%s: %s", what, strerror(-err));
	ckpt->broken = err;
	return err;
}

/* Only a socket that does not block is not ready. */
static int wait_for(const struct ckpt *ckpt, short events)
{
	return ckpt->wait ? ckpt->wait(ckpt->sock, events, ckpt->wait_arg) : 0;
}

/* Descriptors go with the first byte. */
static int send_bytes(const struct ckpt *ckpt, const void *data, size_t len, const int *fds,
		      unsigned int nr_fds)
{
	const uint8_t *at = data;
	int n;

	while (len) {
		n = wire_send_some(ckpt->sock, at, len, fds, nr_fds);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
			nr_fds = 0;
		} else if (n == -EAGAIN) {
			n = wait_for(ckpt, POLLOUT);
		}
		if (n < 0)
			return n;
	}
	return 0;
}

static int send_frame(const struct ckpt *ckpt, const char *text, const int *fds,
		      unsigned int nr_fds)
{
	uint8_t header[WIRE_HEADER];
	int err;

	wire_header(header, strlen(text), nr_fds);
	err = send_bytes(ckpt, header, sizeof(header), fds, nr_fds);
	if (!err)
		err = send_bytes(ckpt, text, strlen(text), NULL, 0);
	/* A daemon that refuses a request closes early: its answer has the reason. */
	return err == -EPIPE ? 0 : err;
}

static int send_request(struct ckpt *ckpt, const char *verb, json_t *args,
			const int *fds, unsigned int nr_fds)
{
	json_t *request = json_pack("{s:s, s:o}", "verb", verb, "args", args);
	char *text = json_dumps(request, JSON_COMPACT);
	int err;

	json_decref(request);
	/* Nothing was sent: the connection stays good. */
	if (!text)
		return handle_refuse(ckpt, -ENOMEM, strerror(ENOMEM));
	if (strlen(text) > WIRE_REQUEST_MAX) {
		free(text);
		return handle_refuse(ckpt, -E2BIG,
				     "the request is too long (command line and environment)");
	}
	err = send_frame(ckpt, text, fds, nr_fds);
	free(text);
	return err ? handle_broken(ckpt, err, "cannot ask ckptd") : 0;
}

static void tell_progress(struct ckpt *ckpt, const json_t *progress)
{
	const char *phase = json_string_value(json_object_get(progress, "phase"));

	if (!ckpt->progress || !phase)
		return;
	ckpt->progress(phase,
		       (uint64_t)json_integer_value(json_object_get(progress, "done")),
		       (uint64_t)json_integer_value(json_object_get(progress, "total")),
		       ckpt->progress_arg);
}

/* Handle one frame: 0 for progress, 1 for the answer. */
static int take_frame(struct ckpt *ckpt, const char *body, size_t len)
{
	json_t *json = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	json_t *progress = json_object_get(json, "progress");

	if (!json_is_object(json)) {
		json_decref(json);
		return -EPROTO;
	}
	if (progress) {
		tell_progress(ckpt, progress);
		json_decref(json);
		return 0;
	}
	ckpt->answer = json;
	ckpt->text = json_dumps(json, JSON_COMPACT);
	ckpt->answer_fd = wire_take_fd(&ckpt->in, 0);
	return ckpt->text ? 1 : -ENOMEM;
}

static int receive_answer(struct ckpt *ckpt)
{
	const char *body;
	size_t len;
	int n;

	for (;;) {
		n = wire_next(&ckpt->in, &body, &len);
		if (n == 1) {
			n = take_frame(ckpt, body, len);
			wire_consume(&ckpt->in);
			if (n == 1)
				return 0;
		} else if (n == 0) {
			n = wire_receive(&ckpt->in, ckpt->sock);
			if (n == 0)
				return handle_broken(ckpt, -EPIPE,
						     "ckptd went away before it answered");
			if (n == -EAGAIN)
				n = wait_for(ckpt, POLLIN);
		}
		if (n < 0)
			return handle_broken(ckpt, n, "no answer from ckptd");
	}
}

static int outcome_error(const struct ckpt *ckpt)
{
	const json_t *error = json_object_get(ckpt->answer, "error");
	json_int_t err = json_integer_value(json_object_get(error, "errno"));

	if (json_is_true(json_object_get(ckpt->answer, "ok")))
		return 0;
	return err < 0 && err > -4096 ? (int)err : -EPROTO;
}

/*
 * Connect again if ckptd has closed the connection.  The call was not sent yet, so it cannot run
 * twice.  The call itself finds out any error here.
 */
static void connect_again(struct ckpt *ckpt)
{
	char byte;
	int sock;

	if (ckpt->in.len || recv(ckpt->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
		return;
	sock = open_socket(ckpt->path, ckpt->limit_s);
	if (sock < 0)
		return;
	close(ckpt->sock);
	ckpt->sock = sock;
	if (ckpt->wait)
		handle_set_wait(ckpt, ckpt->wait, ckpt->wait_arg);
}

int handle_call(struct ckpt *ckpt, const char *verb, json_t *args,
		const int *fds, unsigned int nr_fds)
{
	int err;

	forget_answer(ckpt);
	if (ckpt->broken || !args) {
		json_decref(args);
		err = ckpt->broken ? ckpt->broken : -ENOMEM;
		return handle_refuse(ckpt, err, strerror(-err));
	}
	connect_again(ckpt);
	err = send_request(ckpt, verb, args, fds, nr_fds);
	if (!err)
		err = receive_answer(ckpt);
	return err ? err : outcome_error(ckpt);
}

API int ckpt_call(struct ckpt *ckpt, const char *verb, const char *args,
		  const int *fds, unsigned int nr_fds)
{
	json_t *json = args ? json_loads(args, JSON_REJECT_DUPLICATES, NULL) :
		       json_object();

	json_t *name = json_string(verb);
	int err = !json_is_object(json) ?
		  handle_refuse(ckpt, -EINVAL, "the arguments are no JSON object") :
		  nr_fds > WIRE_FDS_MAX ? handle_refuse(ckpt, -EINVAL, "too many descriptors") :
		  !name ? handle_refuse(ckpt, -EILSEQ, "the request's name is not UTF-8") : 0;

	json_decref(name);
	if (!err)
		return handle_call(ckpt, verb, json, fds, nr_fds);
	json_decref(json);
	return err;
}

/* -------------------------------------------------------- the last answer */

API const char *ckpt_answer(const struct ckpt *ckpt)
{
	return ckpt->text ? ckpt->text : "";
}

static const json_t *result_field(const struct ckpt *ckpt, const char *name)
{
	return json_object_get(json_object_get(ckpt->answer, "result"), name);
}

API int ckpt_answer_int(const struct ckpt *ckpt, const char *name,
			int64_t *ret_number)
{
	const json_t *value = result_field(ckpt, name);

	if (!json_is_integer(value))
		return -ENOENT;
	*ret_number = json_integer_value(value);
	return 0;
}

API int ckpt_answer_string(const struct ckpt *ckpt, const char *name,
			   const char **ret_string)
{
	const json_t *value = result_field(ckpt, name);

	if (!json_is_string(value))
		return -ENOENT;
	*ret_string = json_string_value(value);
	return 0;
}

API int ckpt_answer_fd(struct ckpt *ckpt)
{
	int fd = ckpt->answer_fd;

	ckpt->answer_fd = -1;
	return fd >= 0 ? fd : -ENOENT;
}

API const char *ckpt_error_text(const struct ckpt *ckpt)
{
	const json_t *error;
	const char *text;

	if (!ckpt)
		return "no connection to ckptd";
	error = json_object_get(ckpt->answer, "error");
	text = json_string_value(json_object_get(error, "text"));
	return text ? text : ckpt->error;
}

static const json_t *handle_refusals(const struct ckpt *ckpt)
{
	return ckpt ? json_object_get(json_object_get(ckpt->answer, "error"), "refusals") : NULL;
}

API unsigned int ckpt_refusal_count(const struct ckpt *ckpt)
{
	return (unsigned int)json_array_size(handle_refusals(ckpt));
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

API int ckpt_refusal_get(const struct ckpt *ckpt, unsigned int i,
			 struct ckpt_refusal *ret_refusal)
{
	const json_t *r = json_array_get(handle_refusals(ckpt), i);
	struct ckpt_refusal refusal = { .size = ret_refusal->size };

	if (!r)
		return -ENOENT;
	if (refusal.size < sizeof(refusal))
		return -EINVAL;
	refusal.code = (uint32_t)json_integer_value(json_object_get(r, "reason"));
	refusal.pid = (int32_t)json_integer_value(json_object_get(r, "pid"));
	refusal.tid = (int32_t)json_integer_value(json_object_get(r, "tid"));
	refusal.object = (uint64_t)json_integer_value(json_object_get(r, "object"));
	refusal.name = text_of(r, "name");
	refusal.text = text_of(r, "text");
	refusal.advice = text_of(r, "advice");
	refusal.comm = text_of(r, "comm");
	refusal.detail = text_of(r, "detail");
	*ret_refusal = refusal;
	return 0;
}

API const char *ckpt_library_version(void)
{
	return CKPT_VERSION;
}
