// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the job's standard streams: terminal, pipes and logs, and putting them
 * into its first process.
 *
 * Runs as root, but opens the user's files only after the rights were given
 * up (stdio_enter_files()).  The logs lie in the job's image directory, which
 * only root can write: no link can be planted there.
 */
#include "shim/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/ranks.h"
#include "shim/labels.h"

static bool stdio_open_is(const char *how, const char *what)
{
	return !strcmp(how, what);
}

static int open_tty(struct shim_stdio *io, const struct shim_spec *spec)
{
	io->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (io->master < 0)
		return -errno;
	if (grantpt(io->master) || unlockpt(io->master))
		return -errno;
	/* Hold the slave open, so that the job may close it and open it again. */
	io->slave = ioctl(io->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (io->slave < 0 || fchown(io->slave, spec->uid, (gid_t)-1))
		return -errno;
	stdio_window(io, spec->window ? spec->window : 24u << 16 | 80);
	return 0;
}

/* Give the pipe to the job's owner: it must be able to open /dev/stdout, and so must a restore. */
static int make_pipe(int *ours, int *theirs, const struct shim_spec *spec,
		     bool we_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ours = ends[we_write];
	*theirs = ends[!we_write];
	if (fchown(*theirs, spec->uid, spec->gid) ||
	    fcntl(*ours, F_SETFL, O_NONBLOCK))
		return -errno;
	return 0;
}

static int copy_range(int log, int tail, off_t from, off_t to)
{
	while (from < to) {
		ssize_t n = copy_file_range(log, &from, tail, NULL, (size_t)(to - from), 0);

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return fsync(tail) ? -errno : 0;
}

int stdio_copy_tail(int dir, int log, const char *name, int64_t len, char *tail)
{
	_cleanup_fd_ int to = -1;
	struct stat st;
	int err;

	if (fstat(log, &st))
		return -errno;
	if (st.st_size < len)
		return -ENODATA;
	if (st.st_size == len)
		return 0;
	snprintf(tail, STDIO_TAIL_NAME, "%s.cut-%lld", name, (long long)time(NULL));
	to = openat(dir, tail, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return -errno;
	err = fchown(to, st.st_uid, st.st_gid) ? -errno :
	      copy_range(log, to, (off_t)len, st.st_size);
	if (err)
		unlinkat(dir, tail, 0);
	return err ? err : 1;
}

/*
 * A restart cuts a log back to the image's length: copy the part that will be cut to a file beside
 * it. The cut itself is made once the job was restored: a failed restart changes nothing.
 */
static int prepare_cut(struct shim_stdio *io, int log, const char *name, off_t len)
{
	struct shim_cut *cut = realloc(io->cuts, (io->nr_cuts + 1) * sizeof(*cut));
	int err;

	if (!cut)
		return -ENOMEM;
	io->cuts = cut;
	cut += io->nr_cuts;
	cut->len = len;
	err = stdio_copy_tail(io->cuts_dir, log, name, len, cut->tail);
	if (err <= 0)
		return err;
	cut->log = fcntl(log, F_DUPFD_CLOEXEC, 3);
	if (cut->log < 0) {
		err = -errno;
		unlinkat(io->cuts_dir, cut->tail, 0);
		return err;
	}
	io->nr_cuts++;
	return 0;
}

void stdio_cut(struct shim_stdio *io, bool undo)
{
	for (unsigned int i = 0; i < io->nr_cuts; i++) {
		struct shim_cut *cut = &io->cuts[i];

		if (undo || ftruncate(cut->log, cut->len))
			unlinkat(io->cuts_dir, cut->tail, 0);
		close(cut->log);
	}
	free(io->cuts);
	io->cuts = NULL;
	io->nr_cuts = 0;
	if (io->cuts_dir >= 0)
		close(io->cuts_dir);
	io->cuts_dir = -1;
}

static int open_log(struct shim_stream *s, const struct shim_spec *spec,
		    int dir, const char *name, json_int_t len)
{
	int err;

	s->log = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
			(spec->restore ? 0 : O_TRUNC), 0600);
	if (s->log < 0 || fchown(s->log, spec->uid, spec->gid))
		return -errno;
	if (!spec->restore)
		return 0;
	err = prepare_cut(s->io, s->log, name, len);
	s->len = s->ready = (uint64_t)len;
	return err;
}

/* Cut logs of the job's former nodes, which grew after the checkpoint; nobody writes them now. */
static int cut_old_logs(struct shim_stdio *io, const struct shim_spec *spec, int dir)
{
	unsigned int node = spec->ranks.nr_nodes, nr = spec_log_nodes(spec);
	int err = 0;

	for (; node < nr && !err; node++) {
		const json_t *lens = json_array_get(spec->old_logs, node - spec->ranks.nr_nodes);

		for (int i = 0; i < 2 && !err; i++) {
			json_int_t len = json_integer_value(json_array_get(lens, (size_t)i));
			struct shim_stream s = { .io = io, .log = -1 };
			char name[32];

			if (!stdio_open_is(spec->stdio[i + 1], SPEC_PIPE))
				continue;
			ranks_log_name(node, i, name, sizeof(name));
			err = open_log(&s, spec, dir, name, len);
			if (s.log >= 0)
				close(s.log);
		}
	}
	return err;
}

static int open_streams(struct shim_stdio *io, const struct shim_spec *spec, int dir)
{
	bool tty_logged = false;
	int i, err = 0;
	char name[32];

	for (i = 0; i < 2 && !err; i++) {
		struct shim_stream *s = &io->stream[i];

		if (!stdio_open_is(spec->stdio[i + 1], SPEC_PIPE))
			continue;
		if (!spec->ranks.label)
			err = make_pipe(&s->fd, &io->job_ends[i + 1], spec, false);
		if (err)
			continue;
		ranks_log_name(spec->ranks.node, i, name, sizeof(name));
		err = open_log(s, spec, dir, name, spec->log_len[i]);
	}
	/* The terminal's output becomes the first stream that is not in use. */
	for (i = 0; i < 2 && !err && io->master >= 0 && !tty_logged; i++) {
		struct shim_stream *s = &io->stream[i];

		if (s->fd >= 0)
			continue;
		s->fd = fcntl(io->master, F_DUPFD_CLOEXEC, 3);
		ranks_log_name(0, i, name, sizeof(name));
		tty_logged = true;
		io->tty_out = i == 0;
		io->tty_err = i == 1;
		err = s->fd < 0 ? -errno :
		      open_log(s, spec, dir, name, spec->log_len[i]);
	}
	return err;
}

int stdio_open(struct shim_stdio *io, const struct shim_spec *spec, const struct log *says,
	       struct ckpt_error *error)
{
	_cleanup_fd_ int dir = -1;
	const char *what = "terminal";
	int i, err = 0;

	memset(io, 0, sizeof(*io));
	io->spec = spec;
	io->says = says;
	io->master = io->slave = io->in_write = io->cuts_dir = -1;
	for (i = 0; i < 3; i++)
		io->job_ends[i] = -1;
	for (i = 0; i < 2; i++)
		io->stream[i] = (struct shim_stream) { .io = io, .fd = -1, .log = -1 };
	if (spec_has_tty(spec))
		err = open_tty(io, spec);
	if (!err && stdio_open_is(spec->stdio[0], SPEC_PIPE)) {
		what = "pipe";
		err = make_pipe(&io->in_write, &io->job_ends[0], spec, true);
	} else if (!err && stdio_open_is(spec->stdio[0], SPEC_TTY)) {
		io->in_write = fcntl(io->master, F_DUPFD_CLOEXEC, 3);
		io->tty_in = true;
		err = io->in_write < 0 ? -errno : 0;
	}
	if (!err) {
		what = spec->image_dir;
		dir = open(spec->image_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && spec->restore)
			io->cuts_dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
		err = dir < 0 || (spec->restore && io->cuts_dir < 0) ? -errno :
		      open_streams(io, spec, dir);
		if (!err && spec->restore)
			err = cut_old_logs(io, spec, dir);
		if (!err && spec->ranks.label)
			err = labels_open(io, spec, &io->labels);
	}
	if (err == -ENODATA)
		return error_set(error, err,
				 "the log of the job's output in %s is shorter than at the "
				 "checkpoint: it was changed or is of another job",
				 what);
	return err ? error_set(error, err, "the job's standard streams: %s: %s", what,
			       strerror(-err)) : 0;
}

/* ------------------------------------------------------------ in the job */

int stdio_enter(const struct shim_stdio *io, const struct shim_spec *spec,
		unsigned int flags, int index)
{
	int i, null;

	if (io->slave >= 0 && ioctl(io->slave, TIOCSCTTY, 0))
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;
	for (i = 0; i < 3; i++) {
		int from = null;

		if (!i && flags & STDIO_NO_INPUT)
			from = null;
		else if (stdio_open_is(spec->stdio[i], SPEC_TTY))
			from = io->slave;
		else if (i && io->labels && stdio_open_is(spec->stdio[i], SPEC_PIPE))
			from = labels_fd(io->labels, (unsigned int)index, i);
		else if (stdio_open_is(spec->stdio[i], SPEC_PIPE))
			from = io->job_ends[i];
		if (dup2(from, i) < 0)
			return -errno;
	}
	return 0;
}

static int open_file(const char *path, bool input, unsigned int flags)
{
	int how = O_WRONLY | O_CREAT;

	if (input)
		return open(path, O_RDONLY | O_NOCTTY);
	if (flags & STDIO_APPEND)
		how |= O_APPEND;
	if (!(flags & STDIO_APPEND) || flags & STDIO_TRUNCATE)
		how |= O_TRUNC;
	return open(path, how | O_NOCTTY, 0666);
}

int stdio_enter_files(const struct shim_spec *spec, unsigned int flags,
		      const char **ret_path)
{
	int i, fd;

	for (i = 0; i < 3; i++) {
		*ret_path = spec->stdio[i];
		if (spec->stdio[i][0] != '/' || (!i && flags & STDIO_NO_INPUT))
			continue;
		/* The same file: share one open file description, as 2>&1 does. */
		if (i == 2 && stdio_open_is(spec->stdio[1], spec->stdio[2])) {
			fd = fcntl(1, F_DUPFD, 3);
		} else {
			fd = open_file(spec->stdio[i], i == 0, flags);
		}
		if (fd < 0 || dup2(fd, i) < 0)
			return -errno;
		close(fd);
	}
	return 0;
}

int stdio_restore_externals(const struct shim_stdio *io, struct engine_external **ret)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	unsigned int i, n = 0, nr = labels_count(io->labels);
	struct engine_external *externals = calloc(4 + nr, sizeof(*externals));
	struct shim_end end;

	if (!externals)
		return -ENOMEM;
	if (io->slave >= 0) {
		strcpy(externals[n].name, "tty");
		externals[n++].fd = io->slave;
	}
	for (i = 0; i < 3; i++) {
		if (io->job_ends[i] < 0)
			continue;
		strcpy(externals[n].name, names[i]);
		externals[n++].fd = io->job_ends[i];
	}
	for (i = 0; i < nr; i++) {
		int fd = labels_end(io->labels, i, LABELS_THEIRS, &end);

		if (fd < 0)
			continue;
		memcpy(externals[n].name, end.name, sizeof(end.name));
		externals[n++].fd = fd;
	}
	*ret = externals;
	return (int)n;
}
