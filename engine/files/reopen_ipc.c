// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V objects: made anew or found; see reopen_ipc.h.
 *
 * Their order: ids first, as a file of a segment and an undo list need them; values, messages and
 * attributes last, as a final mode may forbid what the restore has to do.  A found object keeps its
 * content until then, in memory, too, so that a failure gives it back (reopen_ipc_content.c).
 */
#include "base/error.h"
#include "engine/files/reopen_ipc.h"
#include "engine/files/reopen_ipc_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/core/rights.h"

static const char *const names[] = {
	[ENGINE_IPC_SHM] = "shared memory", [ENGINE_IPC_SEM] = "semaphore set",
	[ENGINE_IPC_MSG] = "message queue",
};

int reopen_ipc_failed(struct reopen *r, const struct engine_rec_ipc *rec, int err,
		      const char *what)
{
	return error_fail(r->error, err, "cannot %s %s %d (key 0x%x): %s", what, names[rec->kind],
			  rec->id, (unsigned int)rec->key, strerror(-err));
}

static int refuse_ipc(struct reopen *r, const struct engine_rec_ipc *rec, const char *why)
{
	struct error_refusal refusal = {
		.reason = CKPT_R_SYSV_IPC, .object = (uint64_t)(unsigned int)rec->id,
	};

	error_refuse(r->error, &refusal, "%s %d (key 0x%x): %s", names[rec->kind], rec->id,
		     (unsigned int)rec->key, why);
	return 0;
}

/* ---------------------------------------------------------------- as they are */

/* Read the object's attributes; -EINVAL or -EIDRM: there is none of that id. */
int reopen_ipc_stat(const struct engine_rec_ipc *rec, union ipc_ds *ds)
{
	int ret;

	switch (rec->kind) {
	case ENGINE_IPC_SHM:
		ret = shmctl(rec->id, IPC_STAT, &ds->shm);
		break;
	case ENGINE_IPC_SEM:
		ret = semctl(rec->id, 0, IPC_STAT, (union semun){ .buf = &ds->sem });
		break;
	default:
		ret = msgctl(rec->id, IPC_STAT, &ds->msg);
	}
	return ret ? -errno : 0;
}

/* A process that lives and has used the object; 0: none is known. */
static pid_t user_of(const struct engine_rec_ipc *rec, const union ipc_ds *ds)
{
	pid_t pids[2] = { 0, 0 };

	if (rec->kind == ENGINE_IPC_SHM) {
		pids[0] = ds->shm.shm_lpid;
		pids[1] = ds->shm.shm_cpid;
	} else if (rec->kind == ENGINE_IPC_MSG) {
		pids[0] = ds->msg.msg_lspid;
		pids[1] = ds->msg.msg_lrpid;
	} else if (ds->sem.sem_nsems) {
		pids[0] = semctl(rec->id, 0, GETPID);
	}
	for (int i = 0; i < 2; i++)
		if (pids[i] > 0 && pids[i] != getpid() && (!kill(pids[i], 0) || errno == EPERM))
			return pids[i];
	return 0;
}

static uint64_t ipc_size(const struct engine_rec_ipc *rec, const union ipc_ds *ds)
{
	return rec->kind == ENGINE_IPC_SHM ? ds->shm.shm_segsz :
	       rec->kind == ENGINE_IPC_SEM ? ds->sem.sem_nsems : rec->size;
}

bool reopen_is_same_boot(const struct reopen *r)
{
	char boot[40] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	bool same = file && fgets(boot, sizeof(boot), file) && r->state->tree &&
		    !strncmp(boot, r->state->tree->boot_id, 36);

	if (file)
		fclose(file);
	return same;
}

/* Tell why the object of that id is not the tree's own; NULL: its former run has left it. */
static const char *why_not_ours(const struct reopen *r, const struct engine_rec_ipc *rec,
				const union ipc_ds *ds, char *buf, size_t size)
{
	const struct ipc_perm *perm = &ds->shm.shm_perm;	/* the first member of each */

	if (!reopen_is_same_boot(r) || perm->__key != rec->key || perm->cuid != rec->cuid ||
	    perm->cgid != rec->cgid || ipc_size(rec, ds) != rec->size)
		return "its number belongs to another object";
	if (rec->kind == ENGINE_IPC_SHM && ds->shm.shm_nattch)
		return "somebody has it attached";
	if (user_of(rec, ds)) {
		snprintf(buf, size, "process %d uses it", user_of(rec, ds));
		return buf;
	}
	return NULL;
}

/* ---------------------------------------------------------------- made anew */

/* Have the kernel use the id for the next object of the kind. */
static int choose_id(const struct engine_rec_ipc *rec)
{
	static const char *const paths[] = {
		[ENGINE_IPC_SHM] = "/proc/sys/kernel/shm_next_id",
		[ENGINE_IPC_SEM] = "/proc/sys/kernel/sem_next_id",
		[ENGINE_IPC_MSG] = "/proc/sys/kernel/msg_next_id",
	};
	_cleanup_fd_ int fd = open(paths[rec->kind], O_WRONLY | O_CLOEXEC);
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", rec->id);

	return fd < 0 || write(fd, text, (size_t)len) != len ? -errno : 0;
}

static int ipc_get(const struct engine_rec_ipc *rec)
{
	const int flags = IPC_CREAT | IPC_EXCL | 0600;
	int id;

	switch (rec->kind) {
	case ENGINE_IPC_SHM:
		id = shmget(rec->key, rec->size, flags);
		break;
	case ENGINE_IPC_SEM:
		id = semget(rec->key, (int)rec->size, flags);
		break;
	default:
		id = msgget(rec->key, flags);
	}
	return id < 0 ? -errno : id;
}

/* Make the object as its creator, who keeps rights on it: only root can be somebody else. */
static int get_as_creator(const struct engine_rec_ipc *rec)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool other = rec->cuid != uid || rec->cgid != gid;
	int id;

	if (!other || (uid && rec->cuid == uid))
		return ipc_get(rec);
	if (uid)
		return -EPERM;
	if (syscall(SYS_setresgid, -1, rec->cgid, -1))
		return -errno;
	id = syscall(SYS_setresuid, -1, rec->cuid, -1) ? -errno : ipc_get(rec);
	if (syscall(SYS_setresuid, -1, uid, -1) || syscall(SYS_setresgid, -1, gid, -1))
		return -EPERM;
	return id;
}

void reopen_ipc_remove(const struct engine_rec_ipc *rec, int id)
{
	if (rec->kind == ENGINE_IPC_SHM)
		shmctl(id, IPC_RMID, NULL);
	else if (rec->kind == ENGINE_IPC_SEM)
		semctl(id, 0, IPC_RMID);
	else
		msgctl(id, IPC_RMID, NULL);
}

static int ipc_make(struct reopen *r, struct reopen_ipc *ipc)
{
	const struct engine_rec_ipc *rec = ipc->rec;
	int id = choose_id(rec);

	if (id)
		return reopen_ipc_failed(r, rec, id, "choose the number of");
	id = get_as_creator(rec);
	if (id == -EEXIST)
		return refuse_ipc(r, rec, "its key belongs to another object");
	if (id < 0)
		return reopen_ipc_failed(r, rec, id, "make");
	if (id != rec->id) {
		reopen_ipc_remove(rec, id);
		return refuse_ipc(r, rec, "its number belongs to another object");
	}
	ipc->made = true;
	return 0;
}

static int make_or_find(struct reopen *r, struct reopen_ipc *ipc)
{
	const char *why;
	union ipc_ds ds;
	char buf[48];
	int ret = reopen_ipc_stat(ipc->rec, &ds);

	if (ret == -EINVAL || ret == -EIDRM)
		return ipc_make(r, ipc);
	why = ret == -EACCES ? "its number belongs to another object" :
			       ret ? strerror(-ret) :
				     why_not_ours(r, ipc->rec, &ds, buf, sizeof(buf));
	if (why)
		return refuse_ipc(r, ipc->rec, why);
	ipc->found = true;
	ipc->before = ds;
	ret = reopen_ipc_keep(ipc);
	return ret ? reopen_ipc_failed(r, ipc->rec, ret, "read") : 0;
}

/* Will undo lists be noted of the set? */
static bool is_undone(const struct reopen *r, int id)
{
	for (unsigned int i = 0; i < r->state->nr_procs; i++) {
		const struct ckpt_rec_semadj *rec = r->state->procs[i].semadjs;

		for (unsigned int k = 0; k < r->state->procs[i].nr_semadjs; k++) {
			if (rec->id == id)
				return true;
			rec = (const void *)((const char *)rec + rec->hdr.len);
		}
	}
	return false;
}

int reopen_ipc_make(struct reopen *r)
{
	const struct state *state = r->state;
	int ret = 0;

	if (!state->nr_ipcs)
		return 0;
	r->ipcs = calloc(state->nr_ipcs, sizeof(*r->ipcs));
	if (!r->ipcs)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !ret && i < state->nr_ipcs; i++) {
		struct reopen_ipc *ipc = &r->ipcs[i];

		ipc->rec = state->ipcs[i];
		ret = make_or_find(r, ipc);
		ipc->undone = ipc->rec->kind == ENGINE_IPC_SEM && is_undone(r, ipc->rec->id);
		if (!ret && ipc->undone && !error_refused(r->error, "restore"))
			ret = reopen_ipc_open_set(r, ipc);
	}
	return ret ? ret : error_refused(r->error, "restore");
}

/* ---------------------------------------------------------------- segments */

static struct reopen_ipc *ipc_of_file(struct reopen *r, const struct state_file *file)
{
	for (unsigned int i = 0; r->ipcs && i < r->state->nr_ipcs; i++)
		if (r->ipcs[i].rec->kind == ENGINE_IPC_SHM &&
		    (uint64_t)r->ipcs[i].rec->id == file->rec->object)
			return &r->ipcs[i];
	return NULL;
}

/* A descriptor of the segment: /proc/self/map_files leads to its file. */
static int open_segment(struct reopen *r, const struct state_file *file, struct reopen_ipc *ipc)
{
	size_t size = ((size_t)ipc->rec->size + 4095) & ~4095UL;
	char *map = shmat(ipc->rec->id, NULL, 0);
	char path[80];
	int ret = 0, fd;

	if (map == (void *)-1)
		return reopen_failed(r, file, -errno, "attach");
	ipc->file = file;
	if (ipc->made && file->blob)
		ret = reopen_blob(r, file->blob, -1, map);
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)map,
		 (unsigned long)map + size);
	fd = ret ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (ret)
		ret = reopen_failed(r, file, ret, "fill");
	else if (fd < 0)
		ret = reopen_failed(r, file, -errno, "get a descriptor of");
	shmdt(map);
	return ret ? ret : fd;
}

int reopen_ipc_open(struct reopen *r, const struct state_file *file)
{
	unsigned int first = r->first[file - r->state->files];
	struct reopen_ipc *ipc = ipc_of_file(r, file);
	int fd;

	if (!ipc)
		return error_fail(r->error, -EBADMSG, "the image has no System V segment %llu",
				  (unsigned long long)file->rec->object);
	if (file->blob && file->blob->size > ipc->rec->size)
		return error_fail(r->error, -EBADMSG, "System V segment %d is shorter than its "
				  "content", ipc->rec->id);
	if (r->bases[first] < 0) {
		fd = open_segment(r, file, ipc);
		if (fd < 0)
			return fd;
		r->bases[first] = fd;
	}
	fd = reopen_again(r->bases[first], O_RDWR | O_CLOEXEC);
	return fd < 0 ? reopen_failed(r, file, fd, "open") : fd;
}
