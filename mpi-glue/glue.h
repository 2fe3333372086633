/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The upper half's one per-process context, and the functions its files call in each other.
 *
 * Application threads run here with the upper FS base. Only lower_MPI_X() of the generated
 * calls.h reaches the lower half; functions that use one of them are LOWER_TEXT.
 */
#ifndef MPI_GLUE_GLUE_H
#define MPI_GLUE_GLUE_H

#include <mpi.h>

#include "mpi-glue/lower/lower.h"
#include "mpi-glue/quiesce.h"
#include "mpi-glue/record.h"
#include "mpi-glue/vhandle.h"

#define GLUE_CALLS_MAX		768
enum glue_state { GLUE_BEFORE, GLUE_RUNNING, GLUE_ENDED };

/**
 * struct glue - state of the process
 * @fn:       real functions, by enum call
 * @multiple: MPI_THREAD_MULTIPLE was provided; tables are locked
 * @several:  @multiple, and @callers was ever > 1: no turns are taken; @counts_shared: quiesce.h
 * @refused:  first call that keeps a checkpoint from being taken, or NULL
 */
struct status_page;
struct drained;
struct glue {
	void *fn[GLUE_CALLS_MAX];
	struct vtable table[VK_NR];
	struct lower *lower;
	enum glue_state state;
	bool multiple, several, counts_shared, gathers;	/* before blocking collectives: gather.h */
	int provided, tools;		/* MPI_T_init_thread without MPI_T_finalize */
	uint64_t loaded;		/* lower halves so far */
	unsigned long main_fs;
	/* MPI_Wtime, in ns: offset added to the node's clock; both clocks at the last cut */
	struct {
		int64_t add, cut, cut_wall;
	} clock;
	int world_rank, world_size;
	MPI_Request real_request_null;
	MPI_Errhandler file_errh;	/* files get it when opened */
	struct error_added *errors;	/* errcodes.c */
	int *real_unweighted, *real_weights_empty;
	MPI_T_pvar_handle real_pvar_all;
	int comm_attr[8];		/* predefined attributes: values */
	bool comm_attr_known[8], comm_attr_set[8];
	int lock;
	const char *refused, *refused_why;
	/* read by every call */
	uint32_t hold __attribute__((aligned(64)));
	uint32_t kept;
	uint64_t *sent, *received;	/* by world rank */
	uint64_t posted;		/* receives posted, ever: post_order() */
	void *bsend_buffer;		/* the attached buffer */
	MPI_Count bsend_size;
	/* checkpoints: quiesce.c, collective.c, drain.c */
	struct status_page *page;
	uint64_t run;			/* the page's run when last looked at */
	struct glue_thread *threads;
	int threads_lock, publishing, saying, orphans_lock, callers;
	int library;			/* lock: who may call the lower half, under a hold */
	uint32_t gate, told, stuck;	/* futex of the held; begun under holds; none for long */
	uint32_t epoch, flushed;	/* checkpoints tried (struct glue_thread); wins_flush() */
	uint32_t nr_done, orphans, leaving;	/* orphan.c; communicators among them */
	uint32_t named, meetings;	/* communicators this rank named; meetings under way */
	struct drained *drained;
	struct own_table *own;		/* own.c; NULL: none */
	uint64_t *met;			/* by world rank; meeting.c */
	struct status_ring unread;	/* of threads without one in the page; progress.c */
};

extern struct glue glue __attribute__((visibility("hidden")));

void glue_lock(int *lock);
void glue_unlock(int *lock);

/* Load the first lower half, if nobody has; exits with a message on failure. */
void glue_load(void);
/* Restart: load another lower half, MPI not initialised. @environment: as in status_page.h */
int glue_reload(bool unload, const char *environment, char *ret_why, size_t size);
/* Borrow a lower thread at this thread's first call. Nothing loaded: fail as the library would. */
void glue_attach(unsigned int call);
/* Refuse checkpoints from now on, because of @call and @why. The first refusal is kept. */
void glue_refuse(unsigned int call, const char *why);

/* local.c: MPI_Wtime stops at a cut and goes on after a restart. */
void wtime_cut(void);
void wtime_resume(void);
/* Note the version of a newly loaded library, for calls of threads that are not inside. */
void library_version_note(void);

/* status_page.c: attach the page that CKPT_STATUS names, if any; exits if the page does not fit. */
void status_attach(void);
/* Write the lower half's descriptors and threads into the page; -ENOSPC. */
int status_tell_lower(void);

/* In a callback from below: switch to this thread's upper FS base; returns the lower FS base. */
unsigned long callback_enter(void);
void callback_leave(unsigned long lower);

/* A call failed: run the object's error handler; returns the code that the call returns. */
int fail_comm(MPI_Comm comm, int rc, unsigned int call);
int fail_vcomm(struct vobj *comm, int rc, unsigned int call);
int fail_file(MPI_File file, int rc, unsigned int call);
int fail_win(MPI_Win win, int rc, unsigned int call);
int fail_world(int rc, unsigned int call);

MPI_Errhandler errh_of(const MPI_Errhandler *slot);	/* referenced */
void errh_unref(MPI_Errhandler errh);

/* Attributes: return 0 or the error of a callback of the application. */
int attrs_copy(struct vattr **from, enum vkind kind, uintptr_t old, struct vattr **ret_to);
int attrs_delete(struct vattr **list, enum vkind kind, uintptr_t handle);
struct vattr **dtype_attrs(MPI_Datatype dtype);	/* NULL: @dtype is no datatype */

/* Number of handles in the arrays of an alltoallw; 0: the array is not read. */
int n_w_send(MPI_Comm comm, const void *sendbuf);
int n_w_recv(MPI_Comm comm);
int n_neighbor_out(MPI_Comm comm);
int n_neighbor_in(MPI_Comm comm);

/* abi_*.c. After the load of a lower half: fill in predefined handles and sentinels. */
void abi_loaded(void);
void abi_initialized(void);
void abi_finalized(void);
/* SONAMEs of real libraries; the first is this library's own. NULL ends it. */
extern const char *const abi_soname[];

/* Callbacks whose calling convention depends on the language. */
void abi_foreign_errh(struct verrh *desc, void *handle, int *code);
int abi_attr_copy(struct vkeyval *keyval, enum vkind kind, uintptr_t handle,
		  const struct vattr *from, struct vattr *to, int *flag);
int abi_attr_delete(struct vkeyval *keyval, enum vkind kind, uintptr_t handle,
		    const struct vattr *attr);

bool abi_fortran_op(const struct vop *op);
void abi_op_call(struct vop *op, void *in, void *io, void *len, MPI_Datatype dtype);
/* True if *@dtype, a real handle, is predefined; *@dtype is then the application's handle. */
bool abi_predefined_dtype(MPI_Datatype *dtype);
int abi_win_model(MPI_Win real);

/* For functions that only one ABI has. */
int comm_dup_begin(MPI_Comm comm, struct vcomm **ret_desc, MPI_Comm **ret_slot);
void comm_dup_done(MPI_Comm comm, struct vcomm *desc, MPI_Comm *newcomm, unsigned int call);
int comm_dup_failed(MPI_Comm comm, struct vcomm *desc, MPI_Comm *newcomm, int rc,
		    unsigned int call);
/* The function that the library calls for this operation. */
void *op_stub(const struct vop *op);
struct vop *op_new(void *function, int commute, bool large, void **ret_stub);
int op_made(struct vop *op, MPI_Op real, int rc, MPI_Op *ret_op, unsigned int call);

int abi_comm_attr(int key, int *ret_c_key);	/* predefined key's index, its C key; or -1 */
int abi_win_attr(int key);

/* Typed access to attributes, for the Fortran libraries. */
int attr_comm_set(MPI_Comm comm, int key, uint64_t value, enum attr_language language);
int attr_comm_get(MPI_Comm comm, int key, void *value, int *flag, enum attr_language language);
int attr_dtype_set(MPI_Datatype dtype, int key, uint64_t value, enum attr_language language);
int attr_dtype_get(MPI_Datatype dtype, int key, void *value, int *flag,
		   enum attr_language language);
int attr_win_set(MPI_Win win, int key, uint64_t value, enum attr_language language);
int attr_win_get(MPI_Win win, int key, void *value, int *flag, enum attr_language language);

#define MPI_ALIAS(name) \
	extern __typeof__(P##name) name __attribute__((weak, alias("P" #name)))

#include ABI_HEADER

/*
 * References of requests, taken and dropped with each receive. MPI_COMM_WORLD and MPI_COMM_SELF
 * are never freed and are not counted. The count is atomic only where it has to be.
 */
static inline __attribute__((always_inline)) bool ref_counts(const struct vobj *obj)
{
	return unlikely(obj) && (obj->kind != VK_COMM || obj->index > 1);
}

static inline __attribute__((always_inline)) void ref_get(struct vobj *obj)
{
	if (!ref_counts(obj))
		return;
	if (unlikely(glue.multiple))
		vobj_get(obj);
	else
		obj->refs++;
}

static inline __attribute__((always_inline)) void ref_put(struct vobj *obj)
{
	if (!ref_counts(obj))
		return;
	if (unlikely(glue.multiple || obj->refs == 1))
		vobj_put(obj);
	else
		obj->refs--;
}

/* Take a slot for a request, without a function call on the fast path. */
static inline __attribute__((always_inline)) struct vrequest *
request_new(uintptr_t real, struct vobj *comm, uint32_t flags)
{
	struct vtable *table = &glue.table[VK_REQ];
	struct vrequest *req;

	if (unlikely(glue.multiple) || unlikely(!table->free)) {
		req = (struct vrequest *)vobj_new(VK_REQ, real);
		if (unlikely(!req))
			return NULL;
	} else {
		req = (struct vrequest *)table->base + (table->free - 1);
		table->free = req->obj.next_free;
		req->obj.real = real;
		req->obj.refs = 1;
		req->obj.freed = 0;
	}
	req->comm = comm;
	req->owned = NULL;
	req->flags = flags & REQ_PERSISTENT ? flags : flags | REQ_ACTIVE;
	req->peer = -1;
	req->fortran = FORTRAN_OURS + (int32_t)req->obj.index;
	req->made_by = 0;
	return req;
}

void request_put_slow(struct vrequest *req);

static inline __attribute__((always_inline)) void request_put(struct vrequest *req)
{
	struct vtable *table = &glue.table[VK_REQ];

	if (unlikely(glue.multiple || req->owned ||
		     (req->flags & (REQ_PERSISTENT | REQ_DONE)))) {
		request_put_slow(req);
		return;
	}
	if (req->made_by) {
		ref_put(vobj_dtype(req->dtype));
		ref_put(req->comm);
	}
	req->obj.real = 0;
	req->obj.refs = 0;
	req->obj.next_free = table->free;
	table->free = req->obj.index + 1;
}

#endif
