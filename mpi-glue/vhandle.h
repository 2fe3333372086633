/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual handles: what the application holds. One table per kind, an array in a
 * reserved mapping that never moves, so "object of handle" is arithmetic and a
 * slot can be read without a lock; a lock is taken only to take or give back a slot
 * and only under MPI_THREAD_MULTIPLE.
 *
 * The first word of a slot is the real handle. A freed slot holds 0 there, which no
 * library takes for a valid handle, so a stale handle gives the library's own error.
 *
 * The ABI decides how a handle looks (abi_mpich.h, abi_ompi.h), and defines for each NAME of
 * VKINDS:
 *
 *   TYPE real_NAME(TYPE virtual)                 the handle to give the lower half
 *   TYPE wrap_NAME(TYPE real)                    a new slot's, for a handle the lower half made
 *   TYPE virt_NAME(const struct vobj *object)    the handle that the application sees
 *   struct vobj *vobj_NAME(TYPE virtual)         NULL: null, predefined, or not of a slot
 */
#ifndef MPI_GLUE_VHANDLE_H
#define MPI_GLUE_VHANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* Numbers of MPICH's handles, bits 26 to 29; a message is a request to MPICH. */
enum vkind {
	VK_COMM = 1, VK_GROUP, VK_DTYPE, VK_FILE, VK_ERRH, VK_OP, VK_INFO, VK_WIN,
	VK_KEYVAL, VK_MSG = 10, VK_REQ = 11, VK_SESSION = 14, VK_NR = 16,
};

/* name, C type, kind */
#define VKINDS(X) \
	X(comm, MPI_Comm, VK_COMM) \
	X(group, MPI_Group, VK_GROUP) \
	X(dtype, MPI_Datatype, VK_DTYPE) \
	X(file, MPI_File, VK_FILE) \
	X(errh, MPI_Errhandler, VK_ERRH) \
	X(op, MPI_Op, VK_OP) \
	X(info, MPI_Info, VK_INFO) \
	X(win, MPI_Win, VK_WIN) \
	X(msg, MPI_Message, VK_MSG) \
	X(req, MPI_Request, VK_REQ)

/* Open MPI: Fortran integers of slots begin here; those of predefined objects are small. */
#define FORTRAN_OURS	0x800000

/**
 * struct vobj - head of every object
 * @real:  handle of the lower half; 0 when free
 * @self:  the descriptor; a predefined object of Open MPI is a data symbol that begins like
 *         this struct, and its @self points to a descriptor elsewhere, or is NULL
 * @index: slot number
 * @refs:  number of references: the application's handle, and other objects that name this one
 * @next_free: for a free slot: the next one, as index + 1
 * @fortran: for a slot in use, with Open MPI: its Fortran integer; the Fortran library reads a
 *         new group's integer from the object itself
 */
struct vobj {
	uintptr_t real;
	struct vobj *self;
	uint32_t index;
	uint32_t refs;
	union {
		uint32_t next_free;
		uint32_t fortran;
	};
	uint16_t kind;
	uint16_t freed;		/* the application's handle is gone */
};

_Static_assert(offsetof(struct vobj, fortran) == 0x18, "grp_f_to_c_index of ompi_group_t");

struct vtable {
	char *base;
	uint32_t stride;
	uint32_t max;
	uint32_t top;		/* slots ever used */
	uint32_t free;		/* list through next_free, of index + 1 */
	uint32_t last;		/* end of that list, kept for operations */
	int lock;
};

/**
 * vhandle_init() - reserve the tables
 * Return: 0, -ENOMEM
 */
int vhandle_init(void);

/**
 * vobj_new() - take a slot: all zero but its head, one reference
 * Return: NULL when the kind's table is full
 */
struct vobj *vobj_new(enum vkind kind, uintptr_t real);

/* Take a further reference; the last put gives the slot back. @obj may be NULL. */
struct vobj *vobj_get(struct vobj *obj);
void vobj_put(struct vobj *obj);

/* The application freed @obj: its real handle is gone, other objects may still name the slot. */
void vobj_release(struct vobj *obj);

/* Return the living object of a real handle; a linear search, for rare use. */
struct vobj *vobj_find(enum vkind kind, uintptr_t real);

/* Return the object in slot @index, NULL if the slot is free. */
struct vobj *vobj_at(enum vkind kind, uint32_t index);

/*
 * Take the lock of a kind's table, also to guard other places that name objects of that kind.
 * While it is held no slot of the kind is taken or given back; the holder must call nothing of
 * the application's.
 */
void vtable_lock(enum vkind kind);
void vtable_unlock(enum vkind kind);

#endif
