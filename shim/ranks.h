/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job of several ranks, as the shim of one of its nodes sees it.
 *
 * In the specification (spec.h) and, but for "node", in the job's record:
 *
 *	"ranks": {
 *	    "map": ["0-3", "4-7,9", ...],	ranks of each node
 *	    "nodes": ["n1", "n2"],	their names; none: one node
 *	    "node": 0,			index of this shim's node
 *	    "mpi": "mpich" | "ompi" | "none",	selects process management and the glue
 *	    "glue": "/usr/lib/.../libmpich.so.12:...",  preloaded: the glue, and its aliases;
 *					none: the program's own library
 *	    "library": "/usr/lib/.../libmpich.so.12",  the real one; none: the glue looks for it
 *	    "lower": "/usr/libexec/.../ckpt-lower",
 *	    "interruptible": false,	the glue makes collectives so (mpi-glue/gather.h)
 *	    "pmix": "/usr/lib/.../libckpt-pmix.so",	pm_pmix of pm.h, for "ompi"
 *	    "programs": [{"n": 2, "argv": ["./a", "x"]}, {"n": 1, "argv": ["./b"]}],
 *					commands of ranks 0 and 1, and of rank 2; none: all
 *					ranks have the job's
 *	    "label": false,		each line of output with its rank
 *	    "bind": {"to": "core"},	processors of each rank, as base/binding.h; none: the job's
 *	    "keep_going": false,		a rank's failure ends that rank alone
 *	    "pids": [2, 3, ...]		restore only: in the job's PID namespace, by index;
 *					0: the rank had ended
 *	    "failed": [2, 1280],	restore only: index of the first rank that had failed, and
 *					its status
 *	    "env": ["NAME=VALUE", "NAME"]	restore only: changes to the job's environment
 *					for the new MPI library; NAME alone unsets it
 *	}
 *
 * A node's ranks are numbered twice: by rank, and by index among those of this
 * node, ascending.  Every table of the shim is by index.
 *
 * When a rank ends, init keeps its status, tells the shim (SHIM_RANK_ENDED), and, if
 * it is the first rank that failed and keep_going is not set, ends the others: SIGTERM,
 * a second, SIGKILL.  The first failing status is the job's, 0 if none failed.  Then
 * the shim asks the process-management server (pm.h), which knows more than a status
 * of 0 tells: a rank that left without MPI_Finalize ends the job (SHIM_ABORT) as
 * MPI_Abort does.
 */
#ifndef STILLPOINT_SHIM_RANKS_H
#define STILLPOINT_SHIM_RANKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/binding.h"
#include "base/error.h"

#define RANKS_MAX	1048576	/* of a job */
#define RANKS_NODE_MAX	1024	/* of the job's ranks on one node */
/* Bytes of "env", each string with its 0; the shim's own variables need the rest of a page. */
#define RANKS_ENV_MAX	2048
/*
 * The variable by which a process of a batch step says for which job it stands there: "job N", or
 * the value that the variable has in the environment of a job that is being started.
 */
#define RANKS_STEP_KEY	"STILLPOINT_STEP"

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
	const json_t *programs;	/* NULL: one */
	unsigned int *app_of;	/* index of its program, by rank; NULL: one program */
	const char *glue;	/* NULL: none */
	const char *library;	/* NULL: not known */
	const char *lower;
	const char *pmix;
	bool label;
	bool binds;		/* ranks have processors by @binding */
	struct binding binding;
	bool keep_going;
	bool interruptible;
	pid_t *pids;		/* NULL: not a restore */
	int failed;		/* restore: index of the first that had failed; -1: none */
	int failed_status;	/* as of waitpid(2) */
	const json_t *env;	/* NULL: none */
};

/* Fill in *ret_ranks; -EINVAL, -ENOMEM. Its strings belong to @json. */
int ranks_parse(const json_t *json, struct ranks *ret_ranks, struct ckpt_error *error);
void ranks_done(struct ranks *ranks);

/* "mpich", "ompi", "none"; false for other names. */
bool ranks_mpi_parse(const char *name, enum ranks_mpi *ret_mpi);
const char *ranks_mpi_name(enum ranks_mpi mpi);
/*
 * The @i-th SONAME of libraries whose place the glue takes, and the name of its file; NULL: there
 * are no more. The first is the glue's own, the others are aliases of it.
 */
const char *ranks_mpi_soname(enum ranks_mpi mpi, unsigned int i);
/* True if @name begins with one of these names, as a file's that has a version behind it. */
bool ranks_mpi_is_named(enum ranks_mpi mpi, const char *name);

/* Check that @programs, as above, are the commands of @size ranks; -EINVAL. */
int ranks_programs_check(const json_t *programs, unsigned int size, struct ckpt_error *error);
/* The command of a rank, an array that ends with NULL, the caller's; NULL: the job's. */
char **ranks_argv(const struct ranks *ranks, unsigned int index);

/* A map (array of ranges) of all @size ranks in @nr_nodes even blocks; a new reference. */
json_t *ranks_map_even(unsigned int size, unsigned int nr_nodes);

/* A log's name in the job's image directory: @i 0 output, 1 errors; node 0 has no suffix. */
const char *ranks_log_name(unsigned int node, int i, char *buf, size_t size);

/* Refuse names that come twice, or begin with CKPT_; -EINVAL. */
int ranks_env_check(const json_t *env, struct ckpt_error *error);
/* Put the strings of @env into @to, in place of those with the same name. */
void ranks_env_put(json_t *to, const json_t *env);

/* setenv() the variables that every rank gets. Call in the rank, before exec. */
int ranks_setenv(const struct ranks *ranks, unsigned int index);

#endif /* STILLPOINT_SHIM_RANKS_H */
