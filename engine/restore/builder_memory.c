// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling memory in a child of the builder, because the builder can have no threads.
 *
 * The builder has made a time namespace for its children and is not in it itself; the
 * kernel lets such a process start no threads.  A child is in the namespace and may have
 * threads.  It has the builder's descriptors and rights, and nothing that the builder needs
 * afterwards.  It reports its result and ends before the builder goes on, and it dies with
 * the builder.  It must not fork, as it has threads.
 *
 * All tasks of the tree exist by then, so that neither the child nor a thread takes one of
 * their numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/restore/builder.h"
#include "engine/restore/relay.h"
#include "engine/restore/restore_memory.h"
#include "engine/restore/restore_records.h"
#include "engine/restore/rollback_keep.h"

/* The child's result, sent to the builder in one write. */
struct word {
	int err;
	uint64_t bytes, copied;
	char text[sizeof(((struct ckpt_error *)NULL)->text)];
};

static int builder_memory_fill(const struct builder *b, struct restore_records *s,
			       uint64_t *ret_bytes, uint64_t *ret_copied)
{
	const struct rollback_keep *keep = b->rollback ? b->rollback->keep : NULL;
	const struct state *state = b->state;
	struct restore_memory *m = NULL;
	uint64_t total;
	int ret;

	ret = restore_memory_create(state, b->reader, s->dev, s->error, &m, &total);
	/* all maps first: the kernel writes no pages beside a call that makes a map */
	if (!ret)
		ret = restore_records_mms(s);
	for (unsigned int i = 0; !ret && i < state->nr_mms; i++) {
		relay_progress(b->relay, "memory", restore_memory_bytes(m), total);
		ret = restore_memory_fill(m, &state->mms[i], keep && i < keep->nr_maps &&
					  keep->maps[i].now_id ? &keep->maps[i] : NULL);
	}
	if (!ret)
		ret = restore_memory_finish(m);
	*ret_bytes = m ? restore_memory_bytes(m) : 0;
	*ret_copied = m ? restore_memory_copied(m) : 0;
	restore_memory_destroy(m);
	return ret;
}

static _Noreturn void child_main(const struct builder *b, struct restore_records *s, int fd,
				 pid_t parent)
{
	struct word word = { 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	word.err = builder_memory_fill(b, s, &word.bytes, &word.copied);
	memcpy(word.text, s->error->text, sizeof(word.text));
	_exit(write(fd, &word, sizeof(word)) != sizeof(word));
}

static int listen_to(int fd, pid_t pid, struct ckpt_error *error, uint64_t *ret_bytes,
		     uint64_t *ret_copied)
{
	struct word word;
	ssize_t len;

	do {
		len = read(fd, &word, sizeof(word));
	} while (len < 0 && errno == EINTR);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (len != sizeof(word))
		return error_fail(error, -EPIPE,
				   "the process that fills memory ended unexpectedly; see the "
				   "kernel log for why (out of memory?)");
	word.text[sizeof(word.text) - 1] = 0;
	*ret_bytes = word.bytes;
	*ret_copied = word.copied;
	return word.err ? error_fail(error, word.err, "%s", word.text) : 0;
}

int builder_fill(const struct builder *b, struct restore_records *s, uint64_t *ret_bytes,
		 uint64_t *ret_copied)
{
	_cleanup_fd_ int in = -1;
	int pair[2], ret;
	pid_t parent = getpid(), pid;

	if (pipe2(pair, O_CLOEXEC))
		return error_fail(s->error, -errno, "pipe: %s", strerror(errno));
	in = pair[0];
	pid = fork();
	if (pid == 0)
		child_main(b, s, pair[1], parent);
	close(pair[1]);
	if (pid < 0)	/* no child: fill here, without threads */
		ret = builder_memory_fill(b, s, ret_bytes, ret_copied);
	else
		ret = listen_to(in, pid, s->error, ret_bytes, ret_copied);
	return ret;
}
