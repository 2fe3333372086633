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
	{ "ps", verb_ps },
	{ "ranks", verb_ranks },
	{ "diagnose", verb_diagnose },
	{ "kill", verb_kill },
	{ "wait", verb_wait },
	{ "attach", verb_attach },
	{ "checkpoint", verb_checkpoint },
	{ "restart", verb_restart, WIRE_REQUEST_MAX },
	{ "recover", verb_recover, RECOVER_MAX },
	{ "list", verb_list },
	{ "rm", verb_rm },
	{ "pin", verb_pin },
	{ "unpin", verb_unpin },
	{ "prune", verb_prune },
	{ "merge", verb_merge },
	{ "fsck", verb_fsck },
	{ "dump", verb_dump },
	{ "restore", verb_restore },
	{ "doctor", verb_doctor },
	{ "show", verb_show },
	{ "verify", verb_verify },
	{ "diff", verb_diff },
	{ "nodes", verb_nodes },
	{ "store", verb_store },
	{ "auto", verb_auto },
	{ "stats", verb_stats },
	{ "interval", verb_interval },
	{ "ticket", verb_ticket },
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
