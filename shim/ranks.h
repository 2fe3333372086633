/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job of several ranks, as the shim of one of its nodes sees it.
 *
 * In the specification (spec.h) and, but for "node", in the job's record:
 *
 *	"ranks": {
 *	    "map": ["0-3", "4-7,9", ...],	ranks of each node
 *	    "nodes": ["n1", "n2"],	their names; none: one node
 *	    "node": 0,			which of them we are
 *	    "mpi": "mpich" | "ompi" | "none",	who serves process management, and whose glue
 *	    "glue": "/usr/lib/.../libmpich.so.12",	preloaded; none: the program's own library
 *	    "lower": "/usr/libexec/.../ckpt-lower",
 *	    "interruptible": false,	the glue makes collectives so (mpi-glue/gather.h)
 *	    "pmix": "/usr/lib/.../libckpt-pmix.so",	pm_pmix of pm.h, for "ompi"
 *	    "label": false,		each line of output with its rank
 *	    "keep_going": false,		a rank's failure ends that rank alone
 *	    "pids": [2, 3, ...]		of a restore: in the job's PID namespace, by
 *					index; 0: had ended
 *	    "failed": [2, 1280],	of a restore: the first that had failed and its status
 *	    "env": ["NAME=VALUE", "NAME"]	of a restore: for the new MPI library, which else has what
 *					the job was started with; NAME: it has none
 *	}
 *
 * A node's ranks are numbered twice: by rank, and by index among those of this
 * node, ascending.  Every table of the shim is by index.
 *
 * What happens when one ends, in this order: init keeps its status, tells the shim
 * (SHIM_RANK_ENDED), and, if it is the first that failed and not keep_going, ends
 * the others: SIGTERM, a second, SIGKILL.  The first failing status is the job's,
 * 0 if none failed.  The shim asks the process-management server (pm.h), which
 * knows what a status of 0 does not tell: a rank that left without MPI_Finalize
 * ends the job (SHIM_ABORT) as MPI_Abort does.
 */
#ifndef STILLPOINT_SHIM_RANKS_H
#define STILLPOINT_SHIM_RANKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RANKS_MAX	65536	/* of a job */
#define RANKS_NODE_MAX	1024	/* of them on one node */
#define RANKS_ENV_MAX	2048	/* bytes of "env", each with its 0; what is said beside it needs the rest of a page */

enum ranks_mpi { RANKS_NONE, RANKS_MPICH, RANKS_OMPI };

struct ranks {
	unsigned int size;	/* of the job; 0: no ranks, one main process */
	unsigned int nr_nodes;
	unsigned int node;
	const json_t *nodes;	/* names; NULL: not given */
	unsigned int *node_of;	/* by rank */
	unsigned int nr;	/* ranks here */
	unsigned int *rank;	/* by index */
	enum ranks_mpi mpi;
	const char *glue;	/* NULL: none */
	const char *lower;
	const char *pmix;
	bool label;
	bool keep_going;
	bool interruptible;
	pid_t *pids;		/* NULL: not a restore */
	int failed;		/* of a restore: index of the first that had failed; -1: none */
	int failed_status;	/* as of waitpid(2) */
	const json_t *env;	/* NULL: none */
};

/* Zero-initialise; -EINVAL with a text in @why. Strings are @json's. */
int ranks_parse(const json_t *json, struct ranks *ret_ranks, char *why, size_t size);
void ranks_done(struct ranks *ranks);

/* "mpich", "ompi", "none"; false for other names. */
bool ranks_mpi_parse(const char *name, enum ranks_mpi *ret_mpi);
const char *ranks_mpi_name(enum ranks_mpi mpi);
/* SONAME of the library whose place the glue takes; NULL for RANKS_NONE. */
const char *ranks_mpi_soname(enum ranks_mpi mpi);

/* As in ranges "0-3,8": all @size ranks, in @nr_nodes even blocks; a new reference. */
json_t *ranks_map_even(unsigned int size, unsigned int nr_nodes);

/* In the job's image directory: @i 0 output, 1 errors; of the home, node 0, without a number. */
const char *ranks_log_name(unsigned int node, int i, char *buf, size_t size);

/* Each name once, and none of ours; -EINVAL with a text in @why. */
int ranks_env_check(const json_t *env, char *why, size_t size);
/* Into @to, the same kind of strings, in place of those with the same name. */
void ranks_env_put(json_t *to, const json_t *env);

/* setenv() what every rank gets: its number, the glue. In the rank, before exec. */
int ranks_setenv(const struct ranks *ranks, unsigned int index);

#endif /* STILLPOINT_SHIM_RANKS_H */
