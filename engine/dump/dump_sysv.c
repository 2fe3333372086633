// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which System V objects are the tree's, and which of these cannot be saved.
 *
 * In an IPC namespace of the tree's own, all are.  A tree in the dumper's namespace (ckptctl dump,
 * run --host-ns) shares it with everybody, so this file tells the tree's objects from others'.  The
 * kernel keeps of an object the user who created it, the processes that used it last and, of shared
 * memory alone, the creating process.  An object counts as the tree's if
 *
 *   - such a process is in the tree, or one of its threads is in a call on the object, or the tree
 *     has it attached, or
 *   - a user of the tree created it while the tree ran, and none of these processes lives.
 *
 * The second rule is for what was created and not used yet, or by processes that have ended;
 * it may also meet what the same user's other programs left behind.  An object that is somebody
 * else's, too, is refused: one that another living process used, and a set or queue that is older
 * than the tree.  What only excluded ranges map is not the tree's.
 *
 * Looks in the pause, and changes nothing.
 */
#include "base/error.h"
#include "engine/dump/dump_ipc.h"
#include "engine/dump/dump_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NSEC		1000000000ULL
#define REG_DI		14	/* first argument; see CKPT_NR_REGS */
#define REG_ORIG_AX	15	/* number of the system call; -1: in none */

/* The tree, as it looks to whoever is asked about an object. */
struct dump_sysv {
	struct dump *d;
	pid_t *pids;		/* of all processes, in our PID namespace, sorted */
	unsigned int nr_pids;
	uid_t *uids;		/* that any thread has, each once */
	unsigned int nr_uids;
	int64_t since;		/* seconds of CLOCK_REALTIME: when the first root began */
	uint32_t flags;		/* of all records: ENGINE_IPC_NAMESPACE or 0 */
	int err;		/* the first failure */
};

/* One object, and who used it. */
struct sysv_object {
	const char *what;
	int id;
	struct ipc_perm perm;
	time_t created;		/* at the latest: a change of its attributes counts, too */
	pid_t user;		/* of the tree, who used it; 0: nobody known */
	pid_t others;		/* a process that lives outside the tree used it; 0: none */
	bool attached;		/* by the tree */
};

static int compare_pids(const void *one, const void *other)
{
	pid_t a = *(const pid_t *)one, b = *(const pid_t *)other;

	return (a > b) - (a < b);
}

/* ---------------------------------------------------------------- the tree */

static void dump_sysv_add_uid(struct dump_sysv *sysv, uint32_t uid)
{
	for (unsigned int i = 0; i < sysv->nr_uids; i++)
		if (sysv->uids[i] == uid)
			return;
	sysv->uids[sysv->nr_uids++] = uid;
}

/* When the process began, in seconds of CLOCK_REALTIME as of the freeze; INT64_MAX: unknown. */
static int64_t began_at(const struct ckpt_rec_system *system, pid_t pid)
{
	char path[40], text[1024] = "", *at;
	unsigned long long ticks;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return INT64_MAX;
	at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	/* field 22; the second one ends with the last bracket */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return INT64_MAX;
	return (int64_t)((system->realtime_ns - system->boottime_ns) / NSEC +
			 ticks / (unsigned long long)sysconf(_SC_CLK_TCK));
}

static int dump_sysv_init(struct dump_sysv *sysv, struct dump *d)
{
	const struct state *state = d->cap.state;

	*sysv = (struct dump_sysv){ .d = d, .since = INT64_MAX };
	sysv->pids = calloc(state->nr_procs + 1, sizeof(*sysv->pids));
	sysv->uids = calloc(4 * (size_t)state->nr_threads + 1, sizeof(*sysv->uids));
	if (!sysv->pids || !sysv->uids)
		return -ENOMEM;
	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *proc = &state->procs[i];
		int64_t began = proc->parent ? INT64_MAX :
					       began_at(state->system, proc->rec->host_pid);

		sysv->pids[sysv->nr_pids++] = proc->rec->host_pid;
		if (began < sysv->since)
			sysv->since = began;
	}
	for (unsigned int i = 0; i < state->nr_threads; i++) {
		const struct ckpt_creds *creds = &state->threads[i].rec->creds;

		dump_sysv_add_uid(sysv, creds->uid);
		dump_sysv_add_uid(sysv, creds->euid);
		dump_sysv_add_uid(sysv, creds->suid);
	}
	qsort(sysv->pids, sysv->nr_pids, sizeof(*sysv->pids), compare_pids);
	return 0;
}

static void dump_sysv_done(struct dump_sysv *sysv)
{
	free(sysv->pids);
	free(sysv->uids);
}

/* The tree's IPC namespace, of a thread that lives: a leader that has ended has none. */
static int open_namespace(const struct state *state)
{
	struct dirent *entry;
	char path[64];
	int fd;

	for (unsigned int i = 0; i < state->nr_procs; i++) {
		pid_t pid = state->procs[i].rec->host_pid;

		if (!state->procs[i].mm)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		_cleanup_dir_ DIR *dir = opendir(path);

		while (dir && (entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "/proc/%d/task/%.16s/ns/ipc", pid,
				 entry->d_name);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0)
				return fd;
		}
	}
	return -ESRCH;
}

bool dump_ipc_is_ours(const struct state *state)
{
	_cleanup_fd_ int there = open_namespace(state);
	struct stat theirs, ours;

	return there >= 0 && fstat(there, &theirs) == 0 && stat("/proc/self/ns/ipc", &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* ---------------------------------------------------------------- an object */

/* Note a process that the kernel names as one that used the object; 0: it names none. */
static void note_user(const struct dump_sysv *sysv, struct sysv_object *object, pid_t pid)
{
	if (pid <= 0)
		return;
	if (bsearch(&pid, sysv->pids, sysv->nr_pids, sizeof(pid), compare_pids))
		object->user = pid;
	else if (kill(pid, 0) == 0 || errno == EPERM)
		object->others = pid;
}

/* Has a user of the tree created the object while the tree ran, and does nobody use it? */
static bool is_left_by_us(const struct dump_sysv *sysv, const struct sysv_object *object)
{
	/* the kernel's clock of files may be behind by a tick, and both are cut to seconds */
	if (object->others || object->created + 1 < sysv->since)
		return false;
	for (unsigned int i = 0; i < sysv->nr_uids; i++)
		if (sysv->uids[i] == object->perm.cuid)
			return true;
	return false;
}

/* Name in the refusal the process that it is about. */
static void dump_sysv_name(const struct state *state, struct error_refusal *refusal)
{
	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (state->procs[i].rec->host_pid == refusal->pid)
			memcpy(refusal->comm, state->procs[i].rec->comm, sizeof(refusal->comm));
}

/* A thread of the tree that was frozen in a call on the object, or NULL. */
static const struct state_thread *find_caller(const struct dump_sysv *sysv,
					      const struct sysv_object *object,
					      const long calls[2])
{
	const struct state *state = sysv->d->cap.state;

	for (unsigned int i = 0; i < state->nr_threads; i++) {
		const __u64 *regs = state->threads[i].rec->regs;
		long call = (long)regs[REG_ORIG_AX];

		if ((int)regs[REG_DI] == object->id && (call == calls[0] || call == calls[1]))
			return &state->threads[i];
	}
	return NULL;
}

/* Tell why the object is not the tree's alone; NULL: it is. */
static const char *shared_with(const struct dump_sysv *sysv, const struct sysv_object *object,
			       char *buf, size_t size)
{
	bool older = object->created + 1 < sysv->since;

	if (!(sysv->d->cap.dev->info.features & CKPT_FEAT_SYSV))
		return "the kernel module cannot save it: load its newer version";
	if (object->others) {
		snprintf(buf, size, "process %d outside of the tree uses it, too", object->others);
		return buf;
	}
	return older && !object->attached ? "the tree uses it, and it is older than the tree" :
					    NULL;
}

/*
 * Is the object to be saved? @calls are those that wait on such objects. Refuse the tree if the
 * object is its own and somebody else's.
 */
static bool dump_sysv_judge(struct dump_sysv *sysv, const struct sysv_object *object,
			    const long calls[2])
{
	const struct state *state = sysv->d->cap.state;
	const struct state_thread *caller = find_caller(sysv, object, calls);
	struct error_refusal refusal = {
		.reason = CKPT_R_SYSV_IPC, .pid = object->user, .object = (uint64_t)object->id,
	};
	const char *why;
	char buf[80];

	if (sysv->flags & ENGINE_IPC_NAMESPACE)
		return true;
	if (!object->user && !caller && !object->attached && !is_left_by_us(sysv, object))
		return false;
	why = shared_with(sysv, object, buf, sizeof(buf));
	if (!why)
		return true;
	if (caller) {
		refusal.pid = caller->proc->rec->host_pid;
		refusal.tid = caller->rec->host_tid;
	} else if (!object->user) {
		refusal.pid = state->procs[0].rec->host_pid;
	}
	dump_sysv_name(state, &refusal);
	error_refuse(sysv->d->error, &refusal, "%s %d (key 0x%x): %s", object->what, object->id,
		     (unsigned int)object->perm.__key, why);
	return false;
}

static void dump_sysv_note(struct dump_sysv *sysv, int ret)
{
	if (ret && !sysv->err)
		sysv->err = ret;
}

/* ---------------------------------------------------------------- kinds */

static void check_queues(struct dump_sysv *sysv)
{
	static const long calls[2] = { SYS_msgsnd, SYS_msgrcv };
	struct msginfo info;
	struct msqid_ds ds;
	int last = msgctl(0, MSG_INFO, (struct msqid_ds *)&info);

	for (int i = 0; i <= last; i++) {
		struct sysv_object object = { .what = "message queue" };

		object.id = msgctl(i, MSG_STAT_ANY, &ds);
		if (object.id < 0)
			continue;
		object.perm = ds.msg_perm;
		object.created = ds.msg_ctime;
		note_user(sysv, &object, ds.msg_lspid);
		note_user(sysv, &object, ds.msg_lrpid);
		if (dump_sysv_judge(sysv, &object, calls))
			dump_sysv_note(sysv, dump_ipc_queue(sysv->d, object.id, &ds, sysv->flags));
	}
}

union semun {
	int val;
	struct semid_ds *buf;
	struct seminfo *info;
};

static void check_semaphores(struct dump_sysv *sysv)
{
	static const long calls[2] = { SYS_semop, SYS_semtimedop };
	struct seminfo info;
	struct semid_ds ds;
	int last = semctl(0, 0, SEM_INFO, (union semun){ .info = &info });

	for (int i = 0; i <= last; i++) {
		struct sysv_object object = { .what = "semaphore set" };

		object.id = semctl(i, 0, SEM_STAT_ANY, (union semun){ .buf = &ds });
		if (object.id < 0)
			continue;
		object.perm = ds.sem_perm;
		object.created = ds.sem_ctime;
		for (int n = 0; n < (int)ds.sem_nsems; n++)
			note_user(sysv, &object, semctl(object.id, n, GETPID, (union semun){ 0 }));
		if (dump_sysv_judge(sysv, &object, calls))
			dump_sysv_note(sysv, dump_ipc_set(sysv->d, object.id, &ds, sysv->flags));
	}
}

/* Does a process of the tree map the segment? Only by a range that is excluded. */
static bool is_mapped(const struct dump_sysv *sysv, int id)
{
	bool found = false;
	char path[40];

	for (unsigned int i = 0; i < sysv->nr_pids && !found; i++) {
		_cleanup_free_ char *line = NULL;
		size_t room = 0;
		FILE *maps;

		snprintf(path, sizeof(path), "/proc/%d/maps", sysv->pids[i]);
		maps = fopen(path, "re");
		while (maps && !found && getline(&line, &room, maps) > 0) {
			unsigned long long inode;

			found = strstr(line, "/SYSV") &&
				sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 &&
				inode == (unsigned long long)id;
		}
		if (maps)
			fclose(maps);
	}
	return found;
}

/* The file that the kernel module has recorded of the segment, or NULL. */
static const struct state_file *find_segment(const struct dump_sysv *sysv, int id)
{
	const struct state *state = sysv->d->cap.state;

	for (unsigned int i = 0; i < state->nr_files; i++)
		if (state->files[i].rec->kind == CKPT_FILE_SYSV &&
		    state->files[i].rec->object == (uint64_t)id)
			return &state->files[i];
	return NULL;
}

static void refuse_segment(struct dump_sysv *sysv, const struct sysv_object *object)
{
	const struct state *state = sysv->d->cap.state;
	struct error_refusal refusal = {
		.reason = CKPT_R_SYSV_IPC, .pid = state->procs[0].rec->host_pid,
		.object = (uint64_t)object->id,
	};

	dump_sysv_name(state, &refusal);
	error_refuse(sysv->d->error, &refusal, "%s %d (key 0x%x): made by its user since it began, "
		     "by a process that is gone, and not attached", object->what, object->id,
		     (unsigned int)object->perm.__key);
}

static void check_segments(struct dump_sysv *sysv)
{
	static const long calls[2] = { -1, -1 };	/* none waits */
	struct shm_info info;
	struct shmid_ds ds;
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);

	for (int i = 0; i <= last; i++) {
		struct sysv_object object = { .what = "shared memory" };
		const struct state_file *file;

		object.id = shmctl(i, SHM_STAT_ANY, &ds);
		if (object.id < 0)
			continue;
		file = find_segment(sysv, object.id);
		object.perm = ds.shm_perm;
		object.created = ds.shm_ctime;
		object.attached = file && file->rec->flags & CKPT_FILE_MAPPED;
		note_user(sysv, &object, ds.shm_cpid);
		note_user(sysv, &object, ds.shm_lpid);
		if (!file && ds.shm_nattch && is_mapped(sysv, object.id))
			continue;
		if (!dump_sysv_judge(sysv, &object, calls))
			continue;
		if (file)
			dump_sysv_note(sysv,
				       dump_ipc_segment(sysv->d, object.id, &ds, sysv->flags));
		else
			refuse_segment(sysv, &object);
	}
}

/* ---------------------------------------------------------------- namespaces */

/* Enter the tree's IPC namespace; *ret_home leads back. */
static int enter_namespace(const struct state *state, int *ret_home)
{
	_cleanup_fd_ int there = open_namespace(state), home = -1;

	if (there < 0)
		return there;
	home = open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC);
	if (home < 0 || setns(there, CLONE_NEWIPC))
		return -errno;
	*ret_home = take_fd(&home);
	return 0;
}

static int check_all(struct dump_sysv *sysv)
{
	_cleanup_fd_ int home = -1;
	int ret = 0;

	if (sysv->flags & ENGINE_IPC_NAMESPACE)
		ret = enter_namespace(sysv->d->cap.state, &home);
	if (ret)
		return error_fail(sysv->d->error, ret, "cannot enter the tree's IPC namespace: %s",
				  strerror(-ret));
	check_queues(sysv);
	check_semaphores(sysv);
	check_segments(sysv);
	if (home >= 0 && setns(home, CLONE_NEWIPC))
		return error_fail(sysv->d->error, -errno,
				  "cannot leave the tree's IPC namespace: %s", strerror(errno));
	return sysv->err;
}

int dump_sysv_check(struct dump *d)
{
	bool ours = dump_ipc_is_ours(d->cap.state);
	struct dump_sysv sysv;
	int ret;

	/* the kernel module has refused all that a namespace of the tree's own has */
	if (!ours && !(d->cap.dev->info.features & CKPT_FEAT_SYSV))
		return 0;
	ret = dump_sysv_init(&sysv, d);
	sysv.flags = ours ? 0 : ENGINE_IPC_NAMESPACE;
	ret = ret ? error_fail(d->error, ret, "out of memory") : check_all(&sysv);
	dump_sysv_done(&sysv);
	return ret;
}
