// SPDX-License-Identifier: GPL-2.0-only
/*
 * The builder: the steps of one restore, up to the commit.
 *
 * Every step either succeeds or ends the restore.  Then the created tasks are killed (the
 * context kills those that have entered), new files are removed, and the caller is told.
 * Contents of existing files are put back last of all, when only the commit itself can
 * still fail; if it fails, they are taken back.
 */
#include "engine/restore/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/core/cpu.h"
#include "engine/core/kdev.h"
#include "engine/core/state_kind.h"
#include "engine/restore/relay.h"
#include "engine/files/reopen_find.h"
#include "engine/restore/restore_records.h"
#include "engine/restore/rollback_extra.h"
#include "engine/restore/tree.h"

struct building {
	const struct builder *b;
	struct ckpt_error error;
	struct restore_stats stats;
	struct kdev *dev;
	struct reopen_options files_options;	/* of files */
	struct reopen files;
	struct tree tree;
	struct restore_records state;
	int *dirs;		/* three arrays by task: cwd, root, tty; see struct tree */
	bool *had;		/* two arrays by task: for cwd and root; see struct tree */
};

/* ---------------------------------------------------------------- node */

static int check_node(struct building *g)
{
	const struct ckpt_rec_system *image = g->b->state->system;
	const struct error_refusal vdso = { .reason = CKPT_R_VDSO };
	const struct ckpt_info *node = &g->dev->info;

	cpu_check(image, g->b->state->cpu, node, &g->error);
	if (image->vdso_size != node->vdso_size || image->vvar_size != node->vvar_size)
		error_refuse(&g->error, &vdso,
			      "bytes of vDSO and vvar: image %#x, this node %#x",
			      image->vdso_size + image->vvar_size,
			      node->vdso_size + node->vvar_size);
	return error_refused(&g->error, "restore");
}

/* ---------------------------------------------------------------- steps */

static int begin_restore(struct building *g)
{
	struct ckpt_restore_begin arg = { 0 };
	int ret = builder_prepare(g->b->plan, &g->error);

	if (!ret)
		ret = builder_clocks(g->b->state->system, g->b->options->beside, &arg, &g->error);
	if (ret)
		return ret;
	ret = kdev_restore_begin(g->dev, &arg);
	return ret ? error_fail(&g->error, ret, "cannot begin a restore: %s", strerror(-ret)) : 0;
}

/*
 * The device is opened with all rights.  Before the rights are given up, the context must be
 * bound to a restore, or closed: a fresh context would allow to capture any process.
 */
static int builder_begin(struct building *g)
{
	const struct restore_options *o = g->b->options;
	int ret = o->enter ? o->enter(o->enter_arg) : 0;

	if (ret)
		return error_fail(&g->error, ret,
				  "the tree's session keyring or capabilities: %s", strerror(-ret));
	ret = kdev_open(&g->dev, &g->error);
	if (!ret)
		ret = check_node(g);
	if (!ret && !o->dry_run)
		ret = builder_ipc(g->b->state, o, &g->error);
	if (!ret && !g->b->options->dry_run)
		ret = begin_restore(g);
	if (ret || g->b->options->dry_run) {
		kdev_close(g->dev);
		g->dev = NULL;
	}
	if (!ret)
		ret = builder_drop(&g->b->plan->owner, &g->error);
	if (!ret && prctl(PR_SET_PDEATHSIG, SIGKILL))	/* the change of user has cleared it */
		ret = error_fail(&g->error, -errno, "prctl: %s", strerror(errno));
	return ret;
}

/* A rollback: the context is there, and so is the tree that the clocks and limits belong to. */
static int builder_begin_rollback(struct building *g)
{
	int ret;

	g->dev = g->b->rollback->dev;
	ret = check_node(g);
	if (!ret)
		ret = builder_enter(g->b->rollback->init, &g->error);
	if (!ret)
		ret = builder_drop(&g->b->plan->owner, &g->error);
	if (!ret && prctl(PR_SET_PDEATHSIG, SIGKILL))	/* the change of user has cleared it */
		ret = error_fail(&g->error, -errno, "prctl: %s", strerror(errno));
	return ret;
}

static int open_files(struct building *g)
{
	int ret;

	relay_progress(g->b->relay, "files", 0, 0);
	ret = reopen_check(&g->files);
	if (!ret)
		reopen_given_keeps(&g->files);
	if (!ret && g->b->options->dry_run)
		ret = reopen_locks_check(&g->files);
	if (!ret && !g->b->options->dry_run)
		ret = reopen_all(&g->files);
	if (!ret && !g->b->options->dry_run)
		ret = reopen_locks(&g->files, false);
	g->stats.bytes_read += g->files.bytes;
	return ret;
}

/* A rollback: the tree has the locks, and the numbers of its files, until it is turned. */
static int reopen_rolled_back(struct building *g)
{
	int ret;

	relay_progress(g->b->relay, "files", 0, 0);
	ret = reopen_check(&g->files);
	if (ret || g->b->options->dry_run)
		return ret;
	ret = relay_ask(g->b->relay, BUILDER_TURNS);
	if (ret)
		return error_fail(&g->error, ret, "the tree cannot be rolled back: %s",
				  strerror(-ret));
	if (g->b->rollback->ranks)
		ret = reopen_shm_clear(&g->files);
	if (!ret)
		ret = reopen_all(&g->files);
	if (!ret)
		ret = reopen_locks(&g->files, false);
	g->stats.bytes_read += g->files.bytes;
	return ret;
}

/* Find the descriptors of cwd, root and terminal that each task needs. */
static int find_dirs(struct building *g)
{
	int nr = g->b->plan->nr_tasks;
	int *cwd = calloc((size_t)nr * 3, sizeof(*cwd));
	bool *had = calloc((size_t)nr * 2, sizeof(*had));

	g->dirs = cwd;
	g->had = had;
	if (!cwd || !had)
		return error_fail(&g->error, -ENOMEM, "out of memory");
	for (int i = 0; i < nr; i++) {
		const struct plan_task *task = &g->b->plan->tasks[i];
		bool live = task->role == PLAN_LIVE;

		cwd[i] = live ? reopen_fd(&g->files, task->proc->cwd) : -1;
		cwd[nr + i] = -1;
		if (live && strcmp(task->proc->root->path, "/") != 0)
			cwd[nr + i] = reopen_fd(&g->files, task->proc->root);
		had[i] = cwd[i] >= 0 && reopen_had_closed(task->proc->cwd, cwd[i]);
		had[nr + i] = cwd[nr + i] >= 0 &&
			      reopen_had_closed(task->proc->root, cwd[nr + i]);
		cwd[2 * nr + i] = -1;
		if (live && task->setsid && task->proc->rec->tty >= 0)
			cwd[2 * nr + i] = reopen_tty(&g->files, task->proc->rec->tty);
	}
	g->tree.cwd = cwd;
	g->tree.root = cwd + nr;
	g->tree.had = had;
	g->tree.tty = cwd + 2 * nr;
	return 0;
}

/* The tasks have taken the terminals; a slave that we hold would hide a close from its master. */
static void close_ttys(struct building *g)
{
	for (int i = 0; i < g->b->plan->nr_tasks; i++)
		if (g->tree.tty[i] >= 0)
			close(g->tree.tty[i]);
}

static int make_tree(struct building *g)
{
	uint64_t start = clock_monotonic_ns();
	int ret;

	relay_progress(g->b->relay, "tree", 0, 0);
	ret = find_dirs(g);
	if (ret)
		return ret;
	g->tree.plan = g->b->plan;
	g->tree.ctx_fd = g->dev->fd;
	g->tree.builder = getpid();
	g->tree.reaper = getppid();
	g->tree.bounding = builder_bounding();
	ret = tree_shared_create(g->b->plan, &g->tree.shared);
	if (ret)
		return error_fail(&g->error, ret, "out of memory");
	ret = tree_build(&g->tree, &g->error);
	if (!ret)
		ret = tree_enter(&g->tree, g->dev, &g->error);
	close_ttys(g);
	g->stats.tree_ns = clock_monotonic_ns() - start;
	return ret;
}

static int fill_memory(struct building *g)
{
	uint64_t start = clock_monotonic_ns(), bytes = 0;
	int ret = builder_fill(g->b, &g->state, &bytes, &g->stats.bytes_copied);

	g->stats.bytes_read += bytes;
	g->stats.memory_ns = clock_monotonic_ns() - start;
	return ret ? ret : reopen_seal(&g->files);
}

static int fill_state(struct building *g)
{
	const struct state *state = g->b->state;
	const struct plan *plan = g->b->plan;
	int ret = 0;

	relay_progress(g->b->relay, "state", 0, 0);
	ret = reopen_late(&g->files);
	if (!ret)
		ret = reopen_locks(&g->files, true);
	if (!ret)
		ret = reopen_connect(&g->files);
	for (unsigned int i = 0; !ret && i < state->nr_fdtables; i++)
		ret = restore_records_fds(&g->state, &state->fdtables[i]);
	for (int i = plan->nr_helpers; !ret && i < plan->nr_tasks; i++)
		ret = plan->tasks[i].role == PLAN_LIVE ?
			restore_records_proc(&g->state, plan->tasks[i].proc) :
			restore_records_zombie(&g->state, plan->tasks[i].proc);
	if (!ret && g->b->rollback)
		ret = rollback_extra_apply(&g->state, g->b->rollback->extra);
	for (unsigned int i = 0; !ret && state_kinds[i]; i++)
		if (state_kinds[i]->apply)
			ret = state_kinds[i]->apply(&g->state);
	if (!ret && !g->b->rollback)
		ret = tree_limits(&g->tree, &g->error);
	if (!ret && !g->b->rollback)
		tree_done(&g->tree);
	return ret;
}

static int builder_await(struct building *g, enum builder_step step)
{
	int ret = relay_ask(g->b->relay, (int)step);

	return ret ? error_fail(&g->error, ret, "the restart was given up before the tree ran") : 0;
}

/* Return when the tree may run. */
static int builder_hold(struct building *g)
{
	const struct engine_given *given = g->b->options->given;
	int ret = 0;

	if (given && given->nr) {
		ret = builder_await(g, BUILDER_LOOKS);
		if (!ret)
			ret = reopen_given_check(&g->files);
	}
	return ret ? ret : builder_await(g, BUILDER_HELD);
}

static int let_go(struct building *g)
{
	struct ckpt_restore_commit arg = { .nr_threads = g->b->plan->nr_threads };
	int ret;

	if (g->b->rollback)
		arg.nr_threads += g->b->rollback->extra->nr;
	relay_progress(g->b->relay, "commit", 0, 0);
	ret = g->b->rollback ? relay_ask(g->b->relay, BUILDER_COMPLETES) : 0;
	if (ret)
		return error_fail(&g->error, ret, "the tree's output cannot be cut back: %s",
				  strerror(-ret));
	ret = reopen_put_back(&g->files);
	if (!ret && g->b->options->held)
		ret = builder_hold(g);
	if (!ret)
		ret = reopen_arm(&g->files);
	if (ret)
		return ret;
	reopen_closed_log(&g->files, g->dev);
	/* a pipe's end that we still hold would hide its close from the other end */
	reopen_close(&g->files);
	ret = kdev_restore_commit(g->dev, &arg);
	if (ret)
		return error_fail(&g->error, ret, "cannot let the tree go: %s", strerror(-ret));
	reopen_settle(&g->files);
	return 0;
}

static void builder_note(const char *text, void *arg)
{
	const struct builder *b = arg;

	relay_note(b->relay, text);
}

static void builder_given(const struct engine_given_file *file, void *arg)
{
	const struct builder *b = arg;

	relay_given(b->relay, file);
}

static int builder_build(struct building *g)
{
	const struct restore_options *o = g->b->options;
	int ret = g->b->rollback ? builder_begin_rollback(g) : builder_begin(g);

	g->files_options = (struct reopen_options) {
		.files = o->files, .accept_changed = o->accept_changed, .beside = o->beside,
		.shm_dir = o->shm_dir, .externals = o->externals,
		.nr_externals = o->nr_externals, .note = builder_note, .note_arg = (void *)g->b,
		.since = g->b->since, .given = o->given, .tell_given = builder_given,
		.followed = o->followed, .links = o->links,
		.dev = g->dev,
	};
	if (!ret)
		ret = reopen_init(&g->files, g->b->state, g->b->reader, &g->files_options,
				  &g->error);
	if (!ret)
		ret = g->b->rollback ? reopen_rolled_back(g) : open_files(g);
	if (ret || o->dry_run)
		return ret;
	g->state.dev = g->dev;
	g->state.cpu = g->b->state->cpu;
	g->state.in_place = g->b->rollback;
	ret = g->b->rollback ? 0 : make_tree(g);
	if (!ret)
		ret = fill_memory(g);
	if (!ret)
		ret = fill_state(g);
	return ret ? ret : let_go(g);
}

/* ---------------------------------------------------------------- process */

/* Reset signal mask and handlers, which we and the tree would inherit from the caller. */
static int builder_isolate(pid_t parent)
{
	uint64_t all = ~0ULL;	/* not by libc, which would not block its own two signals */

	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all)) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	for (int i = 1; i <= SIGRTMAX; i++)
		signal(i, SIG_DFL);
	return getppid() == parent ? 0 : -ESRCH;
}

_Noreturn void builder_main(const struct builder *b, pid_t parent)
{
	struct building g = { .b = b };
	int ret = builder_isolate(parent);

	g.state.error = &g.error;
	g.state.files = &g.files;
	if (ret)
		_exit(1);
	ret = builder_build(&g);
	if (ret) {
		if (g.tree.shared)
			tree_kill(&g.tree);
		kdev_close(g.dev);
		if (g.files.state)
			reopen_undo(&g.files);
	}
	relay_result(b->relay, ret, &g.error, &g.stats);
	_exit(ret ? 1 : 0);
}
