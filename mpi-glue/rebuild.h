/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A restart in the rank: load a new lower half, and make in it every object of which the
 * application holds a handle.
 *
 * Order: load, MPI_Init, error codes, infos, groups, communicators (ascending identity: an
 * order all members agree on, so no two members wait for each other), datatypes, operations,
 * files, windows, persistent requests, posted receives in the order they were posted.
 *
 * rebuild_ask() asks the old library before the cut, while it lives, for everything it can tell.
 */
#ifndef MPI_GLUE_REBUILD_H
#define MPI_GLUE_REBUILD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vobj;

/**
 * rebuild_ask() - ask the living lower half for members, topologies, names, keys, views
 * @ret_why: set when something cannot be restored: a call and a reason
 * Return: 0; -ENOTSUP: refuse the checkpoint with @ret_why; -ENOMEM
 */
int rebuild_ask(char *ret_why, size_t size);
/* Free everything that rebuild_ask() noted. */
void rebuild_forget(void);

/**
 * rebuild_all() - make the lower half and its objects again
 * @unload: the old lower half is still there
 * @environment: for the new lower half: struct status_order
 *
 * For the glue thread, while all other threads are at safe points or outside.
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
/*
 * Note keys and values of the real info @real in *@ret_saved, which the caller frees with free(),
 * also after an error. Returns 0 or a negative errno.
 */
int rebuild_ask_info(MPI_Info real, void **ret_saved);
/* Make an info, or a group, in the lower half. Both return a code of MPI. */
int rebuild_info(const void *saved, MPI_Info *ret_info);
int rebuild_group(const int32_t *world_ranks, int n, MPI_Group *ret_group);
void rebuild_dtypes_done(void);
/*
 * Give a type that the application has freed, but a persistent request still needs, a real
 * handle for a moment: a type made again, or the one that has stayed (dtype_stays()).
 * dtype_bury() takes it away again. Both do nothing to types that were not freed. Returns a code
 * of MPI.
 */
int dtype_revive(struct vobj *dtype);
void dtype_bury(struct vobj *dtype);
/*
 * True if the type, which the application is freeing, could not be made again and is named by
 * another object: the real type then stays until no object names it.
 */
bool dtype_stays(const struct vobj *dtype);
int rebuild_comms(char *ret_why, size_t size);
int rebuild_dtypes(char *ret_why, size_t size);
int rebuild_errors(char *ret_why, size_t size);	/* classes and codes of the program */
int rebuild_requests(char *ret_why, size_t size);

#endif
