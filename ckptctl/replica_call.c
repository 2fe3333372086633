// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that replicate and vote share; see replica_call.h.
 *
 * Owns the way from a member's number to its job and files. Files are copied with the rights of the
 * jobs' user. Must not decide what becomes of a member: cmd_vote.c does.
 */
#include "ckptctl/replica_call.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"

json_t *replica_ask(struct cli *cli, const char *verb, json_t *args, int *ret_status)
{
	json_t *outcome = cli_call(cli, verb, args);
	json_t *result = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome)) {
		*ret_status = cli_finish(cli, outcome, NULL);
		return NULL;
	}
	*ret_status = 0;
	json_incref(result);
	json_decref(outcome);
	return result;
}

static int64_t replica_leader(const json_t *row)
{
	const json_t *of = json_object_get(row, "replicas");

	return of ? json_integer_value(json_object_get(of, "leader")) :
	       json_integer_value(json_object_get(row, "job"));
}

static void replica_group_add(struct replica_group *group, const json_t *row)
{
	struct replica_member *m;
	json_t *of = json_object_get(row, "replicas");

	if (group->nr == REPLICAS_MAX)
		return;
	m = &group->members[group->nr++];
	m->job = json_integer_value(json_object_get(row, "job"));
	group->uid = (uid_t)json_integer_value(json_object_get(row, "uid"));
	group->ranks = json_object_get(row, "ranks");
	m->paths = json_incref(json_object_get(of, "paths"));
}

int replica_group_find(struct cli *cli, int64_t job, struct replica_group *ret_group)
{
	json_t *result, *row;
	int64_t leader = job;
	int status;
	size_t i;

	*ret_group = (struct replica_group) { 0 };
	result = replica_ask(cli, "ps", json_object(), &status);
	if (!result)
		return status;
	json_array_foreach(json_object_get(result, "jobs"), i, row) {
		if (json_integer_value(json_object_get(row, "job")) == job)
			leader = replica_leader(row);
	}
	/* jobs are listed by number, so the leader is the first */
	json_array_foreach(json_object_get(result, "jobs"), i, row) {
		if (replica_leader(row) != leader)
			continue;
		replica_group_add(ret_group, row);
		ret_group->batch |= !strncmp(cli_str(row, "name"), "slurm-", 6);
	}
	json_decref(result);
	return 0;
}

void replica_group_done(struct replica_group *group)
{
	for (unsigned int i = 0; i < group->nr; i++)
		json_decref(group->members[i].paths);
}

/* ------------------------------------------------------------------- files */

static int replica_copy_bytes(int from, int to)
{
	char buf[65536];
	ssize_t n, done;

	while ((n = read(from, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n; at += done) {
			done = write(to, buf + at, (size_t)(n - at));
			if (done < 0)
				return -errno;
		}
	}
	return n < 0 ? -errno : 0;
}

static int replica_copy_file(struct cli *cli, const char *from, const char *to)
{
	_cleanup_fd_ int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int out = -1;
	struct stat st;
	int err;

	if (in < 0 && errno == ENOENT)
		return 0;
	err = in < 0 || fstat(in, &st) ? -errno : 0;
	if (!err) {
		out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			   st.st_mode & 0777);
		err = out < 0 ? -errno : replica_copy_bytes(in, out);
	}
	if (!err && fchown(out, st.st_uid, st.st_gid) && !geteuid())
		err = -errno;
	if (!err)
		return 0;
	cli_wrong(cli, err, "%s cannot be copied to %s: %s", from, to, strerror(-err));
	return CLI_FAILED;
}

/* Where the member has the @i-th private file; NULL: there are not so many. */
static const char *replica_path(const struct replica_group *group, unsigned int member, size_t i)
{
	const json_t *own = group->members[member].paths;

	for (unsigned int k = 0; !own && k < group->nr; k++) {
		/* the leader's paths are the old ones of any other */
		if (group->members[k].paths)
			return json_string_value(json_array_get(
				json_array_get(group->members[k].paths, i), 0));
	}
	return json_string_value(json_array_get(json_array_get(own, i), 1));
}

static int replica_copy_all(struct cli *cli, const struct replica_group *group, unsigned int from,
			    unsigned int to)
{
	const char *source, *target;
	int status = 0;

	for (size_t i = 0; !status; i++) {
		source = replica_path(group, from, i);
		target = replica_path(group, to, i);
		if (!source || !target)
			break;
		status = replica_copy_file(cli, source, target);
	}
	return status;
}

/* Take on the rights of the user, for good; negative errno. */
static int replica_become(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);

	if (!user)
		return -ESRCH;
	return initgroups(user->pw_name, user->pw_gid) || setgid(user->pw_gid) || setuid(uid) ?
	       -errno : 0;
}

int replica_copy_files(struct cli *cli, const struct replica_group *group, unsigned int from,
		       unsigned int to)
{
	int err, status = 0;
	pid_t pid;

	if (geteuid() || !group->uid)
		return replica_copy_all(cli, group, from, to);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		err = replica_become(group->uid);
		if (err)
			cli_wrong(cli, err, "files of user %u cannot be copied with his rights: %s",
				  group->uid, strerror(-err));
		status = err ? CLI_FAILED : replica_copy_all(cli, group, from, to);
		fflush(NULL);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		cli_wrong(cli, -ECHILD, "the files could not be copied");
		return CLI_FAILED;
	}
	return WEXITSTATUS(status);
}

int replica_restart(struct cli *cli, const struct replica_group *group, unsigned int to,
		    int64_t generation)
{
	json_t *args = json_pack("{s:I, s:b}", "job", (json_int_t)group->members[to].job,
				 "accept_changed", true);
	json_t *map = json_array(), *result;
	int status;

	for (unsigned int k = 0; k < group->nr; k++) {
		for (size_t i = 0; k != to && replica_path(group, k, i) &&
		     replica_path(group, to, i); i++)
			json_array_append_new(map, json_pack("[s, s]", replica_path(group, k, i),
							     replica_path(group, to, i)));
	}
	if (json_array_size(map))
		json_object_set(args, "map_path", map);
	json_decref(map);
	if (generation)
		json_object_set_new(args, "generation", json_integer(generation));
	result = replica_ask(cli, "restart", args, &status);
	json_decref(result);
	return status;
}

int replica_end(struct cli *cli, int64_t job)
{
	int status;

	json_decref(replica_ask(cli, "kill", json_pack("{s:I, s:i}", "job", (json_int_t)job,
						       "signal", SIGKILL), &status));
	if (status)
		return status;
	json_decref(replica_ask(cli, "wait", json_pack("{s:I}", "job", (json_int_t)job),
				&status));
	return status;
}
