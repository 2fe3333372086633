// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of ckptd's verbs.
 *
 * Owns the verbs' names, which are the control socket's protocol: a name never gets another
 * meaning.  Each verb checks the caller's rights itself.
 */
#include "supervisor/verbs/verbs.h"

#include <stddef.h>
#include <string.h>

#define RECOVER_MAX	(128u << 10)	/* names of lost nodes */

static const struct {
	const char *name;
	request_fn fn;
	size_t max;	/* bytes of a request; 0: REQUEST_SMALL */
} verbs[] = {
	{ "run", verb_run, WIRE_REQUEST_MAX },
	{ "ps", verb_ps, 0 },
	{ "ranks", verb_ranks, 0 },
	{ "diagnose", verb_diagnose, 0 },
	{ "diagnose_image", verb_diagnose_image, 0 },
	{ "incidents", verb_incidents, 0 },
	{ "kill", verb_kill, 0 },
	{ "wait", verb_wait, 0 },
	{ "attach", verb_attach, 0 },
	{ "checkpoint", verb_checkpoint, 0 },
	{ "restart", verb_restart, WIRE_REQUEST_MAX },
	{ "recover", verb_recover, RECOVER_MAX },
	{ "rollback", verb_rollback, 0 },
	{ "list", verb_list, 0 },
	{ "rm", verb_rm, 0 },
	{ "pin", verb_pin, 0 },
	{ "unpin", verb_unpin, 0 },
	{ "prune", verb_prune, 0 },
	{ "merge", verb_merge, 0 },
	{ "fsck", verb_fsck, 0 },
	{ "keys", verb_keys, 0 },
	{ "dump", verb_dump, 0 },
	{ "restore", verb_restore, 0 },
	{ "doctor", verb_doctor, 0 },
	{ "show", verb_show, 0 },
	{ "verify", verb_verify, 0 },
	{ "diff", verb_diff, 0 },
	{ "nodes", verb_nodes, 0 },
	{ "store", verb_store, 0 },
	{ "auto", verb_auto, 0 },
	{ "stats", verb_stats, 0 },
	{ "interval", verb_interval, 0 },
	{ "ticket", verb_ticket, 0 },
	{ "io_watch", verb_io_watch, 0 },
	{ "io_report", verb_io_report, 0 },
	{ "io_anomalies", verb_io_anomalies, 0 },
	{ "io_top", verb_io_top, 0 },
	{ "devices", verb_devices, 0 },
	{ "device_replay", verb_device_replay, 0 },
	{ "device_forget", verb_device_forget, 0 },
	{ "section", verb_section, 0 },
	{ "vote", verb_vote, 0 },
	{ "replica", verb_replica, 64u << 10 },
};

request_fn verb_find(const char *name, size_t *ret_max)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, name))
			continue;
		if (verbs[i].max)
			*ret_max = verbs[i].max;
		return verbs[i].fn;
	}
	return NULL;
}
