// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write journal: read, add to it, and tell what happened after a moment; see write_journal.h.
 *
 * The file may be of any content: what does not parse ends it. Only one process adds at a time,
 * under a lock on the file. A file that would grow too long is replaced by a new one; whoever
 * waited for the lock of the old one then opens the new one.
 */
#include "engine/core/write_journal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/kdev.h"
#include "engine/core/write_log.h"

#define JOURNAL_HEAD	"stillpoint write journal 1\n"
#define IDLE_S		60		/* until an addition without a name */
#define JOURNAL_LINE	256		/* bytes of the numbers of two lines, at the most */

/* ---------------------------------------------------------------- reading */

/* Undo journal_encode(), in place; false: no such text. */
static bool journal_decode(char *text)
{
	char *to = text;
	unsigned int code;

	for (const char *from = text; *from; to++) {
		if (*from != '%') {
			*to = *from++;
			continue;
		}
		if (!isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2]) ||
		    sscanf(from + 1, "%2x", &code) != 1 || !code)
			return false;
		*to = (char)code;
		from += 3;
	}
	*to = 0;
	return text[0] == '/';
}

static bool journal_name(struct write_journal *j, char *line)
{
	struct write_log_name *name = &j->names[j->nr];
	int at = 0;

	if (sscanf(line, "N %" SCNu64 " %" SCNx32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %n",
		   &name->seq, &name->flags, &name->ino, &name->bytes, &name->mtime_ns, &at) != 5 ||
	    !at || !journal_decode(line + at))
		return false;
	name->path = line + at;
	j->nr++;
	return true;
}

static bool journal_part(struct write_journal *j, const char *line, unsigned int first)
{
	struct write_journal_part *part = &j->parts[j->nr_parts];
	int at = 0;

	if (sscanf(line, "T %" SCNu64 " %" SCNu64 " %" SCNx32 " %" SCNu64 "%n", &part->log_ns,
		   &part->seq, &part->log_flags, &part->read_s, &at) != 4 || line[at])
		return false;
	part->first = first;
	part->nr = j->nr - first;
	j->nr_parts++;
	return true;
}

/* Parse j->text of @len bytes; what counts ends at j->end. */
static int journal_parse(struct write_journal *j, size_t len)
{
	unsigned int lines = 0, counted = 0;
	char *line = j->text + strlen(JOURNAL_HEAD), *end;

	if (len < strlen(JOURNAL_HEAD) || memcmp(j->text, JOURNAL_HEAD, strlen(JOURNAL_HEAD)))
		return len ? -EBADMSG : 0;
	j->end = strlen(JOURNAL_HEAD);
	for (size_t i = 0; i < len; i++)
		lines += j->text[i] == '\n';
	j->names = calloc(lines, sizeof(*j->names));
	j->parts = calloc(lines, sizeof(*j->parts));
	if (!j->names || !j->parts)
		return -ENOMEM;
	while ((end = memchr(line, '\n', len - (size_t)(line - j->text)))) {
		*end = 0;
		if (*line == 'T' && journal_part(j, line, counted)) {
			counted = j->nr;
			j->end = (uint64_t)(end + 1 - j->text);
		} else if (*line != 'N' || !journal_name(j, line)) {
			break;
		}
		line = end + 1;
	}
	j->nr = counted;
	return 0;
}

static int journal_load_fd(int fd, struct write_journal *ret_journal)
{
	struct write_journal j = { 0 };
	struct stat st;
	size_t have = 0;
	ssize_t n = 1;
	int ret = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	if (st.st_size > WRITE_JOURNAL_MAX)
		return -EFBIG;
	j.text = malloc((size_t)st.st_size + 1);
	if (!j.text)
		return -ENOMEM;
	while (n > 0 && have < (size_t)st.st_size) {
		n = pread(fd, j.text + have, (size_t)st.st_size - have, (off_t)have);
		if (n < 0)
			ret = -errno;
		have += n > 0 ? (size_t)n : 0;
	}
	j.text[have] = 0;
	if (!ret)
		ret = journal_parse(&j, have);
	if (ret)
		write_journal_done(&j);
	else
		*ret_journal = j;
	return ret;
}

int write_journal_load(const char *path, struct write_journal *ret_journal)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : journal_load_fd(fd, ret_journal);
}

void write_journal_done(struct write_journal *journal)
{
	free(journal->names);
	free(journal->parts);
	free(journal->text);
	*journal = (struct write_journal){ 0 };
}

/* ---------------------------------------------------------------- adding */

static void journal_encode(FILE *file, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c <= ' ' || c == '%' || c >= 0x7f)
			fprintf(file, "%%%02x", c);
		else
			putc(c, file);
	}
}

static bool journal_is_own(const char *const *own, const char *path)
{
	for (; *own; own++) {
		size_t len = strlen(*own);

		if (!strncmp(path, *own, len) && path[len] == '/')
			return true;
	}
	return false;
}

/* Has the namespace done something to the file, besides what a restart told? */
static bool journal_is_news(const struct write_log_name *name)
{
	return !(name->flags & CKPT_WRITE_TOLD) || name->flags & CKPT_WRITE_IN_PLACE;
}

/*
 * The text of an addition, malloc'ed; NULL: no memory. No more names than fit @max bytes: if some
 * are missing, the addition says so, and *@ret_cut is set.
 */
static char *journal_text(const struct write_log *log, const char *const *own, bool head,
			  long max, size_t *ret_len, bool *ret_cut)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, ret_len);
	uint32_t flags = log->flags | (log->unplaced ? CKPT_WRITES_OVERFLOW : 0);

	if (!file)
		return NULL;
	*ret_cut = false;
	if (head)
		fputs(JOURNAL_HEAD, file);
	for (unsigned int i = 0; i < log->nr; i++) {
		const struct write_log_name *name = &log->names[i];

		if (!journal_is_news(name) || journal_is_own(own, name->path))
			continue;
		if (ftell(file) + 3 * (long)strlen(name->path) + JOURNAL_LINE > max) {
			flags |= CKPT_WRITES_OVERFLOW;
			*ret_cut = true;
			break;
		}
		fprintf(file, "N %" PRIu64 " %" PRIx32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
			name->seq, name->flags, name->ino, name->bytes, name->mtime_ns);
		journal_encode(file, name->path);
		putc('\n', file);
	}
	fprintf(file, "T %" PRIu64 " %" PRIu64 " %" PRIx32 " %lld\n", log->since_ns, log->seq,
		flags, (long long)time(NULL));
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

static int journal_write(int fd, const char *text, size_t len, uint64_t at)
{
	if (ftruncate(fd, (off_t)at))
		return -errno;
	while (len) {
		ssize_t n = pwrite(fd, text, len, (off_t)at);

		if (n < 0)
			return -errno;
		text += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return fdatasync(fd) ? -errno : 0;
}

/* Make the name of a new file durable. */
static int journal_sync_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_fd_ int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	return fd < 0 || fsync(fd) ? -errno : 0;
}

/* Open the journal for an addition, alone. */
static int journal_open(const char *path)
{
	struct stat st, now;

	for (;;) {
		_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0 || flock(fd, LOCK_EX) || fstat(fd, &st))
			return -errno;
		/* while we waited, another process may have begun a new file */
		if (!lstat(path, &now) && now.st_ino == st.st_ino && now.st_dev == st.st_dev)
			return take_fd(&fd);
	}
}

/* Set @mark to what @j tells of the open file. */
static int journal_mark(int fd, const struct write_journal *j, struct write_journal_mark *mark)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*mark = (struct write_journal_mark){ .ino = st.st_ino, .end = j->end };
	if (j->nr_parts)
		mark->last = j->parts[j->nr_parts - 1];
	return 0;
}

/* Read the open journal for its mark, unless @mark is that of the journal as it is. */
static int journal_recall(int fd, struct write_journal_mark *mark)
{
	struct write_journal j;
	struct stat st;
	int ret;

	if (fstat(fd, &st))
		return -errno;
	if (mark->end && mark->ino == st.st_ino && mark->end == (uint64_t)st.st_size)
		return 0;
	*mark = (struct write_journal_mark){ 0 };
	ret = journal_load_fd(fd, &j);
	if (ret)
		return ret;
	ret = journal_mark(fd, &j, mark);
	write_journal_done(&j);
	return ret;
}

static struct write_journal_part journal_part_of(const struct write_log *log)
{
	return (struct write_journal_part){
		.log_ns = log->since_ns, .seq = log->seq, .log_flags = log->flags,
		.read_s = (uint64_t)time(NULL),
	};
}

/* Add to the open journal of @mark, which is renewed. -EFBIG: it would be too long. */
static int journal_add(int fd, const char *path, const char *const *own,
		       struct write_journal_mark *mark, const struct write_log *log)
{
	_cleanup_free_ char *text = NULL;
	uint64_t end = mark->end;
	bool cut;
	size_t len;
	int ret;

	text = journal_text(log, own, !end, WRITE_JOURNAL_MAX, &len, &cut);
	if (!text)
		return -ENOMEM;
	if (cut || end + len > WRITE_JOURNAL_MAX)
		return -EFBIG;
	ret = journal_write(fd, text, len, end);
	if (!ret && !end)
		ret = journal_sync_dir(path);
	if (!ret) {
		mark->end += len;
		mark->last = journal_part_of(log);
	}
	return ret;
}

/* Replace the journal, whose lock we have, by one of @log, which was read as a whole. */
static int journal_renew(const char *path, const char *const *own, const struct write_log *log,
			 struct write_journal_mark *mark)
{
	_cleanup_free_ char *text = NULL, *name = NULL;
	_cleanup_fd_ int fd = -1;
	struct stat st;
	size_t len;
	bool cut;
	int ret;

	*mark = (struct write_journal_mark){ 0 };
	text = journal_text(log, own, true, WRITE_JOURNAL_MAX / 2, &len, &cut);
	if (!text || asprintf(&name, "%s" WRITE_JOURNAL_NEW, path) < 0)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	ret = journal_write(fd, text, len, 0);
	if (!ret && (fstat(fd, &st) || rename(name, path)))
		ret = -errno;
	if (ret)
		unlink(name);
	else
		ret = journal_sync_dir(path);
	if (!ret)
		*mark = (struct write_journal_mark){
			.ino = st.st_ino, .end = len, .last = journal_part_of(log),
		};
	return ret;
}

int write_journal_append(const char *path, const char *const *own, const struct write_log *log)
{
	struct write_journal_mark mark = { 0 };
	_cleanup_fd_ int fd = journal_open(path);
	int ret;

	if (fd < 0)
		return fd;
	ret = journal_recall(fd, &mark);
	return ret ? ret : journal_add(fd, path, own, &mark, log);
}

int write_journal_renew(const char *path, const char *const *own, const struct write_log *log)
{
	struct write_journal_mark mark;
	_cleanup_fd_ int fd = journal_open(path);

	return fd < 0 ? fd : journal_renew(path, own, log, &mark);
}

/* The last addition from the log; NULL: none. */
static const struct write_journal_part *journal_last(const struct write_journal *j,
						     uint64_t log_ns)
{
	for (unsigned int i = j->nr_parts; i-- > 0;)
		if (j->parts[i].log_ns == log_ns)
			return &j->parts[i];
	return NULL;
}

/* Read what is new in the log since the journal's last addition, if that was from it. */
static int journal_read_new(struct kdev *dev, pid_t init, const struct write_journal_part *last,
			    struct write_log *ret_log)
{
	int ret = write_log_read(dev, init, last->seq, ret_log);

	if (ret || !last->seq || ret_log->since_ns == last->log_ns)
		return ret;
	write_log_done(ret_log);	/* the addition was of an earlier log */
	return write_log_read(dev, init, 0, ret_log);
}

/* Is there anything to add of the log? */
static bool journal_is_behind(const struct write_journal_part *last, const struct write_log *log)
{
	return last->log_ns != log->since_ns || last->seq != log->seq ||
	       last->log_flags != log->flags || (uint64_t)time(NULL) >= last->read_s + IDLE_S;
}

static int journal_keep(struct kdev *dev, pid_t init, int fd, const char *path,
			const char *const *own, struct write_journal_mark *mark)
{
	struct write_log log;
	int ret = journal_recall(fd, mark);

	if (!ret)
		ret = journal_read_new(dev, init, &mark->last, &log);
	if (!ret) {
		if (journal_is_behind(&mark->last, &log))
			ret = journal_add(fd, path, own, mark, &log);
		write_log_done(&log);
	}
	if (ret != -EFBIG)
		return ret;
	ret = write_log_read(dev, init, 0, &log);
	if (!ret) {
		ret = journal_renew(path, own, &log, mark);
		write_log_done(&log);
	}
	return ret;
}

int write_journal_keep(struct kdev *dev, pid_t init, const char *path, const char *const *own,
		       struct write_journal_mark *mark)
{
	_cleanup_fd_ int fd = journal_open(path);
	int ret;

	if (fd < 0)
		return fd;
	ret = journal_keep(dev, init, fd, path, own, mark);
	if (ret)
		*mark = (struct write_journal_mark){ 0 };
	return ret;
}

/* Take the names out of @log that the journal has of it. */
static void journal_take_out(const struct write_journal *j, struct write_log *log)
{
	const struct write_journal_part *last = journal_last(j, log->since_ns);
	unsigned int nr = 0;

	for (unsigned int i = 0; last && i < log->nr; i++)
		if (log->names[i].seq > last->seq)
			log->names[nr++] = log->names[i];
	if (last)
		log->nr = nr;
}

/* Add what the journal has not of an ended log, which was read as a whole. */
static int journal_keep_ended(const char *path, const char *const *own, struct write_log *log)
{
	struct write_journal_mark mark;
	struct write_journal j;
	_cleanup_fd_ int fd = journal_open(path);
	int ret;

	if (fd < 0)
		return fd;
	ret = journal_load_fd(fd, &j);
	if (ret)
		return ret;
	ret = journal_mark(fd, &j, &mark);
	journal_take_out(&j, log);
	if (!ret)
		ret = journal_add(fd, path, own, &mark, log);
	write_journal_done(&j);
	return ret;
}

/* Begin the journal anew with that log. */
static int journal_renew_ended(struct kdev *dev, uint64_t tag, const char *path,
			       const char *const *own)
{
	struct write_log log;
	int ret = write_log_read_ended(dev, tag, &log);

	if (ret)
		return ret;
	ret = write_journal_renew(path, own, &log);
	write_log_done(&log);
	return ret;
}

int write_journal_keep_ended(struct kdev *dev, uint64_t tag, const char *path,
			     const char *const *own)
{
	struct write_log log;
	int ret = write_log_read_ended(dev, tag, &log);

	while (!ret) {
		ret = journal_keep_ended(path, own, &log);
		write_log_done(&log);
		if (ret == -EFBIG)
			ret = journal_renew_ended(dev, tag, path, own);
		if (!ret)
			ret = write_log_drop_ended(dev, tag);
		if (!ret)
			ret = write_log_read_ended(dev, tag, &log);
	}
	return ret == -ENODATA ? 0 : ret;
}

/* ---------------------------------------------------------------- since */

/* By path; of one path, the first that came. */
static int since_order(const void *a, const void *b)
{
	const struct write_log_name *const *x = a, *const *y = b;
	int order = strcmp((*x)->path, (*y)->path);

	return order ? order : *x < *y ? -1 : *x > *y;
}

/* Is the addition one of the log, or of a later one? @from: the first of the log; or nr_parts. */
static bool since_counts(const struct write_journal *j, unsigned int i, unsigned int from,
			 uint64_t log_ns)
{
	return from < j->nr_parts ? i >= from : j->parts[i].log_ns > log_ns;
}

static void since_note_part(const struct write_journal *j, unsigned int i,
			    struct write_since *since)
{
	const struct write_journal_part *part = &j->parts[i];

	since->lost |= part->log_flags & (CKPT_WRITES_OVERFLOW | CKPT_WRITES_FORGOT);
	if (part->read_s > since->read_s)
		since->read_s = part->read_s;
	if (part == journal_last(j, part->log_ns) && !(part->log_flags & CKPT_WRITES_ENDED)) {
		if (since->ended)
			since->until_s = part->read_s;
		since->ended = false;
	}
}

/* Keep the first name of each path; a file that was written in place at any time was. */
static void since_unite(struct write_log_name **all, unsigned int nr, struct write_since *since)
{
	qsort(all, nr, sizeof(struct write_log_name *), since_order);
	for (unsigned int i = 0; i < nr; i++) {
		if (!i || strcmp(all[i]->path, all[i - 1]->path))
			since->names[since->nr++] = *all[i];
		else
			since->names[since->nr - 1].flags |= all[i]->flags & CKPT_WRITE_IN_PLACE;
	}
}

int write_journal_since(const struct write_journal *journal, uint64_t log_ns, uint64_t seq,
			struct write_since *ret_since)
{
	_cleanup_free_ struct write_log_name **all = calloc(journal->nr + 1, sizeof(*all));
	struct write_since since = { .ended = true };
	unsigned int from = 0, nr = 0;

	since.names = calloc(journal->nr + 1, sizeof(*since.names));
	if (!all || !since.names) {
		free(since.names);
		return -ENOMEM;
	}
	while (from < journal->nr_parts && journal->parts[from].log_ns != log_ns)
		from++;
	since.known = from < journal->nr_parts;
	for (unsigned int i = 0; i < journal->nr_parts; i++) {
		const struct write_journal_part *part = &journal->parts[i];

		if (!since_counts(journal, i, from, log_ns))
			continue;
		since_note_part(journal, i, &since);
		for (unsigned int k = part->first; k < part->first + part->nr; k++)
			if (part->log_ns != log_ns || journal->names[k].seq > seq)
				all[nr++] = &journal->names[k];
	}
	since_unite(all, nr, &since);
	*ret_since = since;
	return 0;
}

void write_since_done(struct write_since *since)
{
	free(since->names);
	*since = (struct write_since){ 0 };
}
