// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages from the builder to the caller.
 *
 * Sender and receiver are the same program, so structures are sent as they are.  The
 * sender has fewer rights than the receiver, so lengths and strings are checked all the
 * same.
 */
#include "engine/restore/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/error.h"

enum relay_kind {
	RELAY_PROGRESS = 1, RELAY_REFUSAL, RELAY_RESULT, RELAY_READY, RELAY_NOTE, RELAY_ASK,
	RELAY_GIVEN,
};

struct relay_message {
	uint32_t kind;
	int32_t err;
	uint64_t done;
	uint64_t total;
	struct restore_stats stats;
	struct error_refusal refusal;
	struct engine_given_file given;
	char text[512];		/* of the error or the note, or the phase */
};

static void relay_deliver(int fd, const struct relay_message *message)
{
	while (send(fd, message, sizeof(*message), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void relay_progress(int fd, const char *phase, uint64_t done, uint64_t total)
{
	struct relay_message message = { .kind = RELAY_PROGRESS, .done = done, .total = total };

	snprintf(message.text, sizeof(message.text), "%s", phase);
	relay_deliver(fd, &message);
}

void relay_note(int fd, const char *text)
{
	struct relay_message message = { .kind = RELAY_NOTE };

	snprintf(message.text, sizeof(message.text), "%s", text);
	relay_deliver(fd, &message);
}

void relay_given(int fd, const struct engine_given_file *file)
{
	struct relay_message message = { .kind = RELAY_GIVEN, .given = *file };

	relay_deliver(fd, &message);
}

void relay_result(int fd, int err, const struct ckpt_error *error,
		  const struct restore_stats *stats)
{
	struct relay_message message = { .kind = RELAY_REFUSAL };

	for (unsigned int i = 0; err && i < error->nr_refusals; i++) {
		message.refusal = error->refusals[i];
		relay_deliver(fd, &message);
	}
	message.kind = RELAY_RESULT;
	message.err = err;
	message.stats = *stats;
	memcpy(message.text, error->text, sizeof(message.text));
	relay_deliver(fd, &message);
}

void relay_ready(int fd)
{
	struct relay_message message = { .kind = RELAY_READY };

	relay_deliver(fd, &message);
}

int relay_ask(int fd, int step)
{
	struct relay_message message = { .kind = RELAY_ASK, .err = step };
	int32_t answer;
	ssize_t len;

	relay_deliver(fd, &message);
	do {
		len = recv(fd, &answer, sizeof(answer), 0);
	} while (len < 0 && errno == EINTR);
	return len == sizeof(answer) ? answer : -EPIPE;
}

static void relay_answer(int fd, int32_t answer)
{
	while (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void pass_on(const struct relay_message *m, const struct restore_options *options,
		    struct ckpt_error *error)
{
	if (m->kind == RELAY_PROGRESS && options->progress) {
		const struct engine_progress progress = {
			.phase = m->text, .done = m->done, .total = m->total,
		};

		options->progress(&progress, options->progress_arg);
	}
	if (m->kind == RELAY_NOTE && options->note)
		options->note(m->text, options->note_arg);
	if (m->kind == RELAY_GIVEN && options->tell_given && options->given &&
	    options->given->ask && m->given.kind <= ENGINE_GIVEN_MADE)
		options->tell_given(&m->given, options->note_arg);
	if (m->kind == RELAY_REFUSAL)
		error_refuse(error, &m->refusal, "%.*s",
			      (int)sizeof(m->refusal.detail) - 1, m->refusal.detail);
}

/*
 * Receive the next message; -EAGAIN: none yet; -EPIPE: the sender is dead.  That is seen by its
 * pidfd, not by an end of file: the tasks of the tree have the sender's end, too, until they
 * enter.
 */
static int next_message(int fd, int pidfd, struct relay_message *ret_message)
{
	struct pollfd fds[2] = {
		{ .fd = fd, .events = POLLIN }, { .fd = pidfd, .events = POLLIN },
	};
	ssize_t len;

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	do {
		len = recv(fd, ret_message, sizeof(*ret_message), MSG_DONTWAIT);
	} while (len < 0 && errno == EINTR);
	if (len < 0 && errno == EAGAIN && !(fds[1].revents & POLLIN))
		return -EAGAIN;
	return len == sizeof(*ret_message) ? 0 : -EPIPE;
}

int relay_receive(int fd, pid_t pid, bool ready, const struct restore_options *options,
		  relay_ask_fn asked, void *arg, struct restore_stats *ret_stats,
		  struct ckpt_error *error)
{
	_cleanup_fd_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct relay_message message;
	int ret;

	if (pidfd < 0)
		return error_fail(error, -errno, "pidfd_open: %s", strerror(errno));
	for (;;) {
		ret = next_message(fd, pidfd, &message);
		if (ret == -EAGAIN)
			continue;
		if (ret)
			return error_fail(error, -EPIPE,
					   "the process that restores ended unexpectedly; see the "
					   "kernel log for why (out of memory?)");
		message.text[sizeof(message.text) - 1] = 0;
		message.refusal.comm[sizeof(message.refusal.comm) - 1] = 0;
		pass_on(&message, options, error);
		if (message.kind == RELAY_ASK)
			relay_answer(fd, asked ? asked(message.err, arg) : -EPROTO);
		if (message.kind == RELAY_READY)
			return 0;
		if (message.kind != RELAY_RESULT)
			continue;
		if (message.err)
			return error_fail(error, message.err, "%s", message.text);
		ret_stats->tree_ns = message.stats.tree_ns;
		ret_stats->memory_ns = message.stats.memory_ns;
		ret_stats->bytes_read = message.stats.bytes_read;
		ret_stats->bytes_copied = message.stats.bytes_copied;
		if (!ready)
			return 0;
	}
}
