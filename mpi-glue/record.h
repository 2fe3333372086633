/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of each object beyond its handle: what the upper half answers from, and
 * what a restart needs to make the object again that the lower half cannot be asked for.
 *
 * At a checkpoint the lower half lives, so what it can tell by itself is asked then, not kept in
 * step here: members of a group or communicator, topology, names, the keys of an info, a
 * file's view and position. Kept here is the rest: how an object came to be, from which others,
 * its constructor's arguments, the application's functions and attributes.
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
	int refs;		/* the list's, and of those that have its copy function run */
	const void *deleter;	/* the thread that has its delete function run */
};

enum attr_language { ATTR_C, ATTR_FINT, ATTR_AINT };

/* Collectives begun by those that share an identity; collective.h. */
struct counter {
	uint64_t id;		/* 0: not counted */
	uint64_t seq;
	uint32_t slot;		/* in the status page */
	uint32_t members;
};

/*
 * Communicators 0 and 1 are WORLD and SELF.
 * @world: world ranks of those that messages go to and come from, so of an
 *         intercommunicator the remote group; NULL: the same as in WORLD. -1: none of this job.
 * @local: of an intercommunicator, the local group
 */
struct vcomm {
	struct vobj obj;
	struct counter coll;
	int32_t *world, *local;
	int rank, size, remote_size;
	bool inter;
	uint16_t made_by;	/* CALL_MPI_Comm_split, ... */
	uint64_t files, wins;	/* how many were opened, or made, on it */
	struct vgroup *group[2];	/* local, remote; it may be gone: group.c */
	struct vattr *attrs;
	MPI_Errhandler errh;
	uintptr_t left;		/* below, after the application freed it: orphan.c */
	bool leaving;		/* nothing of the application's will count on it any more */
	void *saved;		/* this and others of the name: rebuild.c, between cut and go */
};

/* The lower half's, as long as it has one: also when the application has freed it. */
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
 * Arguments as MPI_Type_get_contents would tell them, or, with large counts,
 * MPI_Type_get_contents_c.
 */
struct vdtype {
	struct vobj obj;
	struct vattr *attrs;
	uint16_t made_by;
	bool made_again;	/* rebuild_type.c */
	bool predefined;	/* it has attributes, or had: attr.c */
	bool sendable;		/* the library has taken it for a send: it is committed */
	int combiner;
	int nr_dtypes;
	int *ints;
	MPI_Aint *addresses;
	MPI_Count *counts;	/* NULL: made by a constructor without large ones */
	MPI_Datatype *dtypes;	/* virtual; ours among them are referenced */
	uintptr_t left; /* below, after the application freed it: it cannot be made again, and
			   something names it */
	char *name;		/* between cut and go; not of predefined ones */
};

struct vop {
	struct vobj obj;
	void *function;
	uint64_t room[8];	/* Open MPI's Fortran library sets a flag in here; abi_ompi.c */
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
	uint64_t order;		/* among its communicator's */
	/* the view, if @datarep */
	MPI_Offset disp;
	MPI_Datatype etype, filetype;
	char *datarep;
	/* asked at a cut */
	MPI_Offset position, shared_at;	/* -1: not used here */
	int atomic;
	int splits;		/* split collectives under way */
	bool shared;		/* its shared pointer was used */
};

/*
 * @words_below: a window on @words, for its epochs: win.h
 * @target: by rank, enum win_target; @locked: how many of them are locked; @all:
 * 	MPI_Win_lock_all is counted
 * @to, @from: of the access and the exposure that are open; NULL: none
 */
struct vwin {
	struct vobj obj;
	struct vobj *comm;
	struct vattr *attrs;
	MPI_Errhandler errh;
	uint64_t order;		/* among its communicator's */
	void *base;
	MPI_Aint size;
	int disp_unit, flavor, model;
	int rank, nr;		/* of its members */
	bool owned;		/* base is ours to free */
	bool without_locks;	/* the program said it will not lock */
	bool all;
	int access;		/* enum win_access */
	int locked, nr_to, nr_from;
	int *to, *from;
	uint8_t *target;
	struct win_words *words;
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
	struct kept *kept;	/* the drain took it: nothing is below */
	MPI_Status status;	/* of the probe */
};

/* Free what hangs off a slot that is given back. */
void record_drop(struct vobj *obj);
void record_drop_dtype(struct vdtype *dtype);

void file_forget_view(struct vfile *desc);
/* A name without the kind of its file system ("ufs:"), if it begins with that. */
const char *file_path(const char *name);
/* What @call added of that number was deleted. */
void errors_forget(unsigned int call, int code);

/* A communicator, datatype, ... was made by @call; fill its descriptor. */
/* Of a dup that is under way: @desc is there when it is complete. */
MPI_Request comm_request(MPI_Request real, MPI_Comm comm, struct vcomm *desc);
void record_comm(MPI_Comm comm, MPI_Comm parent, unsigned int call);
void record_dtype(MPI_Datatype dtype, unsigned int call, int nr, const MPI_Datatype from[]);
/* Inner types that @outer told: of real handles they become the application's. */
void record_contents(MPI_Datatype outer, MPI_Count n, MPI_Datatype inner[], unsigned int call);
/* A parametrised type of Fortran: what the application knows it by. */
MPI_Datatype record_f90(MPI_Datatype real, unsigned int call);

#endif
