// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMIx server of a shim, for Open MPI: libpmix does the talking; see pm.h.
 *
 * This is a library of its own, loaded only by the shim of a job that needs it:
 * libpmix brings threads and more code than the rest of the shim has.
 *
 * libpmix calls back on its own thread.  Callbacks leave their news for the shim in
 * struct news, and the shim's loop passes them on (on_wake()); the lock protects the
 * news, the open fence and the ranks' states, nothing else.  Callbacks for a fence
 * carry no argument of this file, and libpmix has one server per process: so there
 * is one static pointer here, set by pm_pmix_serve() and cleared by pm_pmix_destroy().
 *
 * Open MPI 4 takes itself for launched by its own daemons when it finds the
 * address of one, and then believes PMIx in everything; nobody listens there.
 */
#include "shim/pm.h"

#include <errno.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/pm_pmix_job.h"

struct member {
	bool in;		/* between init and finalize */
	bool was;		/* it has been @in at some time */
	bool gone;		/* its process has ended */
};

/* News from libpmix's thread that the shim's loop has not passed on yet. */
struct news {
	bool abort, fence;
	int code;
	char text[256];
};

/* One fence, from libpmix's call to its answer. */
struct fence {
	char *data;
	size_t len;
	pmix_modex_cbfunc_t done;
	void *cbdata;
};

/* A struct pm is one of these. */
struct pmix_pm {
	struct pm_base base;
	struct pm_config config;
	unsigned int run;	/* 1, and one more with each renew() */
	pmix_nspace_t nspace;
	char dir[64];
	bool up;		/* libpmix is initialised */
	bool aborted;
	int wake;
	struct reactor_source *source;
	pthread_mutex_t lock;
	struct news news;
	struct fence fence;
	struct member member[];
};

static struct pmix_pm *the_server;

static struct pmix_pm *pm_pmix_server(struct pm *pm)
{
	return (struct pmix_pm *)pm;
}

/* ------------------------------------------------- on libpmix's own thread */

static void pm_pmix_wake(struct pmix_pm *pm)
{
	uint64_t one = 1;

	while (write(pm->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

__attribute__((format(printf, 3, 4)))
static void post_abort(struct pmix_pm *pm, int code, const char *format, ...)
{
	va_list ap;

	pthread_mutex_lock(&pm->lock);
	if (!pm->news.abort) {
		pm->news.abort = true;
		pm->news.code = code & 0xff;
		va_start(ap, format);
		vsnprintf(pm->news.text, sizeof(pm->news.text), format, ap);
		va_end(ap);
	}
	pthread_mutex_unlock(&pm->lock);
	pm_pmix_wake(pm);
}

/* MPI_Init is a fence of all ranks: true if some wait, and one has ended before it. */
static bool is_stuck(const struct pmix_pm *pm)
{
	bool waits = false, lacks = false;
	unsigned int i;

	for (i = 0; i < pm->config.ranks->nr; i++) {
		waits |= pm->member[i].in;
		lacks |= pm->member[i].gone && !pm->member[i].was;
	}
	return waits && lacks;
}

static const char stuck_text[] = "a rank has ended while others wait for it in MPI_Init";

static void set_member(void *object, bool in)
{
	struct member *member = object;
	bool stuck;

	pthread_mutex_lock(&the_server->lock);
	member->in = in;
	member->was = true;
	stuck = is_stuck(the_server);
	pthread_mutex_unlock(&the_server->lock);
	if (stuck)
		post_abort(the_server, 1, "%s", stuck_text);
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
				  size_t ninfo, pmix_op_cbfunc_t done, void *cbdata)
{
	if (object)
		set_member(object, true);
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object,
				  pmix_op_cbfunc_t done, void *cbdata)
{
	if (object)
		set_member(object, false);
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_pmix_abort(const pmix_proc_t *proc, void *object, int status,
				   const char msg[], pmix_proc_t procs[], size_t nprocs,
				   pmix_op_cbfunc_t done, void *cbdata)
{
	post_abort(the_server, status, "rank %u called MPI_Abort with code %d", proc->rank,
		   status);
	return PMIX_OPERATION_SUCCEEDED;
}

static void pm_pmix_release(void *data)
{
	free(data);
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs,
			      const pmix_info_t info[], size_t ninfo, char *data, size_t len,
			      pmix_modex_cbfunc_t done, void *cbdata)
{
	struct pmix_pm *pm = the_server;
	bool busy;

	if (pm->config.ranks->nr_nodes == 1) {
		if (done)
			done(PMIX_SUCCESS, data, len, cbdata, pm_pmix_release, data);
		return PMIX_SUCCESS;
	}
	/* Across nodes only fences of the whole job are supported, one at a time. */
	if (nprocs != 1 || procs[0].rank != PMIX_RANK_WILDCARD)
		return PMIX_ERR_NOT_SUPPORTED;
	pthread_mutex_lock(&pm->lock);
	busy = pm->fence.done != NULL;
	if (!busy) {
		pm->fence = (struct fence) { data, len, done, cbdata };
		pm->news.fence = true;
	}
	pthread_mutex_unlock(&pm->lock);
	if (busy)
		return PMIX_ERR_NOT_SUPPORTED;
	pm_pmix_wake(pm);
	return PMIX_SUCCESS;
}

/* ------------------------------------------------------ in the shim's loop */

static void end_job(struct pmix_pm *pm, int code, const char *text)
{
	if (pm->aborted)
		return;
	pm->aborted = true;
	pm->config.events->abort(code, text, pm->config.arg);
}

static void on_wake(uint32_t events, void *arg)
{
	struct pmix_pm *pm = arg;
	struct fence fence;
	struct news news;
	uint64_t count;

	if (read(pm->wake, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&pm->lock);
	news = pm->news;
	fence = pm->fence;
	pm->news.fence = false;
	pthread_mutex_unlock(&pm->lock);
	if (news.fence)
		pm->config.events->fence(fence.data, fence.len, pm->config.arg);
	if (news.abort)
		end_job(pm, news.code, news.text);
}

static int pm_pmix_fence_done(struct pm *base, const void *data, size_t len)
{
	struct pmix_pm *pm = pm_pmix_server(base);
	struct fence fence;
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, data, len);
	pthread_mutex_lock(&pm->lock);
	fence = pm->fence;
	pm->fence = (struct fence) { 0 };
	pthread_mutex_unlock(&pm->lock);
	free(fence.data);
	if (!fence.done) {
		free(copy);
		return -EPROTO;
	}
	fence.done(PMIX_SUCCESS, copy, len, fence.cbdata, pm_pmix_release, copy);
	return 0;
}

static void pm_pmix_rank_ended(struct pm *base, unsigned int index, int status)
{
	struct pmix_pm *pm = pm_pmix_server(base);
	char text[64];
	bool in, stuck;

	/* libpmix reports finalize before it lets the rank go on, so @in is up to date. */
	pthread_mutex_lock(&pm->lock);
	in = pm->member[index].in;
	pm->member[index].in = false;
	pm->member[index].gone = true;
	stuck = is_stuck(pm);
	pthread_mutex_unlock(&pm->lock);
	if (stuck)
		end_job(pm, 1, stuck_text);
	if (status || !in)
		return;
	snprintf(text, sizeof(text), "rank %u ended without MPI_Finalize",
		 pm->config.ranks->rank[index]);
	end_job(pm, 1, text);
}

/* ------------------------------------------------------------------- life */

static int register_ranks(struct pmix_pm *pm)
{
	unsigned int i;
	pmix_proc_t proc;
	pmix_status_t rc;

	for (i = 0; i < pm->config.ranks->nr; i++) {
		PMIX_LOAD_PROCID(&proc, pm->nspace, pm->config.ranks->rank[i]);
		rc = PMIx_server_register_client(&proc, pm->config.uid, pm->config.gid,
						 &pm->member[i], NULL, NULL);
		if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
			return -EIO;
	}
	return 0;
}

static void pm_pmix_destroy(struct pm *base)
{
	struct pmix_pm *pm = pm_pmix_server(base);

	if (!pm)
		return;
	if (pm->up)
		PMIx_server_finalize();
	the_server = NULL;
	reactor_remove(pm->source);
	if (pm->wake >= 0)
		close(pm->wake);
	if (pm->dir[0])
		rmdir(pm->dir);
	pthread_mutex_destroy(&pm->lock);
	free(pm->fence.data);
	free(pm);
}

/* Open MPI takes the number apart: family << 16 | job, and job must not be 0. */
static void name_next(struct pmix_pm *pm)
{
	pm->run = pm->run % 0xffff + 1;
	snprintf(pm->nspace, sizeof(pm->nspace), "%llu",
		 ((unsigned long long)pm->config.job & 0x7fff) << 16 | pm->run);
}

static int pm_pmix_create(const struct pm_config *config, struct pm **ret_pm)
{
	struct pmix_pm *pm = calloc(1, sizeof(*pm) +
				    config->ranks->nr * sizeof(pm->member[0]));

	if (!pm)
		return -ENOMEM;
	pm->base.ops = &pm_pmix;
	pm->config = *config;
	pm->wake = -1;
	pthread_mutex_init(&pm->lock, NULL);
	name_next(pm);
	*ret_pm = (struct pm *)pm;
	return 0;
}

static int start_library(struct pmix_pm *pm)
{
	static pmix_server_module_t module = {
		.client_finalized = on_finalized,
		.abort = on_pmix_abort,
		.fence_nb = on_fence,
		.client_connected2 = on_connected,
	};
	pmix_info_t info[2];
	pmix_status_t rc;

	strcpy(pm->dir, "/tmp/stillpoint-pmix-XXXXXX");
	if (!mkdtemp(pm->dir)) {
		pm->dir[0] = '\0';
		return -errno;
	}
	memset(info, 0, sizeof(info));
	PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, pm->dir, PMIX_STRING);
	PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, pm->dir, PMIX_STRING);
	/* Send values in messages: no memory may be shared with a rank that will be dumped. */
	setenv("PMIX_MCA_gds", "hash", 1);
	rc = PMIx_server_init(&module, info, ARRAY_SIZE(info));
	PMIX_INFO_DESTRUCT(&info[0]);
	PMIX_INFO_DESTRUCT(&info[1]);
	pm->up = rc == PMIX_SUCCESS;
	return pm->up ? 0 : -EIO;
}

static int pm_pmix_serve(struct pm *base)
{
	struct pmix_pm *pm = pm_pmix_server(base);
	int err;

	pm->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pm->wake < 0)
		return -errno;
	err = reactor_fd(pm->config.reactor, pm->wake, EPOLLIN, on_wake, pm, &pm->source);
	the_server = pm;
	if (!err)
		err = start_library(pm);
	if (!err)
		err = pmix_job_register(pm->nspace, pm->config.ranks);
	return err ? err : register_ranks(pm);
}

__attribute__((format(printf, 2, 3)))
static void add_env(json_t *env, const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_array_append_new(env, json_string(text));
}

#define OVERSUBSCRIBE	"OMPI_MCA_mpi_oversubscribe"

static bool user_sets(const struct pmix_pm *pm, const char *name)
{
	char *const *variable;
	size_t len = strlen(name);

	for (variable = pm->config.env; *variable; variable++) {
		if (!strncmp(*variable, name, len) && (*variable)[len] == '=')
			return true;
	}
	return false;
}

/*
 * With more ranks than processors a waiting rank yields its processor, as under mpirun.  A
 * value from the node that the ranks ran on before does not hold here; the user's own does.
 */
static void add_oversubscribe(const struct pmix_pm *pm, json_t *env)
{
	if (user_sets(pm, OVERSUBSCRIBE))
		return;
	if ((long)pm->config.ranks->nr > sysconf(_SC_NPROCESSORS_ONLN))
		add_env(env, OVERSUBSCRIBE "=1");
	else if (pm->config.flags & PM_LATE)
		add_env(env, OVERSUBSCRIBE);
}

static void open_mpi_env(const struct pmix_pm *pm, unsigned int index, json_t *env)
{
	const struct ranks *ranks = pm->config.ranks;

	add_env(env, "OMPI_MCA_orte_launch=1");
	add_env(env, "OMPI_MCA_orte_local_daemon_uri=%s.0;tcp://127.0.0.1:1", pm->nspace);
	add_env(env, "OMPI_MCA_orte_hnp_uri=%s.0;tcp://127.0.0.1:1", pm->nspace);
	add_env(env, "OMPI_MCA_ess=pmi");
	add_env(env, "OMPI_MCA_pmix=^s1,s2,cray,isolated");
	add_env(env, "OMPI_MCA_ess_base_jobid=%s", pm->nspace);
	add_env(env, "OMPI_MCA_ess_base_vpid=%u", ranks->rank[index]);
	add_env(env, "OMPI_MCA_orte_ess_num_procs=%u", ranks->size);
	add_oversubscribe(pm, env);
	/* Variables that scripts around Open MPI programs read. */
	add_env(env, "OMPI_COMM_WORLD_RANK=%u", ranks->rank[index]);
	add_env(env, "OMPI_COMM_WORLD_SIZE=%u", ranks->size);
	add_env(env, "OMPI_COMM_WORLD_LOCAL_RANK=%u", index);
	add_env(env, "OMPI_COMM_WORLD_LOCAL_SIZE=%u", ranks->nr);
}

static int pm_pmix_rank_env(struct pm *base, unsigned int index, json_t *env)
{
	struct pmix_pm *pm = pm_pmix_server(base);
	char **strings = NULL;
	pmix_proc_t proc;
	size_t i;

	PMIX_LOAD_PROCID(&proc, pm->nspace, pm->config.ranks->rank[index]);
	if (PMIx_server_setup_fork(&proc, &strings) != PMIX_SUCCESS)
		return -EIO;
	for (i = 0; strings && strings[i]; i++) {
		json_array_append_new(env, json_string(strings[i]));
		free(strings[i]);
	}
	free(strings);
	open_mpi_env(pm, index, env);
	return 0;
}

static int pm_pmix_rank_fd(const struct pm *base, unsigned int index)
{
	return -1;
}

static void pm_pmix_forget(struct pm *base)
{
	/* pm_pmix_serve() runs after the fork, so init holds nothing of the server. */
}

/* libpmix cannot be initialised twice in a process: the same server has ranks of another name. */
static int pm_pmix_renew(struct pm *base)
{
	struct pmix_pm *pm = pm_pmix_server(base);
	unsigned int i;
	pmix_proc_t proc;
	int err;

	for (i = 0; i < pm->config.ranks->nr; i++) {
		PMIX_LOAD_PROCID(&proc, pm->nspace, pm->config.ranks->rank[i]);
		PMIx_server_deregister_client(&proc, NULL, NULL);
	}
	PMIx_server_deregister_nspace(pm->nspace, NULL, NULL);
	pthread_mutex_lock(&pm->lock);
	free(pm->fence.data);
	pm->fence = (struct fence) { 0 };
	pm->news = (struct news) { 0 };
	memset(pm->member, 0, pm->config.ranks->nr * sizeof(pm->member[0]));
	pthread_mutex_unlock(&pm->lock);
	pm->config.flags |= PM_LATE;
	name_next(pm);
	err = pmix_job_register(pm->nspace, pm->config.ranks);
	return err ? err : register_ranks(pm);
}

__attribute__((visibility("default")))
const struct pm_ops pm_pmix = {
	.name = "PMIx",
	.create = pm_pmix_create,
	.serve = pm_pmix_serve,
	.rank_env = pm_pmix_rank_env,
	.rank_fd = pm_pmix_rank_fd,
	.forget = pm_pmix_forget,
	.rank_ended = pm_pmix_rank_ended,
	.fence_done = pm_pmix_fence_done,
	.renew = pm_pmix_renew,
	.destroy = pm_pmix_destroy,
};
