/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verbs of the control socket: one function for each request ckptd knows.  A verb checks
 * the caller's rights, and answers the request at once or arranges for a later answer.
 */
#ifndef STILLPOINT_VERBS_H
#define STILLPOINT_VERBS_H

#include <jansson.h>

#include "supervisor/control/request.h"

/*
 * Return the function of verb @name; NULL if there is no such verb. Sets *@ret_max to the bytes of
 * its requests, if they may be beyond REQUEST_SMALL.
 */
request_fn verb_find(const char *name, size_t *ret_max);

/* verbs_job.c */
void verb_run(struct request *request);
void verb_ps(struct request *request);
void verb_kill(struct request *request);
void verb_wait(struct request *request);
void verb_attach(struct request *request);
/* verbs_checkpoint.c, verbs_restart.c, verbs_list.c */
void verb_checkpoint(struct request *request);
void verb_auto(struct request *request);
void verb_restart(struct request *request);
/*
 * Restart the job of @request's arguments, which was ended for that by a request that has checked
 * who asks, and has taken what confines the caller; answers @request. @instead: taken over, added
 * to the answer.
 */
void verb_restart_instead(struct request *request, json_t *instead);
void verb_list(struct request *request);
void verb_rm(struct request *request);
/* verbs_recover.c */
void verb_recover(struct request *request);
/* verbs_rollback.c */
void verb_rollback(struct request *request);
/* verbs_stats.c */
void verb_stats(struct request *request);
void verb_interval(struct request *request);
/* verbs_prune.c */
void verb_pin(struct request *request);
void verb_unpin(struct request *request);
void verb_prune(struct request *request);
/* verbs_merge.c */
void verb_merge(struct request *request);
/* verbs_fsck.c */
void verb_fsck(struct request *request);
/* verbs_keys.c */
void verb_keys(struct request *request);
/* verbs_ranks.c */
void verb_ranks(struct request *request);
int verb_ranks_register(struct jobs *jobs);	/* answer the question "ranks" of other nodes */
/* verbs_diagnose.c */
void verb_diagnose(struct request *request);
void verb_incidents(struct request *request);
/* verbs_io.c */
void verb_io_watch(struct request *request);
void verb_io_report(struct request *request);
void verb_io_anomalies(struct request *request);
void verb_io_top(struct request *request);
void verb_devices(struct request *request);
void verb_device_replay(struct request *request);
void verb_device_forget(struct request *request);
/* verbs_tree.c */
void verb_dump(struct request *request);
void verb_restore(struct request *request);
void verb_doctor(struct request *request);
/* verbs_image.c */
void verb_show(struct request *request);
void verb_verify(struct request *request);
void verb_diff(struct request *request);
void verb_diagnose_image(struct request *request);
/* verbs_partner.c */
void verb_store(struct request *request);
/* verbs_ticket.c */
void verb_ticket(struct request *request);
/* verbs_vote.c */
void verb_section(struct request *request);
void verb_vote(struct request *request);
void verb_replica(struct request *request);
/* verbs_nodes.c */
void verb_nodes(struct request *request);

#endif /* STILLPOINT_VERBS_H */
