// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a fuzz target over its committed corpus, as TAP.
 *
 *	replay [-m N] [FILE|DIRECTORY…]
 *
 * Without arguments: the target's fuzz_corpus.  -m N also runs N
 * mutations of each input (bytes changed, cut, repeated), the same ones every
 * time: a small fuzzer for machines without libFuzzer.  A crash is the failure:
 * the sanitizers end the program, and the plan at the end is missing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

struct replay {
	unsigned int nr;
	long mutations;
};

static uint64_t next(uint64_t *rng)
{
	*rng ^= *rng >> 12;
	*rng ^= *rng << 25;
	*rng ^= *rng >> 27;
	return *rng * 0x2545f4914f6cdd1dULL;
}

static void mutate(uint8_t *buf, size_t *len, uint64_t *rng)
{
	static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned int i, n = (unsigned int)(next(rng) % 6) + 1;

	for (i = 0; i < n && *len > 1; i++) {
		size_t at = next(rng) % *len;
		size_t width = 1 + next(rng) % 8;

		switch (next(rng) % 5) {
		case 0:
			buf[at] ^= (uint8_t)(1 << next(rng) % 8);
			break;
		case 1:
			buf[at] = nasty[next(rng) % sizeof(nasty)];
			break;
		case 2:
			memset(buf + at, nasty[next(rng) % sizeof(nasty)],
			       width < *len - at ? width : *len - at);
			break;
		case 3:
			if (at >= 16 && width < *len - at)
				memcpy(buf + at, buf + next(rng) % (at / 2), width);
			break;
		default:
			if (next(rng) % 8 == 0)
				*len = at + 1;
			break;
		}
	}
}

static void run(struct replay *rp, const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *buf, *copy;
	uint64_t rng = 88172645463325252ULL;
	struct stat st;
	size_t len;
	long i;

	if (!f || fstat(fileno(f), &st) < 0) {
		printf("not ok %u - %s: cannot read\n", ++rp->nr, path);
		exit(1);
	}
	/* exactly as long as the input, so that ASan sees every overrun */
	buf = malloc((size_t)st.st_size ? (size_t)st.st_size : 1);
	copy = malloc((size_t)st.st_size ? (size_t)st.st_size : 1);
	if (!buf || !copy)
		exit(1);
	len = fread(buf, 1, (size_t)st.st_size, f);
	fclose(f);
	LLVMFuzzerTestOneInput(buf, len);
	for (i = 0; i < rp->mutations; i++) {
		size_t copy_len = len;

		memcpy(copy, buf, len);
		mutate(copy, &copy_len, &rng);
		LLVMFuzzerTestOneInput(copy, copy_len);
	}
	printf("ok %u - %s\n", ++rp->nr, path);
	fflush(stdout);
	free(buf);
	free(copy);
}

static void run_all(struct replay *rp, const char *path)
{
	struct dirent **list;
	char sub[4096];
	int i, n;

	n = scandir(path, &list, NULL, alphasort);
	if (n < 0) {
		run(rp, path);
		return;
	}
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			snprintf(sub, sizeof(sub), "%s/%s", path, list[i]->d_name);
			run(rp, sub);
		}
		free(list[i]);
	}
	free(list);
}

int main(int argc, char **argv)
{
	struct replay rp = {};
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "-m")) {
		rp.mutations = atol(argv[2]);
		i = 3;
	}
	if (i == argc)
		run_all(&rp, fuzz_corpus);
	for (; i < argc; i++)
		run_all(&rp, argv[i]);
	if (!rp.nr) {
		printf("not ok 1 - the corpus is empty\n");
		rp.nr = 1;
	}
	printf("1..%u\n", rp.nr);
	return 0;
}
