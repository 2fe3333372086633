// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of launches and the choice among jobs of an earlier run; see step.h.
 *
 * A job that has come to its own end is only found by its files and its line: taken for another
 * launch, that launch would never run. A launch that is done once more is what Slurm does without
 * us.
 */
#include "scheduler/slurm/step.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------- shape */

#define DIGITS_MANY	6	/* seconds since 1970, 20261128, 102233 */
#define GROUPS_MANY	3	/* 2026-11-28, 10:22:33 */
#define RANDOM_MANY	6	/* of mktemp(1) */

/* Length of the time or large number at @text; 0: there is none. */
static size_t step_time(const char *text)
{
	size_t len = 0, groups = 0, digits;
	bool many = false;

	while ((digits = strspn(text + len, "0123456789")) != 0) {
		many |= digits >= DIGITS_MANY;
		groups += digits >= 2;
		len += digits;
		if (!text[len] || !strchr("-_:.T", text[len]) ||
		    !isdigit((unsigned char)text[len + 1]))
			break;
		len++;
	}
	return many || groups >= GROUPS_MANY ? len : 0;
}

/* Length of the name at @text if it is as of mktemp(1): tmp.Xk3..., tmpXk3...; 0: it is not. */
static size_t step_random(const char *text)
{
	size_t dot = 3, len;

	if (strncmp(text, "tmp", 3))
		return 0;
	dot += text[3] == '.' || text[3] == '-' || text[3] == '_';
	for (len = dot; isalnum((unsigned char)text[len]) || text[len] == '_'; len++)
		;
	return len - dot >= RANDOM_MANY ? len : 0;
}

/* Length of the name @host at @text, as a word. */
static size_t step_host(const char *text, const char *host)
{
	size_t len = strcspn(host, ".");

	return len && !strncmp(text, host, len) && !isalnum((unsigned char)text[len]) ? len : 0;
}

void step_shape(char *path, const char *host)
{
	char *to = path, before = '/';

	while (*path) {
		bool word = !isalnum((unsigned char)before);
		size_t len = isdigit((unsigned char)before) ? 0 : step_time(path);

		if (!len && word)
			len = step_random(path) ?: step_host(path, host);
		before = len ? path[len - 1] : *path;
		*to++ = len ? '*' : *path;
		path += len ?: 1;
	}
	*to = '\0';
}

/* ------------------------------------------------------------------- keys */

#define FNV_BASIS	0xcbf29ce484222325ULL
#define FNV_PRIME	0x100000001b3ULL

/* FNV-1a, with the end of each word. */
static uint64_t step_hash(uint64_t hash, const char *word)
{
	do
		hash = (hash ^ (unsigned char)*word) * FNV_PRIME;
	while (*word++);
	return hash;
}

/* Is the file one of the standard streams of the script @script? */
static bool step_is_of_script(const struct stat *file, int script)
{
	char path[64];
	struct stat st;
	int i;

	for (i = 0; script > 0 && i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", script, i);
		if (!stat(path, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino)
			return true;
	}
	return false;
}

/* The path of a stream; "": it is no file, has no name, or is the script's own. */
static void step_path(int fd, int script, char path[PATH_MAX])
{
	char link[64];
	struct stat st;
	ssize_t len;

	*path = '\0';
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink ||
	    step_is_of_script(&st, script))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	path[len > 0 ? len : 0] = '\0';
}

struct step_key step_key(const char *directory, char *const argv[], const char *line,
			 const int fds[3], int script)
{
	uint64_t command = step_hash(FNV_BASIS, directory), shape = FNV_BASIS;
	uint64_t streams[3] = { FNV_BASIS, FNV_BASIS };
	char host[HOST_NAME_MAX + 1] = "", path[PATH_MAX];
	int i;

	gethostname(host, sizeof(host) - 1);
	for (; *argv; argv++)
		command = step_hash(command, *argv);
	for (i = 0; i < 3; i++) {
		step_path(fds[i], script, path);
		streams[i > 0] = step_hash(streams[i > 0], path);
		step_shape(path, host);
		shape = step_hash(shape, path);
	}
	return (struct step_key) {
		.command = (uint32_t)(command >> 32),
		.line = (uint16_t)(step_hash(FNV_BASIS, line ?: "") >> 48),
		.input = (uint16_t)(streams[0] >> 48),
		.output = (uint16_t)(streams[1] >> 48),
		.shape = (uint16_t)(shape >> 48),
	};
}

void step_print(char name[STEP_NAME_MAX], const struct step_key *key, uint32_t number)
{
	snprintf(name, STEP_NAME_MAX, "%08" PRIx32 "-%" PRIu32 "-%04x%04x%04x%04x", key->command,
		 number, key->line, key->input, key->output, key->shape);
}

bool step_parse(const char *name, struct step_key *ret_key, uint32_t *ret_number)
{
	char again[STEP_NAME_MAX];

	if (sscanf(name, "%8" SCNx32 "-%9" SCNu32 "-%4" SCNx16 "%4" SCNx16 "%4" SCNx16 "%4" SCNx16,
		   &ret_key->command, ret_number, &ret_key->line, &ret_key->input,
		   &ret_key->output, &ret_key->shape) != 6)
		return false;
	step_print(again, ret_key, *ret_number);
	return !strcmp(again, name);
}

/* ----------------------------------------------------------------- choice */

int step_claim(struct step_claims *claims, uint32_t number)
{
	uint32_t *grown = realloc(claims->numbers, (claims->nr + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	claims->numbers = grown;
	claims->numbers[claims->nr++] = number;
	return 0;
}

static bool step_is_claimed(const struct step_claims *claims, uint32_t number)
{
	size_t i;

	for (i = 0; i < claims->nr; i++) {
		if (claims->numbers[i] == number)
			return true;
	}
	return false;
}

static uint32_t step_next_number(const struct step_job *jobs, size_t nr_jobs,
				 const struct step_claims *claims)
{
	uint32_t next = 0;
	size_t i;

	for (i = 0; i < nr_jobs; i++)
		next = jobs[i].number >= next ? jobs[i].number + 1 : next;
	for (i = 0; i < claims->nr; i++)
		next = claims->numbers[i] >= next ? claims->numbers[i] + 1 : next;
	return next;
}

/* How well the job fits the launch, 1 best; 0: not at all. */
static int step_fits(const struct step_key *key, const struct step_job *job)
{
	bool line = job->key.line == key->line;
	bool files = job->key.input == key->input && job->key.output == key->output;

	if (!line && !job->waits)
		return 0;
	return files ? line ? 1 : 2 : job->key.shape != key->shape ? 0 : line ? 3 : 4;
}

int step_choose(const struct step_key *key, const struct step_job *jobs, size_t nr_jobs,
		const struct step_claims *claims, uint32_t *ret_number)
{
	int best = -ENOENT, best_fits = INT_MAX, waiting = 0, fits;
	bool met = false;
	size_t i;

	for (i = 0; i < nr_jobs; i++) {
		if (step_is_claimed(claims, jobs[i].number)) {
			met = true;
			continue;
		}
		fits = step_fits(key, &jobs[i]);
		if (fits && (fits < best_fits || (fits == best_fits &&
						  jobs[i].number < jobs[best].number))) {
			best = (int)i;
			best_fits = fits;
		}
		waiting += jobs[i].waits && jobs[i].key.input == key->input;
	}
	if (best < 0 && waiting && !met)
		best = nr_jobs == 1 ? 0 : -ENOTUNIQ;
	if (best == -ENOENT)
		*ret_number = step_next_number(jobs, nr_jobs, claims);
	return best;
}
