/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorded inode is looked for before its name is believed.
 *
 * A program that writes to a temporary name and renames, or a log that is rotated, leaves
 * another file, or none, under the recorded name. A description that is opened on that other
 * file would write into it at an old position. So each regular file that is tracked is looked
 * for by its number and mark: under its recorded name, in its directory and near it, and by
 * its handle. Programs and libraries go by their build, not by their inode.
 *
 * Between engine/files/ only. reopen_find.c finds, reopen_names.c gives recorded names back,
 * reopen_other.c decides where the inode was not found.
 */
#ifndef STILLPOINT_REOPEN_FIND_H
#define STILLPOINT_REOPEN_FIND_H

#include "engine/files/reopen.h"

struct stat;

enum reopen_at {
	REOPEN_AT_NAME,		/* the recorded inode has its recorded name */
	REOPEN_AT_OTHER_NAME,	/* it has another name: path */
	REOPEN_AT_OTHER_FILE,	/* it was not found, and another file has its name */
	REOPEN_AT_NOWHERE,	/* it was not found, and nothing has its name */
};

/**
 * struct reopen_found - where the recorded inode of a file is
 * @looked: the rest is valid
 * @at: enum reopen_at
 * @fd: O_PATH: the recorded inode; -1: not found
 * @dir, @path: with OTHER_NAME: the directory of its present name (O_PATH), and that name
 * @exists: not found, but a handle leads to it: it lies elsewhere on its file system
 * @back: its recorded name will be given back (reopen_names.c)
 * @link: … as a further name, since it has lost one
 * @stuck: why the name cannot be given back, which stands in the way; NULL: nothing does
 * @anew: it will be made again, empty (reopen_other.c)
 */
struct reopen_found {
	bool looked;
	enum reopen_at at;
	int fd;
	int dir;
	char *path;
	bool exists;
	bool back;
	bool link;
	const char *stuck;
	bool anew;
};

/**
 * reopen_find() - look for the recorded inode of @file, once
 *
 * Files of one inode that were opened by one name share the answer. Changes nothing.
 *
 * Return: the answer, the reopen's; NULL: the file is not one that is looked for.
 */
struct reopen_found *reopen_find(struct reopen *r, const struct state_file *file);
void reopen_find_done(struct reopen *r);

/* Open @file as reopen_find() found it: that very inode, or what else may be used. */
int reopen_find_open(struct reopen *r, const struct state_file *file, int flags);

/* Can some file of the inode write? @ret_appends: each that can does it at the end only. */
bool reopen_writes(const struct reopen *r, const struct state_file *file, bool *ret_appends);

/*
 * reopen_names.c: decide what becomes of the recorded name of an inode that has another one
 * (@found->back, link, stuck), and tell the caller of the restore.
 */
void reopen_names_plan(struct reopen *r, const struct state_file *file,
		       struct reopen_found *found);
/* Give all such names back. A file that has the name is kept beside it. */
int reopen_names_back(struct reopen *r);
void reopen_names_undo(struct reopen *r);
/* Remove the name that the last step gave after the commit: it is one of a file of the tree. */
void reopen_names_drop_last(struct reopen *r);
/* After the commit: remove such names, and with --files carry all newer files moved aside. */
void reopen_names_settle(const struct reopen *r);
/* May the owner move the entry @st of the directory, or with NULL add one? */
bool reopen_names_may(int dir, const struct stat *st);
/*
 * Rename @from_name to @to_name, never over another one; without @from_name give the open file
 * @inode that name.  reopen_names_undo() takes it back.
 */
int reopen_names_do(struct reopen *r, int from, const char *from_name, int to,
		    const char *to_name, int inode);
/*
 * Move an entry beside @name in @to, under a free name of ours with the word @what, which is
 * written to @ret_name of NAME_MAX + 1 bytes.
 */
int reopen_names_aside(struct reopen *r, int from, const char *from_name, int to,
		       const char *name, const char *what, char *ret_name);
void reopen_names_done(struct reopen *r);

/**
 * reopen_other_fits() - may a file that is written be another inode than the recorded one?
 * @same: it has the recorded end at the recorded place
 * @ret_cut: it is to be cut to the recorded length
 * @ret_why: why not
 *
 * At an old position nothing is ever written into a file that is not known to have the
 * recorded content before it, whatever the caller accepts.
 */
bool reopen_other_fits(const struct reopen *r, const struct state_file *file,
		       const struct reopen_found *found, const struct stat *st, bool same,
		       bool *ret_cut, const char **ret_why);
/* Plan to make a missing file anew, empty, if that is as good as the one that was: @found->anew. */
bool reopen_other_anew(const struct reopen *r, const struct state_file *file,
		       struct reopen_found *found);
int reopen_other_make(struct reopen *r, const struct state_file *file, int flags);
/* Has the caller left the file out, by mapping it to /dev/null? */
bool reopen_other_left_out(const struct state_file *file);
/* Why the file cannot be left out; NULL: it can. */
const char *reopen_other_needed(const struct reopen *r, const struct state_file *file);

/* Is the file's content of before the dump, by its time? */
bool reopen_is_old(const struct reopen *r, const struct stat *st);
/* Is the image one of several nodes' of a job, which put files back at the same time? */
bool reopen_is_of_nodes(const struct reopen *r);

struct write_log_name;

/* Another node does nothing, puts the file back, takes it away; may do one, if a dry run asks. */
enum reopen_given {
	REOPEN_GIVEN_NOT, REOPEN_GIVEN_BACK, REOPEN_GIVEN_AWAY, REOPEN_GIVEN_PERHAPS,
};

/* reopen_given.c */
enum reopen_given reopen_given(const struct reopen *r, const struct write_log_name *name);
/* In a dry run that asks: tell which files the image has, and of a file that the tree made. */
void reopen_given_keeps(const struct reopen *r);
void reopen_given_made(const struct reopen *r, const struct write_log_name *name);
/* reopen_since.c: return when a file that is put back is newer than the run by any clock */
void reopen_since_wait(const struct reopen *r);
/* reopen_since.c: all nodes have put files back: are those that others see to what they were? */
int reopen_given_check(struct reopen *r);

/* reopen_carried.c: empty the tree's /dev/shm, before a rollback opens its files. */
int reopen_shm_clear(struct reopen *r);

#endif /* STILLPOINT_REOPEN_FIND_H */
