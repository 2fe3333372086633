/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write journal of a job: the names of its write logs (write_log.h), kept on disk beyond the
 * ends of the logs, of the job and of the node.
 *
 * A text file, which is only appended to, and which is begun anew when it would be longer than
 * WRITE_JOURNAL_MAX: with the whole log that is being added, which still has all names of its run.
 * Other runs are not known then. Each addition is a number of lines
 *
 *	N SEQ FLAGS INO BYTES MTIME_NS PATH	a name; PATH with %XX for what is no text
 *	T LOG_NS SEQ LOG_FLAGS SECONDS		the names before are of this log, read then
 *
 * and counts only with its last line, T, which is written and synced with the rest. Whatever is
 * behind the last T, or no such line, is of an addition that a power cut took: it is cut off by
 * the next addition. LOG_NS is when the log began, and names it.
 */
#ifndef STILLPOINT_WRITE_JOURNAL_H
#define STILLPOINT_WRITE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WRITE_JOURNAL_MAX	(16 << 20)	/* bytes */
#define WRITE_JOURNAL_NEW	".new"		/* behind the name, while it is begun anew */

struct kdev;
struct write_log;
struct write_log_name;

/* One addition. */
struct write_journal_part {
	uint64_t log_ns;
	uint64_t seq;		/* the last number that the log had given */
	uint32_t log_flags;	/* CKPT_WRITES_* */
	uint64_t read_s;	/* seconds of CLOCK_REALTIME */
	unsigned int first, nr;	/* of names */
};

/*
 * A mark of a journal spares the process that remembers it to read the file before the next
 * addition: the file's inode and length, and the last addition. Zero: the file is read.
 */
struct write_journal_mark {
	uint64_t ino, end;
	struct write_journal_part last;
};

struct write_journal {
	struct write_journal_part *parts;	/* in the order in which they were added */
	unsigned int nr_parts;
	struct write_log_name *names;
	unsigned int nr;
	char *text;		/* memory of the paths */
	uint64_t end;		/* bytes of the file that count */
};

/*
 * Read the journal. -ENOENT; -EBADMSG: this is no journal; -EFBIG; another negative errno. Call
 * write_journal_done() after success only.
 */
int write_journal_load(const char *path, struct write_journal *ret_journal);
void write_journal_done(struct write_journal *journal);

/**
 * write_journal_append() - add the names of @log, durably
 * @own: directories, ended by NULL: names below them are of files that the init of the namespace
 *	writes for itself
 *
 * Not added are those, and names that a restart told the log. The file is made if there is none;
 * its directory is not.
 *
 * Return: 0 or negative errno; then nothing that counts was added. -EFBIG: the journal would be
 * too long
 */
int write_journal_append(const char *path, const char *const *own, const struct write_log *log);

/*
 * write_journal_renew() - begin the journal anew with @log, which was read as a whole
 *
 * Names that do not fit into half of WRITE_JOURNAL_MAX are left out, and the log counts as one that
 * was full. 0 or negative errno; then the journal is as it was.
 */
int write_journal_renew(const char *path, const char *const *own, const struct write_log *log);

/*
 * write_journal_keep() - add what is new in the log of the running PID namespace of @init
 *
 * Adds nothing if nothing is new, but once a minute: so the journal tells until when it is good.
 * Begins the journal anew if it would be too long. @mark is that of the last call, or zero, and is
 * renewed; also zero after an error.
 * 0; -ENODATA, -ESRCH: there is no log, or the namespace has ended; negative errno.
 */
int write_journal_keep(struct kdev *dev, pid_t init, const char *path, const char *const *own,
		       struct write_journal_mark *mark);
/* The same for all logs with that tag whose namespaces have ended; the module may forget them. */
int write_journal_keep_ended(struct kdev *dev, uint64_t tag, const char *path,
			     const char *const *own);

/**
 * struct write_since - names that processes changed after some moment
 * @names: each once, as it first was changed after the moment; by path
 * @known: the moment is one of a log in the journal
 * @lost: names are missing, as a log was full
 * @ended: all logs were read to their end; else the earliest that was not, until @until_s
 * @read_s: when a log was last read; 0: never
 */
struct write_since {
	struct write_log_name *names;
	unsigned int nr;
	bool known, lost, ended;
	uint64_t until_s, read_s;
};

/*
 * Find the names that were changed after the entry @seq of the log that began at @log_ns, in this
 * and all later logs. The paths stay the journal's. -ENOMEM.
 */
int write_journal_since(const struct write_journal *journal, uint64_t log_ns, uint64_t seq,
			struct write_since *ret_since);
void write_since_done(struct write_since *since);

#endif /* STILLPOINT_WRITE_JOURNAL_H */
