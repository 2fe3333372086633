/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a request beyond its handle; part of record.h. Who may change it, and when:
 * request.h.
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
	REQ_ANY = 32, /* a receive from anybody: its status tells from whom */
	REQ_ACTIVE = 64,
	REQ_CANCELLED = 128, /* asked to; its status tells */
	REQ_DONE = 256, /* complete, not told yet: @done */
	REQ_ORPHAN = 512, /* the application freed it before it was complete */
	REQ_COLLECTIVE = 1024,
	REQ_MATCHED = 2048, /* a matched receive: nothing to post anew */
	REQ_LEAVING = 4096, /* of a communicator that was freed, until all have: orphan.c */
	REQ_IO = 8192, /* reads or writes a file: request_io.c */
	REQ_COMM = 65536, /* the communicator @buf is there when it is complete (MPI_Comm_idup) */
	REQ_LEFT = 32768, /* with LEAVING: all have */
	REQ_IO_ORDERED = 16384, /* collectively: after those before it of the same @file */
	REQ_GENERAL_DONE = 131072, /* MPI_Grequest_complete was called */
	REQ_GENERAL_FREED = 262144, /* MPI_Request_free was; the slot is there until both were */
	REQ_ALONE =
		524288, /* persistent collective, partitioned: MPICH's test of all fails with it */
};

/* What the application will be told of a request that is complete. */
struct done {
	MPI_Status status;
	int rc;
};

/*
 * The arguments are kept of receives and persistent requests: a restart makes those again.
 * Sends are complete at a cut. @comm and @dtype are referenced then.
 * @order: in which receives were posted, or in which a file's were begun
 * @file: for comparison only; valid with REQ_IO_ORDERED
 */
struct vrequest {
	struct vobj obj;
	struct vobj *comm;	/* whose error handler */
	void *owned;		/* arrays the lower half reads until completion */
	uint32_t flags;
	int32_t peer;		/* world rank; -1: nobody, or unknown */
	void *buf;
	MPI_Count count;
	MPI_Datatype dtype;
	int rank, tag;
	struct done *done;
	uint64_t order;
	int32_t fortran;	/* MPI_Request_c2f; Open MPI's Fortran library looks here itself */
	uint16_t made_by;
	struct vobj *file;
};

_Static_assert(offsetof(struct vrequest, fortran) == 0x68, "req_f_to_c_index of ompi_request_t");

#endif
