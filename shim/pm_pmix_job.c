// SPDX-License-Identifier: GPL-2.0-only
/*
 * Describes a job to libpmix: its size, the node of each rank, the ranks here.
 *
 * Records without memory are omitted; then libpmix refuses the whole description,
 * or a rank's MPI_Init fails.  All memory is freed before the function returns.
 */
#include "shim/pm_pmix_job.h"

#include <errno.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Info records, as many as are needed. */
struct infos {
	pmix_info_t *info;
	size_t nr, size;
};

static pmix_info_t *next_info(struct infos *infos)
{
	if (infos->nr == infos->size) {
		size_t size = infos->size ? 2 * infos->size : 32;
		pmix_info_t *info = realloc(infos->info, size * sizeof(*info));

		if (!info)
			return NULL;
		infos->info = info;
		infos->size = size;
	}
	memset(&infos->info[infos->nr], 0, sizeof(*infos->info));
	return &infos->info[infos->nr++];
}

static void add_string(struct infos *infos, const char *key, const char *value)
{
	pmix_info_t *info = next_info(infos);

	if (info)
		PMIX_INFO_LOAD(info, key, value, PMIX_STRING);
}

static void add_u32(struct infos *infos, const char *key, uint32_t value)
{
	pmix_info_t *info = next_info(infos);

	if (info)
		PMIX_INFO_LOAD(info, key, &value, PMIX_UINT32);
}

static void infos_done(struct infos *infos)
{
	size_t i;

	for (i = 0; i < infos->nr; i++)
		PMIX_INFO_DESTRUCT(&infos->info[i]);
	free(infos->info);
}

/* One rank's place; @local is its number on its node. */
static int add_rank(struct infos *infos, const struct ranks *ranks, uint32_t rank,
		    uint16_t local)
{
	pmix_info_t *info = next_info(infos);
	pmix_data_array_t *array;
	uint32_t node = ranks->node_of[rank], app = ranks->app_of ? ranks->app_of[rank] : 0;
	pmix_info_t *own;
	pmix_rank_t number = rank, among = 0;

	while (among < rank && ranks->app_of && ranks->app_of[rank - 1 - among] == app)
		among++;
	if (!ranks->app_of)
		among = rank;
	if (!info)
		return -ENOMEM;
	PMIX_DATA_ARRAY_CREATE(array, 7, PMIX_INFO);
	if (!array || !array->array)
		return -ENOMEM;
	own = array->array;
	PMIX_INFO_LOAD(&own[0], PMIX_RANK, &number, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&own[1], PMIX_GLOBAL_RANK, &number, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&own[2], PMIX_APP_RANK, &among, PMIX_PROC_RANK);
	PMIX_INFO_LOAD(&own[3], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
	PMIX_INFO_LOAD(&own[4], PMIX_NODE_RANK, &local, PMIX_UINT16);
	PMIX_INFO_LOAD(&own[5], PMIX_NODEID, &node, PMIX_UINT32);
	PMIX_INFO_LOAD(&own[6], PMIX_APPNUM, &app, PMIX_UINT32);
	PMIX_LOAD_KEY(info->key, PMIX_PROC_INFO_ARRAY);
	info->value.type = PMIX_DATA_ARRAY;
	info->value.data.darray = array;
	return 0;
}

static int add_all_ranks(struct infos *infos, const struct ranks *ranks)
{
	_cleanup_free_ uint16_t *next = calloc(ranks->nr_nodes, sizeof(*next));
	unsigned int i;
	int err = next ? 0 : -ENOMEM;

	for (i = 0; i < ranks->size && !err; i++)
		err = add_rank(infos, ranks, i, next[ranks->node_of[i]]++);
	return err;
}

/* "0,3,4": the ranks of a node. */
static void list_ranks(const struct ranks *ranks, unsigned int node, FILE *out)
{
	const char *comma = "";
	unsigned int i;

	for (i = 0; i < ranks->size; i++) {
		if (ranks->node_of[i] != node)
			continue;
		fprintf(out, "%s%u", comma, i);
		comma = ",";
	}
}

/* Node names only have to differ; this node's must be the one that libpmix finds itself. */
static void name_node(const struct ranks *ranks, unsigned int node, const char *own, FILE *out)
{
	const char *name = json_string_value(json_array_get(ranks->nodes, node));

	if (node == ranks->node)
		fputs(own, out);
	else if (name && strcmp(name, own))
		fputs(name, out);
	else
		fprintf(out, "stillpoint-node-%u", node);
}

static void list_nodes(const struct ranks *ranks, FILE *names, FILE *places)
{
	char host[65] = "localhost";
	unsigned int i;

	gethostname(host, sizeof(host) - 1);
	for (i = 0; i < ranks->nr_nodes; i++) {
		if (i)
			fputc(',', names);
		if (i)
			fputc(';', places);
		name_node(ranks, i, host, names);
		list_ranks(ranks, i, places);
	}
}

static int add_maps(struct infos *infos, const struct ranks *ranks)
{
	char *names = NULL, *places = NULL, *here = NULL, *regex = NULL;
	size_t sizes[3];
	FILE *n = open_memstream(&names, &sizes[0]);
	FILE *p = open_memstream(&places, &sizes[1]);
	FILE *h = open_memstream(&here, &sizes[2]);
	int err = n && p && h ? 0 : -ENOMEM;

	if (!err) {
		list_nodes(ranks, n, p);
		list_ranks(ranks, ranks->node, h);
	}
	if ((n && fclose(n)) | (p && fclose(p)) | (h && fclose(h)))
		err = -ENOMEM;
	if (!err && PMIx_generate_regex(names, &regex) == PMIX_SUCCESS) {
		pmix_info_t *info = next_info(infos);

		if (info)
			PMIX_INFO_LOAD(info, PMIX_NODE_MAP, regex, PMIX_REGEX);
		free(regex);
	}
	if (!err && PMIx_generate_ppn(places, &regex) == PMIX_SUCCESS) {
		pmix_info_t *info = next_info(infos);

		if (info)
			PMIX_INFO_LOAD(info, PMIX_PROC_MAP, regex, PMIX_REGEX);
		free(regex);
	}
	if (!err)
		add_string(infos, PMIX_LOCAL_PEERS, here);
	free(names);
	free(places);
	free(here);
	return err;
}

int pmix_job_register(const char *nspace, const struct ranks *ranks)
{
	struct infos infos = { 0 };
	pmix_rank_t leader = ranks->rank[0];
	pmix_status_t rc;
	int err;

	add_string(&infos, PMIX_JOBID, nspace);
	add_u32(&infos, PMIX_UNIV_SIZE, ranks->size);
	add_u32(&infos, PMIX_JOB_SIZE, ranks->size);
	add_u32(&infos, PMIX_APP_SIZE, ranks->size);
	add_u32(&infos, PMIX_MAX_PROCS, ranks->size);
	add_u32(&infos, PMIX_JOB_NUM_APPS, ranks->app_of ? ranks->app_of[ranks->size - 1] + 1 : 1);
	add_u32(&infos, PMIX_NUM_NODES, ranks->nr_nodes);
	add_u32(&infos, PMIX_LOCAL_SIZE, ranks->nr);
	add_u32(&infos, PMIX_NODE_SIZE, ranks->nr);
	add_u32(&infos, PMIX_NODEID, ranks->node);
	if (next_info(&infos))
		PMIX_INFO_LOAD(&infos.info[infos.nr - 1], PMIX_LOCALLDR, &leader,
			       PMIX_PROC_RANK);
	err = add_maps(&infos, ranks);
	if (!err)
		err = add_all_ranks(&infos, ranks);
	if (!err) {
		rc = PMIx_server_register_nspace(nspace, (int)ranks->nr, infos.info,
						 infos.nr, NULL, NULL);
		err = rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED ? 0 : -EIO;
	}
	infos_done(&infos);
	return err;
}
