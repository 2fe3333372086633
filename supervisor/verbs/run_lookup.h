/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up for `run` what may hang: the user's name in the user database, and the file that the
 * path of the MPI library leads to, which the user may have chosen.
 */
#ifndef STILLPOINT_RUN_LOOKUP_H
#define STILLPOINT_RUN_LOOKUP_H

#include "supervisor/control/request.h"

#define RUN_LOOKUP_MS	10000	/* time for both */

/*
 * run_lookup() - set request->found to {"user": NAME, "library": as rank_record.h}, then call @go
 *
 * In a worker. "library" is absent if none is known. @request is answered if something is wrong,
 * if the time is over, or if it was abandoned meanwhile.
 */
void run_lookup(struct request *request, request_fn go);

#endif /* STILLPOINT_RUN_LOOKUP_H */
