// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serve process management as after a restart, to ranks that inherit nothing:
 *
 *	pm_late mpich N PROGRAM [ARGUMENT...]
 *	pm_late LIBRARY N PROGRAM [ARGUMENT...]		libckpt-pmix.so, for Open MPI
 *
 * The ranks get by their environment what restored ones will be told.  In PM_LATE_USERS is
 * a variable that stands for all that the job was started with.  With PM_LATE_LOST the ranks are
 * killed after so many seconds without a word to the server, as a rollback takes their
 * connections away; then the server is renewed, and has other ranks.  Exit status: 0 if all ranks
 * of the last server ended with 0 and nobody complained.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/pm.h"

struct serve {
	struct reactor *reactor;
	struct ranks ranks;
	const struct pm_ops *ops;
	struct pm *pm;
	struct child {
		struct serve *serve;
		unsigned int index;
		pid_t pid;
	} child[RANKS_NODE_MAX];
	unsigned int left;
	bool lost;		/* these ranks are killed */
	int status;
};

static void on_abort(int code, const char *text, void *arg)
{
	struct serve *serve = arg;

	fprintf(stderr, "pm_late: %s\n", text);
	serve->status = 1;
	reactor_stop(serve->reactor);
}

static void on_fence(const void *data, size_t len, void *arg)
{
	on_abort(1, "a fence, on one node", arg);
}

static const struct pm_events events = { on_abort, on_fence };

static void on_end(int status, void *arg)
{
	struct child *child = arg;
	struct serve *serve = child->serve;

	if (!serve->lost && status)
		serve->status = 1;
	if (!serve->lost)
		serve->ops->rank_ended(serve->pm, child->index, status);
	if (!--serve->left)
		reactor_stop(serve->reactor);
}

static int start(struct serve *serve, unsigned int index, char **argv)
{
	struct reactor_source *source;
	json_t *env = json_array();
	size_t i;
	pid_t pid;

	if (serve->ops->rank_env(serve->pm, index, env))
		return -1;
	pid = fork();
	if (!pid) {
		for (i = 0; i < json_array_size(env); i++)
			putenv((char *)json_string_value(json_array_get(env, i)));
		execvp(argv[0], argv);
		_exit(127);
	}
	json_decref(env);
	serve->child[index] = (struct child) { serve, index, pid };
	return pid < 0 ? -1 : reactor_child(serve->reactor, pid, on_end,
					    &serve->child[index], &source);
}

static const struct pm_ops *find(const char *name)
{
	void *library;

	if (!strcmp(name, "mpich"))
		return &pm_pmi1;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, "pm_pmix") : NULL;
}

static int run(struct serve *serve, char **argv)
{
	char *users[] = { getenv("PM_LATE_USERS"), NULL };
	struct pm_config config = {
		.reactor = serve->reactor,
		.ranks = &serve->ranks,
		.events = &events,
		.arg = serve,
		.job = 1,
		.flags = PM_LATE,
		.env = users,
		.uid = getuid(),
		.gid = getgid(),
	};
	unsigned int i;

	if (serve->pm ? serve->ops->renew(serve->pm) :
	    serve->ops->create(&config, &serve->pm) || serve->ops->serve(serve->pm))
		return 1;
	serve->left = serve->ranks.nr;
	for (i = 0; i < serve->ranks.nr; i++) {
		if (start(serve, i, argv))
			return 1;
	}
	return reactor_run(serve->reactor) ? 1 : serve->status;
}

static void on_lost(void *arg)
{
	const struct serve *serve = arg;
	unsigned int i;

	for (i = 0; i < serve->ranks.nr; i++)
		kill(serve->child[i].pid, SIGKILL);
}

static int run_all(struct serve *serve, char **argv)
{
	const char *seconds = getenv("PM_LATE_LOST");
	struct reactor_source *timer;

	if (seconds) {
		serve->lost = true;
		if (reactor_timer(serve->reactor, 1000 * atoi(seconds), on_lost, serve, &timer) ||
		    run(serve, argv))
			return 1;
		serve->lost = false;
	}
	return run(serve, argv);
}

int main(int argc, char **argv)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	json_t *json;
	int status = 1;

	if (!serve || argc < 4)
		return 2;
	serve->ops = find(argv[1]);
	json = json_pack("{s:o}", "map", ranks_map_even((unsigned int)atoi(argv[2]), 1));
	if (serve->ops && !ranks_parse(json, &serve->ranks, NULL) &&
	    !reactor_create(&serve->reactor))
		status = run_all(serve, argv + 3);
	if (serve->ops)
		serve->ops->destroy(serve->pm);
	reactor_destroy(serve->reactor);
	ranks_done(&serve->ranks);
	json_decref(json);
	free(serve);
	return status;
}
