/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The descriptor of a request; part of record.h. request.h says who may change it, and when.
 */
#ifndef MPI_GLUE_VREQUEST_H
#define MPI_GLUE_VREQUEST_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi-glue/vhandle.h"

/* vrequest.flags */
enum {
	REQ_PERSISTENT = 1,
	REQ_GENERAL = 2,
	REQ_OTHER = 4, /* neither of the next two */
	REQ_SEND = 8,
	REQ_RECV = 16,
	REQ_ANY = 32, /* a receive from any source: its status tells which */
	REQ_ACTIVE = 64,
	REQ_CANCELLED = 128, /* MPI_Cancel was called; its status tells whether it succeeded */
	REQ_DONE = 256, /* complete, and the application not told yet: @done */
	REQ_ORPHAN = 512, /* the application freed it before it was complete */
	REQ_COLLECTIVE = 1024,
	REQ_MATCHED = 2048, /* a matched receive: nothing to post anew */
	REQ_LEAVING = 4096, /* barrier on a freed communicator: orphan.c */
	REQ_IO = 8192, /* reads or writes a file: request_io.c */
	REQ_COMM = 65536, /* the communicator @buf is usable when complete (MPI_Comm_idup) */
	REQ_LEFT = 32768, /* with LEAVING: all members have freed the communicator */
	REQ_IO_ORDERED = 16384, /* collective: runs after earlier ones of the same @file */
	REQ_GENERAL_DONE = 131072, /* MPI_Grequest_complete was called */
	REQ_GENERAL_FREED = 262144, /* MPI_Request_free was called; both calls end the slot */
	REQ_ALONE =
		524288, /* persistent collective, partitioned: MPICH's test of all fails with it */
};

/* Status and code that the application will be told of a complete request. */
struct done {
	MPI_Status status;
	int rc;
};

/*
 * The arguments of receives and persistent requests are kept, with references to @comm and
 * @dtype: a restart makes these requests again. Sends are complete at a cut.
 * @order: position among posted receives, or among a file's requests
 * @file: for comparison only; valid with REQ_IO_ORDERED
 */
struct vrequest {
	struct vobj obj;
	struct vobj *comm;	/* its error handler is the request's */
	void *owned;		/* arrays the lower half reads until completion */
	uint32_t flags;
	int32_t peer;		/* world rank; -1: none, or unknown */
	void *buf;
	MPI_Count count;
	MPI_Datatype dtype;
	int rank, tag;
	struct done *done;
	uint64_t order;
	int32_t fortran;	/* MPI_Request_c2f; Open MPI's Fortran library reads it here */
	uint16_t made_by;
	struct vobj *file;
};

_Static_assert(offsetof(struct vrequest, fortran) == 0x68, "req_f_to_c_index of ompi_request_t");

#endif
