// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: a job's record as another node or a disk has it, with its ranks.  Held to: a record
 * that is taken comes back the same from its own JSON, and a rank map that is taken gives every
 * rank one node.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/ranks.h"
#include "supervisor/job/job_record.h"
#include "supervisor/parts/may_run_user.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus = "tests/fuzz/corpus/record";

static void record_again(const struct job_record *record)
{
	json_t *json = job_record_encode(record), *second;
	struct job_record again;

	if (job_record_decode(json, &again, NULL))
		abort();
	second = job_record_encode(&again);
	if (!json_equal(json, second))
		abort();
	json_decref(second);
	job_record_done(&again);
	json_decref(json);
}

static void record_ranks(json_t *json)
{
	struct ranks ranks = { 0 };
	struct ckpt_error error = { 0 };
	unsigned int i;

	if (!ranks_parse(json, &ranks, &error)) {
		for (i = 0; i < ranks.size; i++) {
			if (ranks.node_of[i] >= ranks.nr_nodes)
				abort();
		}
	}
	fuzz_touch(error.text, strlen(error.text));
	ranks_done(&ranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct ckpt_error error = { 0 };
	struct job_record record;
	struct may_run_user user;

	if (json && !job_record_decode(json, &record, &error)) {
		record_again(&record);
		job_record_done(&record);
	}
	fuzz_touch(error.text, strlen(error.text));
	error_done(&error);
	may_run_user_parse(json, &user);
	if (json_is_object(json_object_get(json, "ranks")))
		record_ranks(json_object_get(json, "ranks"));
	json_decref(json);
	return 0;
}
