// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that a rollback ends; see rollback_extra.h.
 *
 * Owns the search for them and the registers with which they end. The vDSO is the same in all
 * processes, so the system call is looked for in this process's own.
 */
#include "engine/restore/rollback_extra.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "engine/restore/restore_records.h"

#define AWAIT_NS	1000000		/* between two looks */
#define AWAIT_LOOKS	1000

long rollback_extra_syscall(const unsigned char *code, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			return (long)i;
	return -1;
}

/* Where the process will have a system call instruction; 0: nowhere. */
static uint64_t find_exit(const struct state_proc *image, long offset)
{
	for (unsigned int i = 0; offset >= 0 && image->mm && i < image->mm->nr_vmas; i++) {
		const struct ckpt_rec_vma *rec = image->mm->vmas[i].rec;

		if (rec->kind == CKPT_VMA_VDSO && (uint64_t)offset < rec->end - rec->start)
			return rec->start + (uint64_t)offset;
	}
	return 0;
}

static void take_of_process(const struct state *image, const struct state_proc *now, long offset,
			   struct rollback_extra *extra, char *why, size_t size)
{
	const struct state_proc *proc = state_proc_find(image, now->rec->pid);

	for (unsigned int i = 0; i < now->nr_threads; i++) {
		const struct ckpt_rec_thread *rec = now->threads[i].rec;

		if (!proc || state_thread_find(image, rec->tid))
			continue;
		extra->threads[extra->nr] = (struct extra_thread){
			.thread = &now->threads[i], .host_tid = rec->host_tid,
			.exit = find_exit(proc, offset),
		};
		if (!extra->threads[extra->nr++].exit)
			snprintf(why, size, "process %d has more threads, and no vDSO",
				 now->rec->pid);
	}
}

int rollback_extra_find(const struct state *image, const struct state *now, size_t vdso_size,
			struct rollback_extra *extra, char *why, size_t size)
{
	const unsigned char *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	long offset = vdso ? rollback_extra_syscall(vdso, vdso_size) : -1;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < now->nr_procs; i++)
		nr += now->procs[i].nr_threads;
	*extra = (struct rollback_extra){ .threads = calloc(nr + 1, sizeof(*extra->threads)) };
	if (!extra->threads)
		return -ENOMEM;
	for (unsigned int i = 0; i < now->nr_procs; i++)
		take_of_process(image, &now->procs[i], offset, extra, why, size);
	return 0;
}

int rollback_extra_apply(struct restore_records *s, const struct rollback_extra *extra)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < extra->nr; i++) {
		struct ckpt_rec_thread *rec = restore_records_append(s, sizeof(*rec));
		struct user_regs_struct *regs;
		__u32 len = sizeof(*rec);

		if (!rec)
			return restore_records_no_memory(s);
		regs = (void *)rec->regs;
		*rec = *extra->threads[i].thread->rec;
		rec->hdr.len = len;
		regs->rip = extra->threads[i].exit;
		regs->rax = SYS_exit;
		regs->orig_rax = ~0ULL;		/* no call that would be restarted */
		regs->rdi = 0;
		rec->sigmask = ~0ULL;
		rec->sas_sp = 0;
		rec->sas_size = 0;
		rec->sas_flags = 0;
		rec->rseq = 0;
		rec->rseq_len = 0;
		rec->pdeath_signal = 0;
		rec->robust_list = 0;
		rec->clear_child_tid = 0;
		memset(&rec->restart, 0, sizeof(rec->restart));
		ret = restore_records_call(s, rec->tid, "a thread that ends");
	}
	return ret;
}

void rollback_extra_await(const struct rollback_extra *extra)
{
	const struct timespec pause = { .tv_nsec = AWAIT_NS };
	unsigned int looks = 0;
	char path[32];

	for (unsigned int i = 0; i < extra->nr; i++) {
		snprintf(path, sizeof(path), "/proc/%d", (int)extra->threads[i].host_tid);
		while (!access(path, F_OK) && looks++ < AWAIT_LOOKS)
			nanosleep(&pause, NULL);
	}
}

void rollback_extra_done(struct rollback_extra *extra)
{
	free(extra->threads);
	memset(extra, 0, sizeof(*extra));
}
