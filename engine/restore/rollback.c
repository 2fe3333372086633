// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rollback of a running tree, the caller's part; see rollback.h.
 *
 * The caller freezes the tree and compares it with the image. The builder of a restore does the
 * rest, in the tree's namespaces and with its owner's rights: it checks the files, asks the caller
 * to roll back (only the caller has the rights for that), and fills the processes.
 *
 * The builder and the caller both hold the context. The caller closes it when the builder has
 * ended, and so thaws a tree that was not touched, or ends one that was not completed.
 */
#include "engine/restore/rollback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/dump/dump_run.h"
#include "engine/restore/builder.h"
#include "engine/restore/relay.h"
#include "engine/restore/restore_image.h"
#include "engine/restore/rollback_compare.h"
#include "engine/restore/rollback_extra.h"
#include "engine/restore/rollback_keep.h"
#include "engine/restore/rollback_l0.h"

#define FREEZE_TIMEOUT_MS	10000

struct rollback {
	const struct rollback_options *options;
	struct ckpt_error *error;
	struct rollback_stats *stats;
	struct restore_options restore;	/* of the options, with the externals of the tree */
	struct restore_image image;
	struct write_journal journal;
	bool has_journal;
	struct dump_options dump_options;	/* of @dump, which only tells externals */
	struct dump dump;
	struct capture cap;
	struct engine_external *externals;	/* owned; descriptors of the tree's ends */
	unsigned int nr_externals;
	struct rollback_extra extra;
	struct rollback_keep keep;
	uint64_t frozen_at;
	bool asked;		/* the files are right, and the kernel was asked to roll back */
	bool turned;		/* the context is a restore: the tree depends on the commit */
	char why[256];		/* the rollback is impossible; "": it is not */
};

/* ---------------------------------------------------------------- freeze */

static int rollback_on_frozen(void *arg)
{
	struct rollback *r = arg;

	r->frozen_at = clock_monotonic_ns();
	return r->options->frozen ? r->options->frozen(r->options->arg) : 0;
}

static int rollback_on_targeted(void *arg, struct ckpt_error *error)
{
	const struct rollback *r = arg;

	return r->options->targeted ? r->options->targeted(r->options->arg, error) : 0;
}

/* A tree that cannot be frozen, or saved, cannot be rolled back in place either. */
static int rollback_freeze(struct rollback *r)
{
	const struct ckpt_exclude library = {
		.kind = CKPT_EXCLUDE_RANGE, .start = r->options->library[0],
		.end = r->options->library[1],
	};
	struct capture_options capture = {
		.open = kdev_open,
		.roots = &r->options->init,
		.nr_roots = 1,
		.descendants = r->options->descendants,
		.owner = r->options->restore->asker,
		.in_place = true,
		.no_sysv = true,	/* they outlive processes, and would keep later contents */
		.rolls_back = r->options->ranks,
		.excludes = &library,
		.nr_excludes = r->options->ranks,
		.freeze_timeout_ms = FREEZE_TIMEOUT_MS,
		.targeted = rollback_on_targeted,
		.frozen = rollback_on_frozen,
		.frozen_arg = r,
	};
	__u64 needs = CKPT_FEAT_ROLLBACK | (r->options->ranks ? CKPT_FEAT_TARGET_ROLLBACK : 0);
	int ret = capture_open(&r->cap, &capture, r->error);

	if (ret)
		return ret;
	if ((r->cap.dev->info.features & needs) != needs) {
		snprintf(r->why, sizeof(r->why), "the kernel module is an older one");
		capture_end(&r->cap);
		return 0;
	}
	ret = capture_begin(&r->cap, &capture, r->error);
	if ((ret == -EOPNOTSUPP || ret == -EBUSY) && r->error->nr_refusals) {
		snprintf(r->why, sizeof(r->why), "%.200s", r->error->text);
		error_done(r->error);
		ret = 0;
	}
	return ret;
}

static int rollback_read_journal(struct rollback *r)
{
	const struct engine_rec_writes *writes = r->image.state->writes;

	if (r->has_journal)
		write_journal_done(&r->journal);
	write_since_done(&r->image.since);
	r->has_journal = false;
	/* a journal that cannot be read is an empty one: the restore says that nothing is known */
	if (!r->options->journal)
		return 0;
	r->has_journal = !write_journal_load(r->options->journal, &r->journal);
	if (write_journal_since(&r->journal, writes ? writes->log_ns : 0,
				writes ? writes->seq : UINT64_MAX, &r->image.since))
		return error_fail(r->error, -ENOMEM, "out of memory");
	/* the log goes on, and was read while the tree stood still: no later change is missing */
	r->image.since.ended = r->has_journal;
	return 0;
}

/* ------------------------------------------------------------- externals */

/* Can the file be the tree's end of the external with that name? */
static bool is_end(const struct state_file *file, const char *name)
{
	int mode = (int)(file->rec->f_flags & O_ACCMODE);

	if (!(file->rec->flags & CKPT_FILE_OPEN) || file->rec->f_flags & O_PATH)
		return false;
	if (!strncmp(name, "stdin", 5))
		return mode != O_WRONLY;
	return !strcmp(name, "tty") || mode != O_RDONLY;
}

static int rollback_get_file(struct rollback *r, const struct state_file *file)
{
	__u32 id = file->rec->id;
	__s32 fd = -1;
	struct ckpt_file_get get = { .nr = 1, .ids = (uintptr_t)&id, .fds = (uintptr_t)&fd };
	int ret = kdev_file_get(r->cap.dev, &get);

	return ret ? ret : fd;
}

/* Get the tree's end of the external, once. 0: the tree has none. */
static int rollback_external(struct rollback *r, const char *name)
{
	const struct state *now = r->cap.state;
	int fd;

	for (unsigned int i = 0; i < r->nr_externals; i++)
		if (!strcmp(r->externals[i].name, name))
			return 1;
	for (unsigned int i = 0; i < now->nr_files; i++) {
		const char *is = dump_external_name(&r->dump, &now->files[i]);

		if (!is || strcmp(is, name) != 0 || !is_end(&now->files[i], name))
			continue;
		fd = rollback_get_file(r, &now->files[i]);
		if (fd < 0)
			return fd;
		snprintf(r->externals[r->nr_externals].name, sizeof(r->externals[0].name), "%s",
			 name);
		r->externals[r->nr_externals++].fd = fd;
		return 1;
	}
	return 0;
}

static int rollback_externals(struct rollback *r)
{
	const struct state *image = r->image.state;
	int ret;

	free(r->externals);
	r->externals = calloc(image->nr_externals + 1, sizeof(*r->externals));
	if (!r->externals)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < image->nr_externals && !r->why[0]; i++) {
		const char *name = image->externals[i]->name;

		ret = rollback_external(r, name);
		if (ret < 0)
			return error_fail(r->error, ret, "cannot get at the tree's %s: %s", name,
					  strerror(-ret));
		if (!ret)
			snprintf(r->why, sizeof(r->why), "it has closed its %.31s", name);
	}
	return 0;
}

/* ---------------------------------------------------------------- compare */

/* Does the tree's own /dev/shm have an entry? Nobody knows which of them the image lacks. */
static bool rollback_has_shm(const struct rollback *r)
{
	const struct dirent *entry;
	char path[64];
	bool has = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", (int)r->options->init);
	dir = opendir(path);
	while (dir && !has && (entry = readdir(dir)))
		has = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (dir)
		closedir(dir);
	return has;
}

/* Ranks have a /dev/shm of their own, and no other one may be emptied. */
static bool rollback_shm_is_own(const struct rollback *r)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", (int)r->options->init);
	return !stat(path, &theirs) && !stat("/dev/shm", &ours) && theirs.st_dev != ours.st_dev;
}

static int rollback_look(struct rollback *r)
{
	struct state *now = r->cap.state;
	int ret;

	if (r->why[0])
		return 0;
	if (!rollback_compare(r->image.state, now, r->options->ranks, r->why, sizeof(r->why)))
		return 0;
	ret = rollback_extra_find(r->image.state, now, r->cap.dev->info.vdso_size, &r->extra,
				  r->why, sizeof(r->why));
	if (ret)
		return error_fail(r->error, ret, "out of memory");
	for (unsigned int i = 0; i < now->nr_files && !r->why[0]; i++)
		if (now->files[i].pipe && now->files[i].pipe->rec->data_len &&
		    dump_external_name(&r->dump, &now->files[i]))
			snprintf(r->why, sizeof(r->why),
				 "it has not read all of its standard input");
	if (!r->why[0] && !r->options->ranks && rollback_has_shm(r))
		snprintf(r->why, sizeof(r->why), "it has files in /dev/shm");
	if (!r->why[0] && r->options->ranks && !rollback_shm_is_own(r))
		snprintf(r->why, sizeof(r->why), "it has no /dev/shm of its own");
	ret = rollback_externals(r);
	if (ret || r->why[0] || r->options->reread)
		return ret;
	ret = rollback_keep_look(r->image.state, now, r->image.reader, r->cap.dev, &r->keep,
				 r->error);
	if (!ret)
		rollback_l0_look(&r->keep, r->image.state, r->image.reader, r->cap.dev);
	return ret;
}

/* ---------------------------------------------------------------- builder */

/* Far enough to build the process; the number of descriptors cannot be without a limit. */
static struct rlimit64 rollback_lifted(const struct ckpt_rec_proc *rec, int resource)
{
	struct rlimit64 limit = { RLIM64_INFINITY, RLIM64_INFINITY };

	if (resource != RLIMIT_NOFILE)
		return limit;
	if (prlimit64(0, resource, NULL, &limit) || limit.rlim_max < rec->limits[resource][1])
		limit.rlim_max = rec->limits[resource][1];
	limit.rlim_cur = limit.rlim_max;
	return limit;
}

/* Lift the limits that may be below what the tree uses, or set them again. */
static int rollback_limits(const struct rollback *r, bool lift)
{
	static const int resources[] = {
		RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_MEMLOCK, RLIMIT_NOFILE,
	};
	const struct state *now = r->cap.state;

	for (unsigned int i = 0; i < now->nr_procs; i++) {
		const struct ckpt_rec_proc *rec = now->procs[i].rec;

		for (unsigned int k = 0; k < ARRAY_SIZE(resources); k++) {
			const struct rlimit64 limit = lift ?
				rollback_lifted(rec, resources[k]) :
				(struct rlimit64){ rec->limits[resources[k]][0],
						   rec->limits[resources[k]][1] };

			if (prlimit64(rec->host_pid, resources[k], &limit, NULL))
				return -errno;
		}
	}
	return 0;
}

static int rollback_complete(const struct rollback *r)
{
	int ret = rollback_limits(r, false);

	if (ret || !r->options->completes)
		return ret;
	return r->options->completes(r->options->arg);
}

/* Make the capture a restore, with the memory that stays. */
static int rollback_turn(struct rollback *r, struct ckpt_rollback *turn)
{
	uint32_t *ids = calloc(r->keep.nr_maps + 1, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned int i = 0; i < r->keep.nr_maps; i++)
		if (r->keep.maps[i].now_id)
			ids[turn->nr_keep++] = r->keep.maps[i].now_id;
	turn->keep = turn->nr_keep ? (uintptr_t)ids : 0;
	builder_deltas(r->image.state->system, &turn->monotonic_delta_ns,
		       &turn->boottime_delta_ns);
	ret = kdev_rollback(r->cap.dev, turn);
	free(ids);
	return ret;
}

/* Do a step that the builder asks for; called by relay_receive(). */
static int rollback_on_asked(int step, void *arg)
{
	struct rollback *r = arg;
	struct ckpt_rollback turn = { 0 };
	int ret;

	if (step == BUILDER_COMPLETES)
		return rollback_complete(r);
	r->asked = true;
	ret = rollback_turn(r, &turn);
	r->turned = turn.nr_threads;
	if (ret && !r->turned)
		snprintf(r->why, sizeof(r->why), "its threads cannot be taken: %s",
			 strerror(-ret));
	if (!ret && turn.nr_threads != r->image.plan->nr_threads + r->extra.nr)
		ret = -EPROTO;
	return ret ? ret : rollback_limits(r, true);
}

/*
 * Give later children the tree's PID namespace; this process stays in its own.
 * @ret_parent: this process, as such a child sees it: 0 from another namespace
 */
static int rollback_enter_pids(const struct rollback *r, pid_t *ret_parent)
{
	_cleanup_fd_ int fd = -1;
	struct stat own, theirs;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)r->options->init);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &theirs) || stat("/proc/self/ns/pid", &own))
		return -errno;
	*ret_parent = own.st_ino == theirs.st_ino ? getpid() : 0;
	return *ret_parent || !setns(fd, CLONE_NEWPID) ? 0 : -errno;
}

static int rollback_build(struct rollback *r)
{
	struct builder_rollback how = {
		.dev = r->cap.dev, .init = r->options->init, .keep = &r->keep,
		.extra = &r->extra, .ranks = r->options->ranks,
	};
	struct builder b = {
		.options = &r->restore, .state = r->image.state, .plan = r->image.plan,
		.reader = r->image.reader, .rollback = &how,
		.since = r->options->journal ? &r->image.since : NULL,
	};
	pid_t parent, pid;
	int pair[2], ret = rollback_enter_pids(r, &parent);

	if (ret)
		return error_fail(r->error, ret, "cannot enter the tree's PID namespace: %s",
				  strerror(-ret));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return error_fail(r->error, -errno, "socketpair: %s", strerror(errno));
	b.relay = pair[1];
	pid = fork();
	if (!pid)
		builder_main(&b, parent);
	ret = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (ret)
		error_fail(r->error, ret, "cannot create a process: %s", strerror(-ret));
	else
		ret = relay_receive(pair[0], pid, false, &r->restore, rollback_on_asked, r,
				    &r->stats->restore, r->error);
	close(pair[0]);
	if (pid > 0 && ret)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}

/* ------------------------------------------------------------------- all */

/* Freeze the tree, and see whether it can be rolled back, and what of its memory stays. */
static int rollback_try(struct rollback *r)
{
	int ret = rollback_freeze(r);

	if (ret || !r->cap.dev)
		return ret;
	ret = rollback_read_journal(r);
	return ret ? ret : rollback_look(r);
}

static int rollback_damaged(struct rollback *r, int err, const char *text)
{
	return error_fail(r->error, err, "%s is damaged or not ours: %s", r->restore.dir, text);
}

/* Let the tree run on, and forget what was seen. */
static void rollback_thaw(struct rollback *r)
{
	if (r->cap.dev)
		r->stats->pause_ns += clock_monotonic_ns() - r->frozen_at;
	capture_end(&r->cap);
	rollback_keep_done(&r->keep);
	rollback_extra_done(&r->extra);
	while (r->nr_externals)
		close(r->externals[--r->nr_externals].fd);
	r->why[0] = 0;
}

/*
 * A page that cannot be read would show when there is no way back, so what will be read is read
 * before. Little is read while the tree stands still; else all of the image while it runs.
 */
static int rollback_try_and_read(struct rollback *r)
{
	struct ckpt_error why = { 0 };
	int ret = rollback_try(r);

	if (ret)
		return ret;
	if (r->cap.dev && !r->why[0]) {
		ret = rollback_keep_read(&r->keep, r->image.state, r->image.reader);
		if (ret)
			return ret > 0 ? 0 : rollback_damaged(r, ret,
						image_reader_error(r->image.reader));
	}
	rollback_thaw(r);
	ret = image_verify(r->restore.dir, r->restore.key, NULL, true, NULL, NULL, &why);
	return ret ? rollback_damaged(r, ret, why.text) : rollback_try(r);
}

static int rollback_run(struct rollback *r)
{
	int ret = restore_image_read(&r->image);

	if (ret)
		return ret;
	r->stats->restore.nr_procs = r->image.state->nr_procs;
	r->stats->restore.nr_threads = r->image.state->nr_threads;
	ret = dump_externals_open(&r->dump);
	if (!ret)
		ret = rollback_try_and_read(r);
	if (ret || !r->cap.dev)
		return ret;
	r->restore.externals = r->externals;
	r->restore.nr_externals = r->nr_externals;
	/* files are checked in any case: a restart in its stead must not end a tree in vain */
	r->restore.dry_run = r->why[0];
	ret = rollback_build(r);
	r->stats->pause_ns += clock_monotonic_ns() - r->frozen_at;
	if (!ret && r->turned)
		rollback_extra_await(&r->extra);
	r->stats->kept = r->keep.clean;
	return ret;
}

static void rollback_done(struct rollback *r)
{
	capture_end(&r->cap);	/* thaws, or ends a tree that was not completed */
	rollback_keep_done(&r->keep);
	rollback_extra_done(&r->extra);
	for (unsigned int i = 0; i < r->nr_externals; i++)
		close(r->externals[i].fd);
	free(r->externals);
	dump_externals_done(&r->dump);
	restore_image_done(&r->image);
	if (r->has_journal)
		write_journal_done(&r->journal);
}

int rollback_tree(const struct rollback_options *options, enum rollback_end *ret_end,
		  struct rollback_stats *ret_stats, struct ckpt_error *error)
{
	uint64_t start = clock_monotonic_ns();
	struct rollback *r = calloc(1, sizeof(*r));
	int ret;

	*ret_end = ROLLBACK_REFUSED;
	memset(ret_stats, 0, sizeof(*ret_stats));
	if (!r)
		return error_fail(error, -ENOMEM, "out of memory");
	r->options = options;
	r->error = error;
	r->stats = ret_stats;
	r->restore = *options->restore;
	r->image = (struct restore_image){ .options = options->restore, .error = error };
	r->dump_options.externals = options->externals;
	r->dump_options.nr_externals = options->nr_externals;
	r->dump.options = &r->dump_options;
	r->dump.error = error;
	ret = rollback_run(r);
	rollback_done(r);
	ret_stats->restore.total_ns = clock_monotonic_ns() - start;
	if (r->turned) {
		*ret_end = ret ? ROLLBACK_LOST : ROLLBACK_DONE;
	} else if (r->why[0] && (!ret || r->asked)) {
		*ret_end = ROLLBACK_IMPOSSIBLE;
		error_done(error);
		ret = error_fail(error, -EBUSY, "%s", r->why);
	}
	free(r);
	return ret;
}
