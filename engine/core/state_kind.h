/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kind of state: all that the engine must know of one kind of record or descriptor.
 *
 * The units are in engine/kinds/, one for each kind, and the table in engine/kinds/kinds.c.  The
 * rooms of the engine walk the table where they have work for a kind: the parser, the policy of a
 * dump, the reduction to some ranks, the opening of files, the records for the kernel.  A function
 * that a kind does not need is NULL.
 *
 * Kinds are asked in the order of the table, in each step: a kind that needs the files of another
 * one stands below it.
 */
#ifndef STILLPOINT_STATE_KIND_H
#define STILLPOINT_STATE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/state.h"

struct dump;			/* engine/dump/dump_run.h */
struct reopen;			/* engine/files/reopen.h */
struct restore_records;		/* engine/restore/restore_records.h */
struct state_parser;		/* engine/core/state_parse.h */

#define STATE_KIND_RECORDS	6
#define STATE_KIND_FILES	4

/* The owner of a record. When ranks are restored on several nodes, it goes where its owner goes. */
enum state_kind_owner {
	STATE_OWNER_ALL,	/* nobody: every node gets the record */
	STATE_OWNER_PROC,	/* the process whose PROC record precedes it */
	STATE_OWNER_FILE,	/* the file that struct ckpt_rec_of_file names */
	STATE_OWNER_OBJECT,	/* an object of the kind: struct state_kind.marks */
};

struct state_kind_record {
	uint16_t type;		/* enum ckpt_rec_type or of engine_records.h; 0: end of the list */
	uint16_t min_len;	/* a shorter record is refused before the kind sees it */
	enum state_kind_owner owner;
	/*
	 * Check the record, and append it to the model; nothing of it has been checked but its
	 * length.  A record of a file is appended by the parser, which has checked the beginning,
	 * and afterwards compares the file's kind with struct state_kind.files: the function only
	 * checks the rest, and may be NULL.
	 * Return: 0, or the value of state_fail()
	 */
	int (*parse)(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
};

/**
 * struct state_kind - a kind of state
 * @name: for texts
 * @records: the records that are this kind's alone; a type of 0 ends the list
 * @newest: the newest version of these records that we know; 0: the first
 * @files: its descriptors: enum ckpt_file_kind; 0 ends the list
 * @file_has_record: each file of the kind has one record of it (struct state_file.own)
 * @one_description: what there is to restore belongs to the description, so that ranks which are
 *	restored on two nodes cannot share it, and inode numbers tell nothing about it
 *
 * @marks: of a record with STATE_OWNER_OBJECT: the "user" word of its object, in which
 *	restore_subset.c has noted whose it is
 *
 * @look: of a dump, in the pause: look at the whole tree, refuse what no restart could make again,
 *	and add records that user space reads
 * @policy: of a dump, in the pause: refuse the file (dump_refuse()) if no restart could make it
 *	again.  A kind without this function is refused.
 * @dump: of a dump, in the pause: add records that user space reads; 0 or -errno with the text in
 *	the dump's error
 *
 * @prepare: of a restore: make what must be there before any file is opened
 * @open: of a restore: make the file once; the descriptor, or -errno with a text (reopen_failed())
 * @connect: of a restore: all files are open and all processes are there, with their numbers, and
 *	none runs: tie files to each other
 * @apply_proc: of a restore: give the kernel what it restores of a process, after its memory map,
 *	its descriptors and PROC
 * @apply: of a restore: the same once, after @connect and all processes
 * @arm: of a restore: the last step before the commit, when all contents are back: whatever the
 *	restore itself would set off
 * @undo: of a restore that failed: take back what @prepare and @open made that outlives us
 * @disarm: of a restore that failed after @arm, or in it: take back what others could see
 *
 * The words of `show` and `diff` come from the list CKPT_RECS_OF_FILES of the uapi headers, as
 * the room image/ stands below the engine.
 */
struct state_kind {
	const char *name;
	struct state_kind_record records[STATE_KIND_RECORDS];
	uint16_t newest;
	uint32_t files[STATE_KIND_FILES];
	bool file_has_record;
	bool one_description;

	uint64_t (*marks)(const struct state *state, const struct ckpt_rec_hdr *hdr);

	void (*look)(struct dump *d);
	void (*policy)(struct dump *d, const struct state_file *file);
	int (*dump)(struct dump *d);

	int (*prepare)(struct reopen *r);
	int (*open)(struct reopen *r, const struct state_file *file);
	int (*connect)(struct reopen *r);
	int (*apply_proc)(struct restore_records *s, const struct state_proc *proc);
	int (*apply)(struct restore_records *s);
	int (*arm)(struct reopen *r);
	void (*disarm)(struct reopen *r);
	void (*undo)(struct reopen *r);
};

/* engine/kinds/kinds.c: all kinds; the last entry is NULL. */
extern const struct state_kind *const state_kinds[];

/* The kind of a file (enum ckpt_file_kind), or NULL. */
const struct state_kind *state_kind_of_file(uint32_t kind);
/* The table's line of a record type (without CKPT_REC_OPTIONAL), or NULL. */
const struct state_kind_record *state_kind_record(uint16_t type);
/* The kind that has records of the type, or NULL. */
const struct state_kind *state_kind_of_record(uint16_t type);

/* Is the file's state that of its description? See struct state_kind. */
static inline bool state_kind_one_description(const struct state_file *file)
{
	const struct state_kind *kind = state_kind_of_file(file->rec->kind);

	return kind && kind->one_description;
}

#endif /* STILLPOINT_STATE_KIND_H */
