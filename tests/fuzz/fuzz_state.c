// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: the record stream of an image, which root's worker reads before it makes any
 * process.  Held to: a stream that is taken gives a model whose parts are found by number, and
 * nothing outside the stream is read.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/core/plan.h"
#include "engine/core/state.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus = "tests/fuzz/corpus/state";

static void state_look(const struct state *state)
{
	struct ckpt_error error = { 0 };
	struct plan *plan = NULL;
	unsigned int i;

	for (i = 0; i < state->nr_procs; i++) {
		if (!state_proc_find(state, state->procs[i].rec->pid))
			abort();
	}
	for (i = 0; i < state->nr_files; i++) {
		if (!state_file_find(state, state->files[i].rec->id))
			abort();
		fuzz_touch(state->files[i].path, strlen(state->files[i].path));
	}
	for (i = 0; i < state->nr_mms; i++)
		fuzz_touch(state->mms[i].rec, sizeof(*state->mms[i].rec));
	if (!plan_make(state, NULL, &plan, &error))
		plan_free(plan);
	fuzz_touch(error.text, strlen(error.text));
	error_done(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state_error error;
	struct state *state;
	void *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	/* an allocation of its own: aligned, and its end is guarded */
	memcpy(copy, data, size);
	if (!state_parse(copy, size, &state, &error)) {
		state_look(state);
		state_free(state);
	}
	free(copy);
	return 0;
}
