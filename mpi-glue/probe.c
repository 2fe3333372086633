// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes, and receives of messages that a probe matched. Kept messages are looked at first.
 *
 * A matched message has a slot, which names the library's message, or a message that the drain
 * has received since (struct vmsg's @kept).
 */

#include "mpi-glue/own.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

static void probe_choice(int source, bool patient)
{
	if (source == MPI_ANY_SOURCE)
		own_choice(OWN_ANY_SOURCE);
	if (!patient)
		own_choice(OWN_WHETHER);
}

/* @patient: probe until there is a message, or a hold is raised */
LOWER_TEXT static int probe_iprobe(int source, int tag, MPI_Comm comm, int *flag,
				   MPI_Status *status, bool patient)
{
	MPI_Comm real;

	probe_choice(source, patient);
	if (unlikely(glue.kept & KEPT_MESSAGES) &&
	    kept_probe(vobj_comm(comm), source, tag, status)) {
		*flag = 1;
		return MPI_SUCCESS;
	}
	if (!patient)
		return lower_MPI_Iprobe(source, tag, real_comm(comm), flag, status);
	real = real_comm(comm);
	*flag = 0;
	return UNTIL_OUT(MPI_Iprobe, *flag, source, tag, real, flag, status);
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	GLUE_CALL(MPI_Iprobe);
	int rc = probe_iprobe(source, tag, comm, flag, status, false);

	return unlikely(rc) ? fail_comm(comm, rc, CALL_MPI_Iprobe) : rc;
}
MPI_ALIAS(MPI_Iprobe);

static void progress_probe(int source, int tag, MPI_Comm comm)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	progress_waits(STATUS_RECEIVES, source < 0 ? -1 : world_rank_of(desc, source), tag,
		       desc ? desc->coll.id : 0);
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	GLUE_CALL(MPI_Probe);
	int flag = 0, rc;

	for (;;) {
		rc = probe_iprobe(source, tag, comm, &flag, status, true);
		if (unlikely(rc))
			return fail_comm(comm, rc, CALL_MPI_Probe);
		if (flag)
			return rc;
		progress_probe(source, tag, comm);
		between(&mark);
	}
}
MPI_ALIAS(MPI_Probe);

/* MPI_MESSAGE_NO_PROC is no object: the handle is passed on. */
LOWER_TEXT static int probe_improbe(int source, int tag, MPI_Comm comm, int *flag,
				    MPI_Message *message, MPI_Status *status, bool patient)
{
	struct kept *kept = kept_for(comm, source, tag);
	MPI_Status own;
	MPI_Message real;
	MPI_Comm below;
	struct vmsg *msg;
	int rc;

	probe_choice(source, patient);
	if (unlikely(kept)) {
		msg = (struct vmsg *)vobj_new(VK_MSG, 0);
		if (!msg) {
			kept_return(kept);
			return MPI_ERR_INTERN;
		}
		kept_status(kept, status);
		msg->kept = kept;
		msg->comm = vobj_get(vobj_comm(comm));
		*message = virt_msg(&msg->obj);
		*flag = 1;
		return MPI_SUCCESS;
	}
	below = real_comm(comm);
	*flag = 0;
	rc = patient ?
	     UNTIL_OUT(MPI_Improbe, *flag, source, tag, below, flag, &real, &own) :
	     lower_MPI_Improbe(source, tag, below, flag, &real, &own);
	if (rc || !*flag)
		return rc;
	if (status != MPI_STATUS_IGNORE) {
		own.MPI_ERROR = status->MPI_ERROR;
		*status = own;
	}
	*message = wrap_msg(real);
	msg = (struct vmsg *)vobj_msg(*message);
	if (msg) {
		msg->comm = vobj_get(vobj_comm(comm));
		msg->status = own;
	}
	return rc;
}

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
		 MPI_Status *status)
{
	GLUE_CALL(MPI_Improbe);
	int rc = probe_improbe(source, tag, comm, flag, message, status, false);

	return unlikely(rc) ? fail_comm(comm, rc, CALL_MPI_Improbe) : rc;
}
MPI_ALIAS(MPI_Improbe);

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	GLUE_CALL(MPI_Mprobe);
	int flag = 0, rc;

	for (;;) {
		rc = probe_improbe(source, tag, comm, &flag, message, status, true);
		if (unlikely(rc))
			return fail_comm(comm, rc, CALL_MPI_Mprobe);
		if (flag)
			return rc;
		progress_probe(source, tag, comm);
		between(&mark);
	}
}
MPI_ALIAS(MPI_Mprobe);

static void message_gone(MPI_Message *message, struct vmsg *msg)
{
	if (msg)
		vobj_put(&msg->obj);
	*message = MPI_MESSAGE_NULL;
}

/* Make the request of a matched receive: the drain completes it, so a restart posts nothing. */
LOWER_TEXT static int imrecv_inside(void *buf, MPI_Count count, MPI_Datatype dtype,
				    MPI_Message *message, MPI_Request *request, bool large,
				    unsigned int call)
{
	struct vmsg *msg = (struct vmsg *)vobj_msg(*message);
	struct vobj *comm = msg ? msg->comm : NULL;
	MPI_Message real_message = real_msg(*message);
	MPI_Request real;
	int rc, source = msg ? msg->status.MPI_SOURCE : MPI_PROC_NULL;

	if (msg && msg->kept) {
		rc = request_of_kept(msg->kept, comm, buf, count, dtype, request);
		if (rc)
			return fail_vcomm(comm, rc, call);
		message_gone(message, msg);
		return MPI_SUCCESS;
	}
	rc = large ? abi_imrecv_large(buf, count, real_dtype(dtype), &real_message, &real) :
		     lower_MPI_Imrecv(buf, (int)count, real_dtype(dtype), &real_message, &real);
	if (unlikely(rc))
		return fail_vcomm(comm, rc, call);
	*request = wrap_request(real, comm, REQ_RECV | REQ_MATCHED);
	request_record(*request, call, buf, count, dtype, source, 0);
	message_gone(message, msg);
	return rc;
}

#define LARGE(s)	(sizeof(#s) > 1)

#define MRECV(s, type) \
int PMPI_Imrecv##s(void *buf, type count, MPI_Datatype datatype, MPI_Message *message, \
		   MPI_Request *request) \
{ \
	GLUE_CALL(MPI_Imrecv##s); \
	return imrecv_inside(buf, count, datatype, message, request, LARGE(s), \
			     CALL_MPI_Imrecv##s); \
} \
MPI_ALIAS(MPI_Imrecv##s); \
int PMPI_Mrecv##s(void *buf, type count, MPI_Datatype datatype, MPI_Message *message, \
		  MPI_Status *status) \
{ \
	GLUE_CALL(MPI_Mrecv##s); \
	MPI_Request request; \
	int rc = imrecv_inside(buf, count, datatype, message, &request, LARGE(s), \
			       CALL_MPI_Mrecv##s); \
\
	return rc ? rc : wait_inside(&request, status, &mark, CALL_MPI_Mrecv##s); \
} \
MPI_ALIAS(MPI_Mrecv##s);
ABI_SIZES(MRECV)
