// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings of io_uring of a frozen tree: their URING records.
 *
 * An idle ring is memory of the kernel with two positions that nobody sees, and a table of files.
 * A request in flight has state all over the kernel, so a thread that has one is refused; so is a
 * ring with anything that this file does not record.  Requests are counted for each thread, not
 * for each ring: a ring that nobody outside of the tree has is idle if all threads are.
 *
 * A ring is looked at with its lock, which no frozen thread holds.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/percpu_counter.h>
#include <linux/sched/task_stack.h>
#include <asm/unistd.h>

#include "collect.h"
#include "collect_kind.h"
#include "compat/layout.h"
#include "compat/uring.h"
#include "records.h"
#include "uring.h"

bool ckpt_uring_is_known(void)
{
	return CKPT_URING_IS_KNOWN && ckpt_layout_fits(CKPT_LAYOUT_URING_RSRC);
}

bool ckpt_collects_uring(const struct ckpt_collect *c)
{
	return c->tree->flags & CKPT_TARGET_URING && ckpt_uring_is_known();
}

bool ckpt_file_is_uring(const struct file *file)
{
	return file_inode(file)->i_sb->s_magic == ANON_INODE_FS_MAGIC &&
	       !strcmp(file->f_path.dentry->d_name.name, "[io_uring]");
}

#if CKPT_URING_IS_KNOWN

/* Others change a ring in ways that are seen afterwards, or bind it to a thread or to another. */
#define CKPT_URING_SETUP	(IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP |		\
				 IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN |	\
				 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SQE128 |	\
				 IORING_SETUP_CQE32)

#define CKPT_URING_NO_RESULT	(-38L)	/* as the entry of a system call leaves it */

/* ---------------------------------------------------------------- threads */

/* Requests that the thread has submitted and that have not ended. */
static s64 ckpt_uring_in_flight(struct io_uring_task *tctx)
{
	return percpu_counter_sum(&tctx->inflight) - tctx->cached_refs;
}

static bool ckpt_uring_has_registered(const struct io_uring_task *tctx)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tctx->registered_rings); i++)
		if (tctx->registered_rings[i])
			return true;
	return false;
}

void ckpt_collect_uring_thread(struct ckpt_collect *c, struct task_struct *task)
{
	struct io_uring_task *tctx = task->io_uring;
	s64 nr = tctx ? ckpt_uring_in_flight(tctx) : 0;

	if (nr)
		ckpt_refuse(c->cap, CKPT_R_IO_URING, task, 0, "%lld requests of io_uring in flight",
			    nr);
	/* the call itself has run the work that parks the thread, and has no result yet */
	if (task_pt_regs(task)->orig_ax == __NR_io_uring_enter &&
	    (long)task_pt_regs(task)->ax == CKPT_URING_NO_RESULT)
		ckpt_refuse(c->cap, CKPT_R_IO_URING, task, 0, "it waits in io_uring_enter");
	if (tctx && ckpt_uring_has_registered(tctx))
		ckpt_refuse(c->cap, CKPT_R_IO_URING, task, 0,
			    "it has registered the descriptor of a ring");
}

/* ---------------------------------------------------------------- rings */

static u32 ckpt_uring_sqes_len(const struct io_ring_ctx *ctx)
{
	return ctx->sq_entries * (sizeof(struct io_uring_sqe) <<
				  !!(ctx->flags & IORING_SETUP_SQE128));
}

/* Where the indices of the submission queue begin: behind the completions. */
static u32 ckpt_uring_array(const struct io_ring_ctx *ctx)
{
	return (void *)ctx->sq_array - (void *)ctx->rings;
}

static bool ckpt_uring_has_tags(const struct io_ring_ctx *ctx)
{
	const struct ckpt_uring_rsrc *data = (const void *)ctx->file_data;
	unsigned int i;

	for (i = 0; data && i < data->nr; i++)
		if (data->tags[i / CKPT_URING_TAGS][i % CKPT_URING_TAGS])
			return true;
	return false;
}

/* Tell what of the ring no restore could make again; NULL: nothing. */
static const char *ckpt_uring_flaw(const struct io_ring_ctx *ctx)
{
	const struct io_rings *rings = ctx->rings;

	if (ctx->flags & IORING_SETUP_SQPOLL)
		return "a thread of the kernel that polls (IORING_SETUP_SQPOLL)";
	if (ctx->flags & ~CKPT_URING_SETUP)
		return "a flag of io_uring_setup that is not supported";
	if (ctx->restricted || ctx->restrictions.registered)
		return "restrictions";
	if (ctx->nr_user_bufs)
		return "registered buffers";
	if (ckpt_uring_has_provided(ctx))
		return "provided buffers";
	if (ctx->has_evfd)
		return "a registered eventfd";
	if (!xa_empty(&ctx->personalities))
		return "registered credentials";
	if (ctx->iowq_limits_set)
		return "limits of its workers";
	if (ckpt_uring_has_clock(ctx))
		return "a clock of its own";
	if (ctx->nr_user_files > CKPT_URING_FILES_MAX || ckpt_uring_has_tags(ctx))
		return "registered files with tags, or too many";
	if (ctx->nr_user_files &&
	    (ctx->file_alloc_start || ctx->file_alloc_end != ctx->nr_user_files))
		return "a range of registered files to choose from";
	if (!list_empty(&ctx->cq_overflow_list) || !list_empty(&ctx->defer_list))
		return "completions without room, or requests that wait for others";
	if (READ_ONCE(rings->sq.head) != ctx->cached_sq_head ||
	    READ_ONCE(rings->cq.tail) != ctx->cached_cq_tail)
		return "a completion under way, or queues that the program has changed";
	return NULL;
}

static int ckpt_uring_meet_files(struct ckpt_collect *c, struct ckpt_object *obj,
				 const struct io_ring_ctx *ctx)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ctx->nr_user_files; i++)
		if (ckpt_uring_file(ctx, i))
			err = ckpt_collect_travelling(c, ckpt_uring_file(ctx, i), obj->task);
	return err;
}

/* Registered files count as open. */
static int ckpt_uring_meet(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct io_ring_ctx *ctx;
	int err;

	if (!ckpt_file_is_uring(obj->file.file) || !ckpt_collects_uring(c))
		return 0;
	ctx = obj->file.file->private_data;
	if (mutex_lock_killable(&ctx->uring_lock))
		return -EINTR;
	err = ckpt_uring_meet_files(c, obj, ctx);
	mutex_unlock(&ctx->uring_lock);
	return err;
}

static void ckpt_uring_fill(struct ckpt_collect *c, struct ckpt_object *obj,
			    const struct io_ring_ctx *ctx, struct ckpt_rec_uring *rec)
{
	const struct ckpt_object *file;
	u32 *ids = (u32 *)(rec + 1);
	void *bytes = (void *)ids + ALIGN(rec->of.nr * sizeof(*ids), 8);
	unsigned int i;

	for (i = 0; i < rec->of.nr; i++) {
		file = ckpt_uring_file(ctx, i) ? ckpt_object_find(c->objs, CKPT_OBJ_FILE,
								  ckpt_uring_file(ctx, i), NULL) :
						 NULL;
		ids[i] = file ? file->id : 0;
		if (ckpt_uring_file(ctx, i) && !file)
			ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, obj->id,
				    "a thread left out has registered a file meanwhile");
	}
	memcpy(bytes, ctx->rings, rec->rings_len);
	memcpy(bytes + ALIGN(rec->rings_len, 8), ctx->sq_sqes, rec->sqes_len);
}

/* With the ring's lock. */
static int ckpt_uring_record(struct ckpt_collect *c, struct ckpt_object *obj,
			     const struct io_ring_ctx *ctx)
{
	u32 rings_len = ckpt_uring_array(ctx) + ctx->sq_entries * sizeof(u32);
	u32 sqes_len = ckpt_uring_sqes_len(ctx);
	struct ckpt_rec_uring *rec;

	if (rings_len + sqes_len > CKPT_URING_BYTES_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, obj->id, "an io_uring of %u bytes",
			    rings_len + sqes_len);
		rings_len = 0;
		sqes_len = 0;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_URING,
			       sizeof(*rec) + ALIGN(ctx->nr_user_files * sizeof(u32), 8) +
			       ALIGN(rings_len, 8) + sqes_len);
	if (!rec)
		return -ENOMEM;
	rec->of.file = obj->id;
	rec->of.nr = ctx->nr_user_files;
	rec->setup = ctx->flags & CKPT_URING_SETUP;
	rec->sq_entries = ctx->sq_entries;
	rec->cq_entries = ctx->cq_entries;
	rec->sq_head = ctx->cached_sq_head;
	rec->cq_tail = ctx->cached_cq_tail;
	rec->sq_array = ckpt_uring_array(ctx);
	rec->cqes = offsetof(struct io_rings, cqes);
	rec->rings_len = rings_len;
	rec->sqes_len = sqes_len;
	ckpt_uring_fill(c, obj, ctx, rec);
	return 0;
}

static bool ckpt_uring_is_own(struct ckpt_collect *c, struct ckpt_object *obj)
{
	/* one reference of each descriptor and mapping, and the object's */
	if (file_count(obj->file.file) <= obj->users + 1)
		return true;
	ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, obj->id,
		    "a process outside, or a descriptor left out, has the ring, too");
	return false;
}

static int ckpt_uring_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct io_ring_ctx *ctx = obj->file.file->private_data;
	const char *flaw;
	int err = 0;

	if (!ckpt_collects_uring(c)) {
		ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, obj->id, "%pD", obj->file.file);
		return 0;
	}
	if (!ckpt_uring_is_own(c, obj))
		return 0;
	if (mutex_lock_killable(&ctx->uring_lock))
		return -EINTR;
	flaw = ckpt_uring_flaw(ctx);
	if (flaw)
		ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, obj->id, "the ring has %s", flaw);
	else
		err = ckpt_uring_record(c, obj, ctx);
	mutex_unlock(&ctx->uring_lock);
	return err;
}

/* ---------------------------------------------------------------- mappings */

/* Is it one of the three that the kernel gives, from its beginning? */
static bool ckpt_uring_is_mapped_so(const struct vm_area_struct *vma)
{
	unsigned long at = vma->vm_pgoff << PAGE_SHIFT;

	return vma->vm_flags & VM_MAYSHARE && (at == IORING_OFF_SQ_RING ||
					       at == IORING_OFF_CQ_RING || at == IORING_OFF_SQES);
}

u32 ckpt_collect_uring_vma(struct ckpt_collect *c, struct ckpt_object *obj,
			   struct vm_area_struct *vma)
{
	struct ckpt_object *file = ckpt_object_find(c->objs, CKPT_OBJ_FILE, vma->vm_file, NULL);
	const char *why = NULL;

	if (!ckpt_collects_uring(c))
		why = "of an io_uring";
	else if (!file || !file->file.file || file->key != file->file.file)
		why = "of an io_uring whose descriptor is closed";
	else if (!ckpt_uring_is_mapped_so(vma))
		why = "of an io_uring, not as the kernel maps it";
	if (why) {
		ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, vma->vm_start, "%lx-%lx %s",
			    vma->vm_start, vma->vm_end, why);
		return 0;
	}
	file->users++;		/* the mapping has the file */
	return file->id;
}

#else

void ckpt_collect_uring_thread(struct ckpt_collect *c, struct task_struct *task)
{
}

static int ckpt_uring_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, obj->id, "unknown to this kernel's module");
	return 0;
}

u32 ckpt_collect_uring_vma(struct ckpt_collect *c, struct ckpt_object *obj,
			   struct vm_area_struct *vma)
{
	ckpt_refuse(c->cap, CKPT_R_IO_URING, obj->task, vma->vm_start, "%lx-%lx of an io_uring",
		    vma->vm_start, vma->vm_end);
	return 0;
}

#endif

const struct ckpt_collect_kind ckpt_kind_uring = {
	.kinds = { CKPT_FILE_URING },
	.anon_name = "[io_uring]",
#if CKPT_URING_IS_KNOWN
	.meet = ckpt_uring_meet,
#endif
	.collect = ckpt_uring_collect,
};
