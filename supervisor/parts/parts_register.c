// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers the questions and messages that nodes send about parts; see parts.h.
 *
 * Stands above all other files of parts/: none of them uses it, so that a file that answers a
 * question does not become part of their circle.
 */
#include "supervisor/parts/parts_priv.h"

#include "supervisor/auto/services.h"
#include "supervisor/parts/may_run.h"

int parts_register(struct services *services, struct parts_fetches **ret_fetches)
{
	struct jobs *jobs = services->jobs;
	int err;

	if (!nodes_asks(jobs_common(jobs)->nodes))
		return 0;
	err = may_run_open(jobs_common(jobs), &services->may_run);
	if (!err)
		err = parts_fence_register(jobs);
	if (!err)
		err = parts_home_register(jobs);
	if (!err)
		err = parts_start_register(services);
	if (!err)
		err = parts_try_register(services);
	if (!err)
		err = parts_fetch_register(services, ret_fetches);
	if (!err)
		err = parts_forget_register(services);
	if (!err)
		err = parts_pin_register(jobs);
	return err ? err : parts_away_register(jobs);
}
