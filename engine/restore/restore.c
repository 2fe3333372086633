// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restore of one process tree: the caller's part.
 *
 * Reads and verifies the image, makes the plan, decides in which PID namespace the tree
 * gets its numbers, forks the builder and waits for its result.  Nothing of the caller's
 * own state changes, whatever happens.  The builder (builder.c) does everything that
 * touches files or processes of the tree, with the owner's rights.
 *
 * When the builder fails, it has killed what it made; roots are the caller's
 * children by then and are reaped here, so that nothing is left of a failed
 * restore when this returns.
 */
#include "engine/restore/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "image/reader.h"
#include "engine/files/reopen_links.h"
#include "engine/restore/builder.h"
#include "engine/restore/nsinit.h"
#include "engine/restore/relay.h"
#include "engine/restore/restore_image.h"
#include "engine/restore/restore_numbers.h"

struct restore {
	const struct restore_options *options;
	struct ckpt_error *error;
	struct restore_stats *stats;
	struct restore_image image;
	pid_t process;		/* of the tree that is built */
};

/* ---------------------------------------------------------------- building */

/* If we are a job's init, orphans become our children, and nobody else reaps them yet. */
static void reap_orphans(const struct plan *plan)
{
	for (int i = 0; i < plan->nr_tasks; i++)
		waitpid(plan->tasks[i].pid, NULL, WNOHANG | __WALL);
}

/*
 * Reap the roots of a failed restore, which are our children.  Other processes of the tree
 * go to the reaper of orphans; wait until their numbers are free again.
 */
static void clean_up(struct restore *r)
{
	const struct plan *plan = r->image.plan;
	struct timespec step = { .tv_nsec = 2000000 };
	siginfo_t info;

	for (int i = plan->first_root; i != PLAN_NONE; i = plan->tasks[i].sibling) {
		if (waitid(P_PID, (id_t)plan->tasks[i].pid, &info,
			   WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
			continue;	/* not our child: never created */
		kill(plan->tasks[i].pid, SIGKILL);
		while (waitpid(plan->tasks[i].pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	for (int tries = 0; tries < 1000 && numbers_taken(plan, NULL); tries++) {
		reap_orphans(plan);
		nanosleep(&step, NULL);
	}
}

static pid_t fork_builder(const struct builder *b)
{
	pid_t parent = getpid(), pid;

	if (b->new_pidns)
		return nsinit_create(b);
	pid = fork();
	if (pid == 0)
		builder_main(b, parent);
	return pid < 0 ? -errno : pid;
}

/* Do a step that the builder asks for; called by relay_receive(). */
static int restore_on_asked(int step, void *arg)
{
	const struct restore *r = arg;
	const struct restore_options *o = r->options;
	const struct engine_hold hold = { .process = r->process, .looks = step == BUILDER_LOOKS };

	if (!o->held || (step != BUILDER_LOOKS && step != BUILDER_HELD))
		return -EPROTO;
	return o->held(&hold, o->held_arg);
}

/* Run the builder, or the init that makes it; *ret_pid is its pid. */
static int restore_build(struct restore *r, bool new_pidns, pid_t *ret_pid)
{
	struct builder b = {
		.options = r->options, .state = r->image.state, .plan = r->image.plan,
		.reader = r->image.reader, .new_pidns = new_pidns,
		.since = r->options->journal ? &r->image.since : NULL,
	};
	bool ready = new_pidns && !r->options->dry_run;
	int pair[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_fail(r->error, -errno, "socketpair: %s", strerror(errno));
	b.relay = pair[1];
	pid = fork_builder(&b);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return error_fail(r->error, pid, "cannot create a process: %s", strerror(-pid));
	}
	r->process = new_pidns ? pid : r->image.plan->tasks[r->image.plan->first_root].pid;
	ret = relay_receive(pair[0], pid, ready, r->options, restore_on_asked, r, r->stats,
			    r->error);
	close(pair[0]);
	if (ret)
		kill(pid, SIGKILL);	/* the builder has failed: end it if it still lives */
	*ret_pid = pid;
	if (ret || !ready)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (ret && !new_pidns)
		clean_up(r);
	return ret;
}

static int build_somewhere(struct restore *r, bool *ret_new_pidns, pid_t *ret_pid)
{
	enum restore_pidns where = r->options->pidns;
	pid_t taken = 0;
	int ret;

	if (where != RESTORE_PIDNS_NEW && numbers_taken(r->image.plan, &taken)) {
		if (where == RESTORE_PIDNS_AUTO)
			where = RESTORE_PIDNS_NEW;
		/* 0: the numbers have become free since */
		ret = where == RESTORE_PIDNS_CALLER ? numbers_refuse(r->image.plan, r->error) : 0;
		if (ret)
			return ret;
	}
	*ret_new_pidns = where == RESTORE_PIDNS_NEW;
	ret = restore_build(r, *ret_new_pidns, ret_pid);
	if (ret != -EEXIST || where != RESTORE_PIDNS_AUTO)
		return ret == -EEXIST ? -EOPNOTSUPP : ret;
	/* a number was taken meanwhile, or by a process that we cannot see: a new namespace */
	error_done(r->error);
	*ret_new_pidns = true;
	return restore_build(r, true, ret_pid);
}

static int return_roots(const struct restore *r, bool new_pidns, pid_t pid, pid_t *ret_roots,
			unsigned int max_roots)
{
	const struct plan *plan = r->image.plan;
	unsigned int nr = 0;

	if (r->options->dry_run)
		return 0;
	if (new_pidns) {
		if (max_roots)
			ret_roots[nr++] = pid;
		return (int)nr;
	}
	for (int i = plan->first_root; i != PLAN_NONE && nr < max_roots; i = plan->tasks[i].sibling)
		ret_roots[nr++] = plan->tasks[i].pid;
	return (int)nr;
}

/* Connections to other nodes of the job, which only a restart of the whole job can make again. */
static int restore_links(struct restore *r)
{
	const struct restore_options *o = r->options;
	const struct state *state = r->image.state;
	char text[128], addr[SOCK_LINK_ADDR];
	int ret = 0;

	for (unsigned int i = 0; !ret && i < state->nr_socks; i++) {
		const struct state_sock *sock = &state->socks[i];

		if (!state_sock_is_link(sock))
			continue;
		state_sock_text(sock, text, sizeof(text));
		if (o->subset || o->beside || (!o->links && !o->tell_link))
			return error_fail(r->error, -EOPNOTSUPP,
					  "the tree has a connection to another node of its job, "
					  "%s: restart the whole job, on as many nodes as it was "
					  "on", text);
		ret = o->tell_link ? reopen_links_place(sock, addr) : 0;
		if (ret)
			return error_fail(r->error, ret, "the connection %s to another node of the "
					  "job cannot be made again: this node has no address of "
					  "that network", text);
		if (o->tell_link)
			o->tell_link(sock->link->link, sock->link->role, addr, o->note_arg);
	}
	return 0;
}

static int restore_run(struct restore *r, pid_t *ret_roots, unsigned int max_roots)
{
	uint64_t start = clock_monotonic_ns();
	bool new_pidns = false;
	pid_t pid = 0;
	int ret;

	ret = restore_image_read(&r->image);
	if (!ret && !r->options->links_only)
		ret = numbers_check(r->image.state, r->image.plan, r->error);
	if (ret)
		return ret;
	ret = restore_links(r);
	if (ret || r->options->links_only)
		return ret;
	r->stats->plan_ns = clock_monotonic_ns() - start;
	r->stats->nr_procs = r->image.state->nr_procs;
	r->stats->nr_threads = r->image.state->nr_threads;
	ret = build_somewhere(r, &new_pidns, &pid);
	r->stats->total_ns = clock_monotonic_ns() - start;
	return ret ? ret : return_roots(r, new_pidns, pid, ret_roots, max_roots);
}

int restore_clock(const char *dir, const struct image_key *key, int64_t *ret_ns,
		  struct ckpt_error *error)
{
	const struct restore_options options = { .dir = dir, .key = key };
	struct restore_image r = { .options = &options, .error = error };
	const struct ckpt_rec_system *system;
	struct image_record record;
	int ret = restore_image_open(&r);

	if (ret)
		return ret;
	while ((ret = image_state_next(r.reader, &record)) > 0) {
		system = (const void *)record.data;
		if (system->hdr.type == CKPT_REC_SYSTEM && record.len >= sizeof(*system))
			break;
	}
	if (ret > 0)
		*ret_ns = (int64_t)system->monotonic_ns + system->timens_monotonic_ns;
	else
		ret = error_fail(error, ret ? ret : -EBADMSG, "%s: %s", dir,
				  ret ? image_reader_error(r.reader) : "no SYSTEM record");
	image_close(r.reader);
	return ret < 0 ? ret : 0;
}

int restore_tree(const struct restore_options *options, pid_t *ret_roots,
		 unsigned int max_roots, struct restore_stats *ret_stats,
		 struct ckpt_error *error)
{
	struct ckpt_error own_error = { 0 };
	struct restore_stats own_stats;
	struct restore r = {
		.options = options,
		.error = error ? error : &own_error,
		.image = { .options = options, .error = error ? error : &own_error },
		.stats = ret_stats ? ret_stats : &own_stats,
	};
	int ret;

	memset(r.stats, 0, sizeof(*r.stats));
	ret = restore_run(&r, ret_roots, max_roots);
	restore_image_done(&r.image);
	error_done(&own_error);
	return ret;
}
