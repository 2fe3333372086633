// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks in a job's record; see rank_record.h.
 *
 * What a user asks for is checked here, and the glue is looked for, before there
 * is a job: a library that is not installed is said at once, not by a rank.
 */
#include "supervisor/rank_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/ranks.h"
#include "supervisor/outcome.h"

static void glue_path(const struct config *config, enum ranks_mpi mpi, char *buf,
		      size_t size)
{
	snprintf(buf, size, "%s/%s/%s", config->mpi_dir, ranks_mpi_name(mpi),
		 ranks_mpi_soname(mpi));
}

static json_t *check_glue(const struct config *config, enum ranks_mpi mpi)
{
	char path[PATH_MAX];

	glue_path(config, mpi, path, sizeof(path));
	if (access(path, R_OK))
		return outcome_error(-errno, "run: %s: %s; is Stillpoint's library for %s installed?",
				     path, strerror(errno), ranks_mpi_name(mpi));
	if (access(config->lower, X_OK))
		return outcome_error(-errno, "run: %s: %s", config->lower, strerror(errno));
	return NULL;
}

json_t *rank_record_make(const json_t *request, const struct config *config,
			 json_t **ret_outcome)
{
	int n, keep_going = 0, direct = 0, label = 0;
	const char *name = "none";
	enum ranks_mpi mpi;
	json_error_t why;

	*ret_outcome = NULL;
	if (json_unpack_ex((json_t *)request, &why, 0, "{s:i, s?s, s?b, s?b, s?b !}", "n", &n,
			   "mpi", &name, "label", &label, "keep_going", &keep_going,
			   "direct", &direct))
		*ret_outcome = outcome_error(-EINVAL, "run: ranks: %s", why.text);
	else if (n < 1 || n > RANKS_NODE_MAX)
		*ret_outcome = outcome_error(-EINVAL, "run: a node has 1 to %d ranks, not %d",
					     RANKS_NODE_MAX, n);
	else if (!ranks_mpi_parse(name, &mpi))
		*ret_outcome = outcome_error(-EINVAL, "run: %s is no MPI library known here: mpich, ompi or none",
					     name);
	else if (mpi != RANKS_NONE && !direct)
		*ret_outcome = check_glue(config, mpi);
	if (*ret_outcome)
		return NULL;
	return json_pack("{s:o, s:s, s:b, s:b, s:b}", "map",
			 ranks_map_even((unsigned int)n, 1), "mpi", name, "label", label,
			 "keep_going", keep_going, "direct", direct);
}

json_t *rank_record_spec(const json_t *record, unsigned int node,
			 const struct config *config)
{
	const char *name = json_string_value(json_object_get(record, "mpi"));
	json_t *spec = json_pack("{s:O, s:i, s:s, s:b, s:b}", "map",
				 json_object_get(record, "map"), "node", (int)node,
				 "mpi", name ? name : "none", "label",
				 json_is_true(json_object_get(record, "label")), "keep_going",
				 json_is_true(json_object_get(record, "keep_going")));
	char path[PATH_MAX];
	enum ranks_mpi mpi;

	/* Beside the directory of the glue: build/lib, /usr/lib/stillpoint. */
	snprintf(path, sizeof(path), "%s/../libckpt-pmix.so", config->mpi_dir);
	json_object_set_new(spec, "pmix", json_string(path));
	if (!name || !ranks_mpi_parse(name, &mpi) || mpi == RANKS_NONE ||
	    json_is_true(json_object_get(record, "direct")))
		return spec;
	glue_path(config, mpi, path, sizeof(path));
	json_object_set_new(spec, "glue", json_string(path));
	json_object_set_new(spec, "lower", json_string(config->lower));
	return spec;
}

unsigned int rank_record_size(const json_t *record)
{
	const json_t *map = json_object_get(record, "map");
	struct ranks ranks = { 0 };
	json_t *spec;
	char why[64];
	unsigned int size = 0;

	if (!map)
		return 0;
	spec = json_pack("{s:O}", "map", map);
	if (!ranks_parse(spec, &ranks, why, sizeof(why)))
		size = ranks.size;
	ranks_done(&ranks);
	json_decref(spec);
	return size;
}
