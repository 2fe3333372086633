/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that replicate and vote share: one request and its result, the members of a group, and
 * their files.
 *
 * A group is a job, the leader, and those whose record names it ("replicas": {"leader", "number",
 * "paths": [[OLD, NEW], ...]}). Each member has the leader's files under paths of its own.
 */
#ifndef STILLPOINT_REPLICA_CALL_H
#define STILLPOINT_REPLICA_CALL_H

#include "ckptctl/cli.h"

#define REPLICAS_MAX	3

struct replica_member {
	int64_t job;
	json_t *paths;		/* [[OLD, NEW], ...]; NULL: of the leader */
};

struct replica_group {
	unsigned int nr;
	uid_t uid;		/* whose jobs they are */
	bool ranks;		/* they are MPI jobs */
	bool batch;		/* a launch of ckpt-slurm-run waits for the leader */
	struct replica_member members[REPLICAS_MAX];	/* the leader first */
};

/*
 * replica_ask() - make a request; takes over @args
 *
 * Return: the result, a new reference; NULL: *@ret_status is the exit status, and the error has
 * been printed.
 */
json_t *replica_ask(struct cli *cli, const char *verb, json_t *args, int *ret_status);

/* Find the members that run; @job is any of them. 0 or an exit status. */
int replica_group_find(struct cli *cli, int64_t job, struct replica_group *ret_group);
void replica_group_done(struct replica_group *group);

/*
 * Copy all files of member @from, if they exist, to the paths of member @to. Root does so with the
 * rights of the jobs' user, who owns the directories and may put links there. 0 or an exit status.
 */
int replica_copy_files(struct cli *cli, const struct replica_group *group, unsigned int from,
		       unsigned int to);
/*
 * Restart member @to from its generation @generation (0: whichever ckptd prefers), whose image may
 * name the files of any member. 0 or an exit status.
 */
int replica_restart(struct cli *cli, const struct replica_group *group, unsigned int to,
		    int64_t generation);

/* End a member that runs, and wait until it has ended. 0 or an exit status. */
int replica_end(struct cli *cli, int64_t job);

#endif /* STILLPOINT_REPLICA_CALL_H */
