/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descriptors of the application's objects, beyond their handles: facts from which the upper half
 * answers, and facts that a restart needs to make the object again and that the lower half cannot
 * be asked for.
 *
 * At a checkpoint the lower half lives, so it is asked then for everything it can tell by itself:
 * members of a group or communicator, topology, names, the keys of an info, a file's view and
 * position. These are not kept in step here. Kept here is the rest: how an object was made, from
 * which others, its constructor's arguments, the application's functions and attributes.
 */
#ifndef MPI_GLUE_RECORD_H
#define MPI_GLUE_RECORD_H

#include <mpi.h>
#include <stddef.h>

#include "mpi-glue/vhandle.h"
#include "mpi-glue/vrequest.h"

#define OP_STUBS	8192	/* user operations alive at once; callback_stubs.S */

/* One attribute of an object, newest first; attr.c says who may touch it when. */
struct vattr {
	struct vattr *next;
	struct vobj *keyval;
	uint64_t value;		/* as given: pointer, or integer from Fortran */
	int language;		/* enum attr_language */
	int refs;		/* the list's, and one for each run of its copy function */
	const void *deleter;	/* the thread that runs its delete function */
};

enum attr_language { ATTR_C, ATTR_FINT, ATTR_AINT };

/* Number of collectives begun on the communicators that share an identity; collective.h. */
struct counter {
	uint64_t id;		/* 0: not counted */
	uint64_t seq;
	uint32_t slot;		/* index in comms[] of the status page */
	uint32_t members;
	uint64_t *shown;	/* a copy of @seq in the status page; NULL: none */
};

/*
 * Communicators 0 and 1 are WORLD and SELF.
 * @world: world ranks of the peers that messages go to and come from, so for an
 *         intercommunicator the remote group; NULL: the same as in WORLD. -1: not in this job.
 * @local: world ranks of an intercommunicator's local group
 */
struct vcomm {
	struct vobj obj;
	struct counter coll;
	int32_t *world, *local;
	int rank, size, remote_size;
	bool inter;
	uint16_t made_by;	/* CALL_MPI_Comm_split, ... */
	uint64_t files, wins;	/* how many files and windows were made on it */
	struct vgroup *group[2];	/* local, remote; the group may be gone: group.c */
	struct vattr *attrs;
	MPI_Errhandler errh;
	uintptr_t left;		/* real handle after the application freed it: orphan.c */
	bool leaving;		/* no call of the application counts on it any more */
	void *saved;		/* like every @saved: rebuild.c's, between cut and go */
};

/* The real handle, as long as there is one: also after the application freed @comm. */
static inline uintptr_t comm_below(const struct vcomm *comm)
{
	return comm->obj.freed ? comm->left : comm->obj.real;
}

struct vgroup {
	struct vobj obj;
	void *saved;
	const struct vcomm *of;	/* for comparison only: the communicator that hands it out */
};

/*
 * A datatype, with its constructor's arguments as MPI_Type_get_contents would return them, or,
 * with large counts, MPI_Type_get_contents_c.
 */
struct vdtype {
	struct vobj obj;
	struct vattr *attrs;
	uint16_t made_by;
	bool made_again;	/* by the restart under way: rebuild_type.c */
	bool predefined;	/* a predefined type that has attributes, or had: attr.c */
	bool sendable;		/* the library has accepted it for a send: it is committed */
	int combiner;
	int nr_dtypes;
	int *ints;
	MPI_Aint *addresses;
	MPI_Count *counts;	/* NULL: made by a constructor without large counts */
	MPI_Datatype *dtypes;	/* virtual handles; those with a descriptor are referenced */
	uintptr_t left; /* real handle after the application freed the type: a restart could not
			   make it again, and something names it */
	char *name;		/* between cut and go; predefined types have none here */
};

struct vop {
	struct vobj obj;
	void *function;
	uint64_t room[8];	/* Open MPI's Fortran library sets a flag in it; abi_ompi.c */
	bool commute;
	void *proxy;		/* C++: calls the function, or is called by it (Open MPI) */
	bool large;		/* takes MPI_Count */
	bool fortran;
};

struct verrh {
	struct vobj obj;
	void *function;
	void *proxy;		/* C++: calls the function */
	uint16_t of;		/* VK_COMM, VK_FILE, VK_WIN */
	bool fortran;		/* handles go as MPI_Fint */
};

struct vinfo {
	struct vobj obj;
	void *saved;
};

struct vfile {
	struct vobj obj;
	struct vobj *comm;
	char *name;		/* absolute, as opened from @given on */
	size_t given;
	int amode;
	MPI_Errhandler errh;
	uint64_t order;		/* among its communicator's files */
	/* the view, if @datarep is set */
	MPI_Offset disp;
	MPI_Datatype etype, filetype;
	char *datarep;
	/* asked from the lower half at a cut */
	MPI_Offset position, shared_at;	/* -1: pointer not used by this rank */
	int atomic;
	int splits;		/* split collectives under way */
	bool shared;		/* its shared pointer was used */
	/* file_above.h: descriptor + 1, 0: none; which file it leads to */
	int above;
	uint64_t above_dev, above_ino;
};

/*
 * @words: for the epochs: win.h; in memory of the lower half, or @words_kept
 * @words_kept: the words at the last cut, on the heap
 * @words_beside: by rank, the words of all members, if this process can reach them; or NULL
 * @words_below: real handle of the window behind which the words are
 * @target: by rank, enum win_target
 * @locked: how many targets are locked
 * @all: MPI_Win_lock_all is counted
 * @to, @from: ranks of the open access and exposure epochs (post-start); NULL: none
 */
struct vwin {
	struct vobj obj;
	struct vobj *comm;
	struct vattr *attrs;
	MPI_Errhandler errh;
	uint64_t order;		/* among its communicator's windows */
	void *base;
	MPI_Aint size;
	int disp_unit, flavor, model;
	int rank, nr;		/* this process among the members, and how many there are */
	bool owned;		/* @base is to be freed with the window */
	bool without_locks;	/* the program said it will not lock */
	bool all;
	int access;		/* enum win_access */
	int locked, nr_to, nr_from;
	int *to, *from;
	uint8_t *target;
	struct win_words *words, *words_kept;
	void **words_beside;
	uintptr_t words_below;
	struct win_part *parts;		/* shared: by rank */
	void *map;
	size_t map_size;
	struct win_region *regions;	/* dynamic */
	void *saved;			/* between cut and go */
	char *name;
};

struct vkeyval {
	struct vobj obj;
	void *copy, *delete;
	void *extra;
	uint16_t of;		/* VK_COMM, VK_DTYPE, VK_WIN */
	uint16_t language;	/* of the callbacks; see attr.c */
	/* MPICH's Fortran library: functions that call the user's through a C prototype */
	void *copy_proxy, *delete_proxy;
};

struct kept;

struct vmsg {
	struct vobj obj;
	struct vobj *comm;
	struct kept *kept;	/* the drain took the message: the lower half has none */
	MPI_Status status;	/* of the probe */
};

/* Free the memory that the descriptor of a slot owns, as the slot is given back. */
void record_drop(struct vobj *obj);
void record_drop_dtype(struct vdtype *dtype);

void file_forget_view(struct vfile *desc);
/* @name without a leading kind of file system ("ufs:"). */
const char *file_path(const char *name);
/* The error class, code or string @code, added by @call, was deleted. */
void errors_forget(unsigned int call, int code);

/* Make the request of a dup under way; the communicator @desc is usable when it is complete. */
MPI_Request comm_request(MPI_Request real, MPI_Comm comm, struct vcomm *desc);
/* A communicator, datatype, ... was made by @call; fill its descriptor. */
void record_comm(MPI_Comm comm, MPI_Comm parent, unsigned int call);
void record_dtype(MPI_Datatype dtype, unsigned int call, int nr, const MPI_Datatype from[]);
/* Turn the real handles of @inner, which @outer's contents named, into the application's. */
void record_contents(MPI_Datatype outer, MPI_Count n, MPI_Datatype inner[], unsigned int call);
/* Return the handle by which the application knows a parametrised type of Fortran. */
MPI_Datatype record_f90(MPI_Datatype real, unsigned int call);

#endif
