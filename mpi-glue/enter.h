/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The switch to the lower half, and helpers of generated wrappers. Only calls.h includes this
 * file. glue_enter() must be paired with lower_leave(); nothing between the two may touch the
 * upper half's thread-local storage.
 */
#ifndef MPI_GLUE_ENTER_H
#define MPI_GLUE_ENTER_H

#include <alloca.h>
#include <stdlib.h>

#include "mpi-glue/glue.h"

/* Go down. A thread's first call borrows a lower thread; @call names the call in errors. */
static inline __attribute__((always_inline)) unsigned long glue_enter(unsigned int call)
{
	if (unlikely(!lower_fs_base))
		glue_attach(call);
	return lower_enter();
}

/* Room for an array's real handles: on the stack up to ARRAY_STACK of them. */
#define ARRAY_STACK	128
#define array_of(type, n) \
	((type *)((n) <= ARRAY_STACK ? alloca(((n) + 1) * sizeof(type)) : \
		  malloc((size_t)(n) * sizeof(type))))
/* Room that a request keeps until it completes. */
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

/* Translate MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY, which are data symbols under MPICH. */
const int *abi_weights(const int *weights);
/* The same for MPI_T_PVAR_ALL_HANDLES. */
MPI_T_pvar_handle abi_pvar(MPI_T_pvar_handle handle);
/* A split collective on @fh begins (+1) or ends (-1). */
void file_split(MPI_File fh, int change);
/* A call uses the shared file pointer of @fh. */
void file_shared(MPI_File fh);
void request_own(MPI_Request request, void *first, void *second);

#endif
