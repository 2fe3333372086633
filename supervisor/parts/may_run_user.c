// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds out whether a user may be on this node: his account and groups, the site's program
 * may_run, or a process of his in a batch step; see may_run.h.
 *
 * Runs in a worker.  The program gets a process group of its own, which ends with its time.
 */
#include "supervisor/parts/may_run_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/control/access.h"
#include "supervisor/parts/may_run.h"
#include "supervisor/parts/stand.h"
#include "supervisor/storage/config.h"

#define GROUPS_MAX	65536		/* NGROUPS_MAX of the kernel */
#define REASON_MAX	256

int may_run_user_parse(const json_t *record, struct may_run_user *ret_user)
{
	const json_t *uid = json_object_get(record, "uid"), *gid = json_object_get(record, "gid");

	if (!json_is_integer(uid) || !json_is_integer(gid))
		return -EPROTO;
	*ret_user = (struct may_run_user) {
		.uid = (uid_t)json_integer_value(uid), .gid = (gid_t)json_integer_value(gid),
		.groups = json_object_get(record, "groups"), .env = json_object_get(record, "env"),
	};
	return 0;
}

/* ------------------------------------------------------------ account */

static bool may_run_has_group(const gid_t *list, int nr, json_int_t gid)
{
	int i;

	for (i = 0; i < nr; i++) {
		if ((json_int_t)list[i] == gid)
			return true;
	}
	return false;
}

/* The first group of @gid and @groups that the user has not here, or -1. */
static json_int_t may_run_strange_group(const gid_t *list, int nr, json_int_t gid,
					const json_t *groups)
{
	const json_t *one;
	size_t i;

	if (!may_run_has_group(list, nr, gid))
		return gid;
	json_array_foreach(groups, i, one) {
		if (!may_run_has_group(list, nr, json_integer_value(one)))
			return json_integer_value(one);
	}
	return -1;
}

/*
 * Check the groups of the record, and of who asks for the restart, against those of the account.
 * Return: NULL, or an outcome.
 */
static json_t *may_run_check_groups(const struct may_run_user *user, const struct passwd *account)
{
	int nr = GROUPS_MAX;
	_cleanup_free_ gid_t *list = malloc(GROUPS_MAX * sizeof(*list));
	json_int_t bad;

	if (!list || getgrouplist(account->pw_name, account->pw_gid, list, &nr) < 0)
		return outcome_error(-ENOMEM, "the groups of user %s cannot be read",
				     account->pw_name);
	bad = may_run_strange_group(list, nr, user->gid, user->groups);
	if (bad < 0 && user->asker)
		bad = may_run_strange_group(
			list, nr, json_integer_value(json_object_get(user->asker, "gid")),
			json_object_get(user->asker, "groups"));
	if (bad < 0)
		return NULL;
	return outcome_error(-EPERM,
			     "user %s is not in group %lld here, and his job has it on %s; give "
			     "him the group here, or give %s root=yes in the hosts file",
			     account->pw_name, (long long)bad, user->home, user->home);
}

/* True if allow_users or allow_groups, by which the socket is restricted, names the user. */
static bool may_run_is_listed(const struct passwd *account, const struct config *config)
{
	_cleanup_free_ gid_t *groups = malloc(GROUPS_MAX * sizeof(*groups));
	struct access access = { 0 };
	int nr = GROUPS_MAX;
	bool listed = false;

	if ((!config->allow_users && !config->allow_groups) || !groups ||
	    access_open(&access, config->allow_users, config->allow_groups))
		return false;
	if (getgrouplist(account->pw_name, account->pw_gid, groups, &nr) >= 0)
		listed = access_has(&access.users, &account->pw_uid, 1) ||
			 access_has(&access.groups, groups, (size_t)nr);
	access_close(&access);
	return listed;
}

/* -------------------------------------------------------- site's program */

static const char *may_run_batch_job(const json_t *env)
{
	static const char name[] = "SLURM_JOB_ID=";
	const json_t *one;
	size_t i;

	json_array_foreach(env, i, one) {
		const char *text = json_string_value(one);

		if (text && !strncmp(text, name, sizeof(name) - 1))
			return text + sizeof(name) - 1;
	}
	return "";
}

json_t *may_run_user_question(const struct may_run_user *user)
{
	return json_pack("{s:I, s:I, s:I, s:s, s:s, s:s*, s:b, s:b, s:o*, s:o*}", "uid",
			 (json_int_t)user->uid, "gid", (json_int_t)user->gid, "job", user->job,
			 "batch_job", may_run_batch_job(user->env), "purpose", user->purpose,
			 "credential", user->credential, "any_step", user->any_step,
			 "trusted", user->trusted, "groups", json_deep_copy(user->groups), "asker",
			 json_deep_copy(user->asker));
}

/* In the child: become the program; its output goes to @out. */
static void may_run_hook_exec(const struct may_run_user *user, const char *name, const char *hook,
			      int out)
{
	char uid[24], job[24], env[5][128];
	char *argv[] = { (char *)hook, uid, job, (char *)user->home, NULL };
	char *envp[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", env[0], env[1], env[2], env[3],
			 env[4], NULL };
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	snprintf(uid, sizeof(uid), "%u", (unsigned int)user->uid);
	snprintf(job, sizeof(job), "%lld", (long long)user->job);
	snprintf(env[0], sizeof(env[0]), "CKPT_UID=%s", uid);
	snprintf(env[1], sizeof(env[1]), "CKPT_USER=%s", name);
	snprintf(env[2], sizeof(env[2]), "CKPT_JOB=%s", job);
	snprintf(env[3], sizeof(env[3]), "CKPT_HOME=%s", user->home);
	snprintf(env[4], sizeof(env[4]), "CKPT_BATCH_JOB=%.60s", may_run_batch_job(user->env));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	execve(hook, argv, envp);
	dprintf(2, "%s: %s\n", hook, strerror(errno));
	_exit(127);
}

/*
 * Read the program's first line until it ends its output or @until_ms comes.
 * Return: false: its time is over.
 */
static bool may_run_hook_read(int fd, int64_t until_ms, char reason[REASON_MAX])
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	char rest[512];
	ssize_t n;

	for (;;) {
		int64_t left = until_ms - clock_monotonic_ms();

		if (left <= 0 || poll(&poll_fd, 1, (int)left) <= 0)
			return false;
		n = read(fd, rest, sizeof(rest));
		if (n <= 0)
			break;
		if ((size_t)n > REASON_MAX - 1 - len)
			n = (ssize_t)(REASON_MAX - 1 - len);
		memcpy(reason + len, rest, (size_t)n);
		len += (size_t)n;
	}
	reason[len] = '\0';
	reason[strcspn(reason, "\n")] = '\0';
	return true;
}

/* The program is run as root, so that only root may be able to write it. */
static json_t *may_run_hook_check(const char *hook)
{
	struct stat st;

	if (stat(hook, &st))
		return outcome_error(-errno, "may_run %s: %s", hook, strerror(errno));
	if (st.st_uid || st.st_mode & 022)
		return outcome_error(-EPERM, "may_run %s: others than root can write it", hook);
	return NULL;
}

/* Ask the site's program. Return: NULL: yes; else an outcome. */
static json_t *may_run_hook(const struct may_run_user *user, const char *name, const char *hook)
{
	int64_t until_ms = clock_monotonic_ms() + MAY_RUN_HOOK_MS;
	char reason[REASON_MAX] = "";
	json_t *bad = may_run_hook_check(hook);
	int out[2], status = -1;
	bool in_time;
	pid_t pid;

	if (bad)
		return bad;
	if (pipe2(out, O_CLOEXEC))
		return outcome_error(-errno, "may_run: no pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		may_run_hook_exec(user, name, hook, out[1]);
	close(out[1]);
	in_time = pid > 0 && may_run_hook_read(out[0], until_ms, reason);
	close(out[0]);
	if (pid > 0) {
		/* After its time the program and all that it has started end. */
		if (!in_time && kill(-pid, SIGKILL))
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (in_time && WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	return outcome_error(-EPERM, "%s says that user %s may not run jobs here: %s", hook, name,
			     !in_time ? "it did not end in time" :
			     reason[0] ? reason : "no reason given");
}

/* Has the user himself asked for this? Return: NULL, or an outcome. */
static json_t *may_run_prove(const struct may_run_user *user, const char *name,
			     const struct config *config)
{
	if (!user->purpose[0])
		return NULL;
	if (!user->credential)
		return outcome_error(-EPERM,
				     "node %s wants a munge credential of user %s, and none came "
				     "with the request: ask by ckptrun or ckptctl where munged "
				     "runs, or give %s root=yes in the hosts file",
				     config->node, name, user->home);
	return credential_check(user->credential, user->uid, user->purpose);
}

/* Why a user is refused whom neither a setting nor a step lets in. */
static json_t *may_run_no_step(const struct may_run_user *user, const char *name,
			       enum stand_result result, const struct config *config)
{
	if (result == STAND_OTHER)
		return outcome_error(-EPERM,
				     "user %s may not run this job of %s here: his batch steps on "
				     "node %s are of other Slurm jobs than SLURM_JOB_ID=%.60s of "
				     "the job's environment; start it from a Slurm job that has "
				     "both nodes",
				     name, user->home, config->node, may_run_batch_job(user->env));
	return outcome_error(-EPERM,
			     "user %s may not run jobs of %s here: no batch step of his is on "
			     "node %s; allow_users or may_run in its ckptd.conf can allow it",
			     name, user->home, config->node);
}

json_t *may_run_user_check(const struct may_run_user *user, const struct config *config,
			   struct stand_process *ret_process)
{
	const struct passwd *account = getpwuid(user->uid);
	enum stand_result result;
	json_t *no, *why = NULL;
	bool allowed;

	if (!account)
		return outcome_error(-EPERM, "user %u of the job is not known here",
				     (unsigned int)user->uid);
	no = user->trusted ? NULL : may_run_check_groups(user, account);
	if (!no)
		no = may_run_prove(user, account->pw_name, config);
	if (!no && config->may_run)
		no = may_run_hook(user, account->pw_name, config->may_run);
	if (no)
		return no;
	allowed = config->may_run || may_run_is_listed(account, config);
	*ret_process = (struct stand_process) { 0 };
	result = stand_find(user->uid, user->launcher, user->env, user->job, user->any_step,
			    ret_process, &why);
	if (result == STAND_REFUSED)
		return why;
	if (result == STAND_FOUND || allowed)
		return NULL;
	return may_run_no_step(user, account->pw_name, result, config);
}
