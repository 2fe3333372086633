// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: what hostile ranks say to the PMI-1 server, and what another node's
 * block may hold.
 *
 * The input is lines; a line's first byte says which of three ranks speaks, or
 * (bit 4) that the rest is the answer to a fence.  Held to: every answer is whole
 * lines that fit a library's buffer, and a line that is refused changes nothing
 * that would make a barrier open.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/pmi1.h"
#include "tests/fuzz/fuzz.h"

#define RANKS	3

const char *const fuzz_corpus = "tests/fuzz/corpus/pmi1";

struct run {
	struct pmi1 *server;
	unsigned int waiting;	/* barrier_in taken, barrier_out not said */
	unsigned int out;
};

static void on_send(unsigned int index, const char *text, size_t len, void *arg)
{
	struct run *run = arg;

	if (index >= RANKS || !len || len >= 1024 || text[len - 1] != '\n')
		abort();
	fuzz_touch(text, len);
	if (len == 16 && !memcmp(text, "cmd=barrier_out\n", 16))
		run->out++;
}

static void on_fence(const void *data, size_t len, void *arg)
{
	fuzz_touch(data, len);
}

static void on_abort(unsigned int index, int code, void *arg)
{
	if (index >= RANKS || code < 0 || code > 255)
		abort();
}

static void play(struct run *run, const uint8_t *line, size_t len)
{
	uint8_t *copy;
	bool fence = line[0] & 0x10;
	unsigned int index = (line[0] & 3) % RANKS;

	line++;
	len--;
	/* exactly as long, so that an overrun is seen */
	copy = malloc(len ? len : 1);
	memcpy(copy, line, len);
	run->out = 0;
	if (fence)
		pmi1_fence_done(run->server, copy, len);
	else
		pmi1_line(run->server, index, (const char *)copy, len);
	if (run->out && run->out != RANKS)
		abort();
	free(copy);
}

static void replay_all(const uint8_t *data, size_t size, bool alone)
{
	static const unsigned int ranks[RANKS] = { 0, 1, 2 };
	static const struct pmi1_ops ops = { on_send, on_fence, on_abort };
	struct run run = { 0 };
	struct pmi1_config config = {
		.size = RANKS, .nr = RANKS, .rank = ranks, .alone = alone,
		.kvsname = "k", .ops = &ops, .arg = &run,
	};
	size_t at = 0;

	if (pmi1_create(&config, &run.server))
		return;
	while (at < size) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;

		if (len > 1 && len <= PMI1_LINE_MAX)
			play(&run, data + at, len);
		at += len + 1;
	}
	pmi1_destroy(run.server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int token;

	replay_all(data, size, true);
	replay_all(data, size, false);
	pmi1_parse_initack((const char *)data, size, &token);
	return 0;
}
