// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations in this process (--standalone): the same functions that ckptd's
 * workers run, with the same arguments and outcomes.
 *
 * Restore is not here: the roots of the tree become children of the process that calls
 * restore, so cmd_restore.c decides which process that is.
 */
#include "ckptctl/cli_call.h"

#include <string.h>

#include "base/outcome.h"

void cli_op_env(struct cli *cli, struct op_env *ret_env)
{
	*ret_env = (struct op_env) {
		.key = cli->key,
		.secret = cli->secret,
		.first_use = true,
		.progress = cli_progress,
		.progress_arg = cli,
		.externals = cli->externals,
		.nr_externals = cli->nr_externals,
		.any_rights = true,	/* the kernel checks the caller's rights */
	};
}

json_t *cli_local(struct cli *cli, const char *verb, json_t *args)
{
	static const struct {
		const char *verb;
		json_t *(*run)(const struct op_env *env, json_t *args);
	} ops[] = {
		{ "dump", op_dump },
		{ "doctor", op_doctor },
		{ "show", op_show },
		{ "verify", op_verify },
		{ "diff", op_diff },
	};
	json_t *outcome = NULL;
	struct op_env env;
	size_t i;

	cli_op_env(cli, &env);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]) && !outcome; i++) {
		if (!strcmp(ops[i].verb, verb))
			outcome = ops[i].run(&env, args);
	}
	json_decref(args);
	if (!outcome)
		outcome = outcome_usage("%s needs ckptd: leave --standalone out", verb);
	return outcome;
}
