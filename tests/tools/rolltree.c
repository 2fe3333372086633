// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rollback of a tree without a job, for tests: rolltree PID DIR
 *
 * Rolls the process PID and its descendants back to the image in DIR, in place. Exit status: 0:
 * done; 3: refused; 4: impossible in place, and the tree runs as before; 5: the tree was ended.
 * Prints why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/outcome.h"
#include "engine/op/op_args.h"
#include "engine/restore/rollback.h"
#include "image/key.h"

int main(int argc, char **argv)
{
	const struct op_env env = { 0 };
	struct restore_options restore = { 0 };
	struct rollback_options options = { .restore = &restore };
	struct ckpt_error error = { 0 };
	struct rollback_stats stats;
	struct image_key *key = NULL;
	enum rollback_end end;
	json_t *outcome = NULL;
	int ret;

	if (argc != 3 || op_key_load(&env, false, &key, &outcome))
		return 2;
	restore.dir = argv[2];
	restore.key = key;
	options.init = atoi(argv[1]);
	ret = rollback_tree(&options, &end, &stats, &error);
	if (ret)
		printf("%s\n", error.text);
	else
		printf("stood still for %llu us\n", (unsigned long long)stats.pause_ns / 1000);
	for (unsigned int i = 0; i < error.nr_refusals; i++)
		printf("%s\n", error.refusals[i].detail);
	error_done(&error);
	image_key_destroy(key);
	if (!ret)
		return 0;
	return end == ROLLBACK_REFUSED ? 3 : end == ROLLBACK_IMPOSSIBLE ? 4 : 5;
}
