/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The step down, and helpers of generated wrappers. Included by calls.h alone.
 */
#ifndef MPI_GLUE_ENTER_H
#define MPI_GLUE_ENTER_H

#include <alloca.h>
#include <stdlib.h>

#include "mpi-glue/glue.h"

/* A thread's first call borrows a lower thread; @call is named when nothing is loaded. */
static inline __attribute__((always_inline)) unsigned long glue_enter(unsigned int call)
{
	if (unlikely(!lower_fs_base))
		glue_attach(call);
	return lower_enter();
}

/* Real handles of an array: on the stack while they are few. */
#define ARRAY_STACK	128
#define array_of(type, n) \
	((type *)((n) <= ARRAY_STACK ? alloca(((n) + 1) * sizeof(type)) : \
		  malloc((size_t)(n) * sizeof(type))))
/* For a request: until it completes. */
#define array_keep(type, n)	((type *)malloc(((size_t)(n) + 1) * sizeof(type)))

static inline void array_drop(void *array, int n, bool kept)
{
	if (kept || n > ARRAY_STACK)
		free(array);
}

static inline __attribute__((always_inline)) MPI_Request
wrap_request(MPI_Request real, struct vobj *comm, uint32_t flags)
{
	uint32_t other = flags & (REQ_SEND | REQ_RECV) ? 0 : REQ_OTHER;
	struct vrequest *req = request_new((uintptr_t)real, comm, flags | other);

	return likely(req) ? virt_req(&req->obj) : MPI_REQUEST_NULL;
}

/* Given as MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY: data symbols under MPICH. */
const int *abi_weights(const int *weights);
/* The same of MPI_T_PVAR_ALL_HANDLES. */
MPI_T_pvar_handle abi_pvar(MPI_T_pvar_handle handle);
/* A split collective begins, ends: +1, -1. The shared file pointer is used. */
void file_split(MPI_File fh, int change);
void file_shared(MPI_File fh);
void request_own(MPI_Request request, void *first, void *second);

#endif
