// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write journal: read, add to it, and tell what happened after a moment; see write_journal.h.
 *
 * The file may be of any content: what does not parse ends it. Only one process adds at a time,
 * under a lock on the file.
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
#define JOURNAL_MAX	(1LL << 30)	/* bytes; a longer file is none of ours */
#define IDLE_S		60		/* until an addition without a name */

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
	if (!S_ISREG(st.st_mode) || st.st_size > JOURNAL_MAX)
		return -EBADMSG;
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

/* The text of an addition, malloc'ed; NULL: no memory. */
static char *journal_text(const struct write_log *log, const char *const *own, bool head,
			  size_t *ret_len)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, ret_len);

	if (!file)
		return NULL;
	if (head)
		fputs(JOURNAL_HEAD, file);
	for (unsigned int i = 0; i < log->nr; i++) {
		const struct write_log_name *name = &log->names[i];

		if (name->flags & CKPT_WRITE_TOLD || journal_is_own(own, name->path))
			continue;
		fprintf(file, "N %" PRIu64 " %" PRIx32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
			name->seq, name->flags, name->ino, name->bytes, name->mtime_ns);
		journal_encode(file, name->path);
		putc('\n', file);
	}
	fprintf(file, "T %" PRIu64 " %" PRIu64 " %" PRIx32 " %lld\n", log->since_ns, log->seq,
		log->flags | (log->unplaced ? CKPT_WRITES_OVERFLOW : 0), (long long)time(NULL));
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

/* Open the journal for an addition, alone, and read it. */
static int journal_open(const char *path, struct write_journal *ret_journal)
{
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int ret;

	if (fd < 0 || flock(fd, LOCK_EX))
		return -errno;
	ret = journal_load_fd(fd, ret_journal);
	return ret ? ret : take_fd(&fd);
}

/* Add to the open journal, which ends at @end. */
static int journal_add(int fd, const char *path, const char *const *own, uint64_t end,
		       const struct write_log *log)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int ret;

	text = journal_text(log, own, !end, &len);
	if (!text)
		return -ENOMEM;
	ret = journal_write(fd, text, len, end);
	return ret || end ? ret : journal_sync_dir(path);
}

int write_journal_append(const char *path, const char *const *own, const struct write_log *log)
{
	struct write_journal j;
	_cleanup_fd_ int fd = journal_open(path, &j);
	uint64_t end;

	if (fd < 0)
		return fd;
	end = j.end;
	write_journal_done(&j);
	return journal_add(fd, path, own, end, log);
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

/* Read what is new in the log since the journal's last addition from it. */
static int journal_read_new(struct kdev *dev, pid_t init, const struct write_journal *j,
			    struct write_log *ret_log)
{
	uint64_t after = j->nr_parts ? j->parts[j->nr_parts - 1].seq : 0;
	int ret = write_log_read(dev, init, after, ret_log);

	if (ret || !after || ret_log->since_ns == j->parts[j->nr_parts - 1].log_ns)
		return ret;
	write_log_done(ret_log);	/* the addition was of an earlier log */
	return write_log_read(dev, init, 0, ret_log);
}

int write_journal_keep(struct kdev *dev, pid_t init, const char *path, const char *const *own)
{
	const struct write_journal_part *last;
	struct write_journal j;
	struct write_log log;
	_cleanup_fd_ int fd = journal_open(path, &j);
	int ret;

	if (fd < 0)
		return fd;
	ret = journal_read_new(dev, init, &j, &log);
	if (!ret) {
		last = journal_last(&j, log.since_ns);
		if (!last || last->seq != log.seq || last->log_flags != log.flags ||
		    (uint64_t)time(NULL) >= last->read_s + IDLE_S)
			ret = journal_add(fd, path, own, j.end, &log);
		write_log_done(&log);
	}
	write_journal_done(&j);
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

int write_journal_keep_ended(struct kdev *dev, uint64_t tag, const char *path,
			     const char *const *own)
{
	struct write_log log;
	int ret = write_log_read_ended(dev, tag, &log);

	while (!ret) {
		struct write_journal j;
		_cleanup_fd_ int fd = journal_open(path, &j);

		ret = fd < 0 ? fd : 0;
		if (!ret) {
			journal_take_out(&j, &log);
			ret = journal_add(fd, path, own, j.end, &log);
			write_journal_done(&j);
		}
		write_log_done(&log);
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
	if (part == journal_last(j, part->log_ns) && !(part->log_flags & CKPT_WRITES_ENDED)) {
		if (since->ended)
			since->until_s = part->read_s;
		since->ended = false;
	}
}

/* Keep the first name of each path. */
static void since_unite(struct write_log_name **all, unsigned int nr, struct write_since *since)
{
	qsort(all, nr, sizeof(struct write_log_name *), since_order);
	for (unsigned int i = 0; i < nr; i++)
		if (!i || strcmp(all[i]->path, all[i - 1]->path))
			since->names[since->nr++] = *all[i];
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
