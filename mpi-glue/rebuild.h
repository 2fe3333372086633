/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A restart: a new lower half, and in it every object the application holds a handle of.
 *
 * Order: load, MPI_Init, error codes, infos, groups, communicators (ascending identity: an
 * order all members agree on, so none waits for one that waits for it), datatypes, operations,
 * files, windows, persistent requests, receives that were posted, in the order they were.
 *
 * What the library could tell was asked by rebuild_ask() before the cut, while it lived.
 */
#ifndef MPI_GLUE_REBUILD_H
#define MPI_GLUE_REBUILD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vobj;

/**
 * rebuild_ask() - of the living lower half: members, topologies, names, keys, views
 * @ret_why: set when something cannot be restored: a call and a reason
 * Return: 0; -ENOTSUP: refuse the checkpoint with @ret_why; -ENOMEM
 */
int rebuild_ask(char *ret_why, size_t size);
/* What rebuild_ask() noted is of no use any more. */
void rebuild_forget(void);

/**
 * rebuild_all() - in the glue thread, all others at safe points or outside
 * @unload: the old lower half is still there
 *
 * Return: 0, negative errno with a sentence in @ret_why; the rank is then lost
 */
int rebuild_all(bool unload, const char *environment, char *ret_why, size_t size);

/* Parts of the above, each in a file of its own. */
int rebuild_ask_comms(char *ret_why, size_t size);
void rebuild_forget_comms(void);
int rebuild_ask_dtypes(char *ret_why, size_t size);
void rebuild_forget_dtypes(void);
int rebuild_ask_files(char *ret_why, size_t size);
int rebuild_files(char *ret_why, size_t size);
int rebuild_ask_wins(char *ret_why, size_t size);
int rebuild_wins(char *ret_why, size_t size);
void rebuild_forget_wins(void);
/* Keys and values of an info below: free() it; also when not all could be asked. Negative errno. */
int rebuild_ask_info(MPI_Info real, void **ret_saved);
/* Returns a code of MPI. */
int rebuild_info(const void *saved, MPI_Info *ret_info);
int rebuild_group(const int32_t *world_ranks, int n, MPI_Group *ret_group);
void rebuild_dtypes_done(void);
/*
 * A type that the application has freed, though a persistent request of ours still needs it:
 * made again for a moment, or what has stayed. Of others nothing is done. Returns a code of
 * MPI.
 */
int dtype_revive(struct vobj *dtype);
void dtype_bury(struct vobj *dtype);
/*
 * It could not be made again, and something will name it: what is below stays until that is
 * gone.
 */
bool dtype_stays(const struct vobj *dtype);
int rebuild_comms(char *ret_why, size_t size);
int rebuild_dtypes(char *ret_why, size_t size);
int rebuild_errors(char *ret_why, size_t size);	/* classes and codes of the program */
int rebuild_requests(char *ret_why, size_t size);

#endif
