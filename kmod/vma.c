// SPDX-License-Identifier: GPL-2.0-only
/*
 * VMA records: the kind of each mapping, its flags, its file.
 *
 * A mapping of a kind that cannot be made again is refused by name; only mappings that the caller
 * named are left out.  The functions are called with the map's mmap_lock held for reading.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/sched/signal.h>
#include <linux/userfaultfd_k.h>

#include "aio.h"
#include "uring.h"
#include "arch.h"
#include "collect.h"
#include "compat/mm.h"
#include "compat/optional.h"
#include "compat/pkeys.h"
#include "context.h"
#include "records.h"

static const struct {
	unsigned long vm;
	u64 rec;
} ckpt_vma_flags[] = {
	{ VM_READ, CKPT_VM_READ },
	{ VM_WRITE, CKPT_VM_WRITE },
	{ VM_EXEC, CKPT_VM_EXEC },
	{ VM_SHARED, CKPT_VM_SHARED },
	{ VM_MAYWRITE, CKPT_VM_MAYWRITE },
	{ VM_GROWSDOWN, CKPT_VM_GROWSDOWN },
	{ VM_LOCKED, CKPT_VM_LOCKED },
	{ VM_LOCKONFAULT, CKPT_VM_LOCKONFAULT },
	{ VM_NORESERVE, CKPT_VM_NORESERVE },
	{ VM_ACCOUNT, CKPT_VM_ACCOUNT },
	{ VM_SEQ_READ, CKPT_VM_SEQ_READ },
	{ VM_RAND_READ, CKPT_VM_RAND_READ },
	{ VM_DONTCOPY, CKPT_VM_DONTCOPY | CKPT_VM_LIVE },
	{ VM_WIPEONFORK, CKPT_VM_WIPEONFORK | CKPT_VM_LIVE },
	{ VM_DONTDUMP, CKPT_VM_DONTDUMP },
	{ VM_HUGEPAGE, CKPT_VM_HUGEPAGE },
	{ VM_NOHUGEPAGE, CKPT_VM_NOHUGEPAGE },
	{ VM_MERGEABLE, CKPT_VM_MERGEABLE },
	{ VM_SYNC, CKPT_VM_SYNC },
	{ VM_DROPPABLE, CKPT_VM_DROPPABLE },
};

static u64 ckpt_vma_translate(const struct vm_area_struct *vma)
{
	u64 flags = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ckpt_vma_flags); i++)
		if (vma->vm_flags & ckpt_vma_flags[i].vm)
			flags |= ckpt_vma_flags[i].rec;
	if (vma->anon_vma)
		flags |= CKPT_VM_HAS_ANON;
	return flags;
}

/* The name of a mapping that the kernel made, such as the vDSO, or NULL. */
static const char *ckpt_vma_special_name(struct vm_area_struct *vma)
{
	if (vma->vm_file || !vma->vm_ops || !vma->vm_ops->name)
		return NULL;
	return vma->vm_ops->name(vma);
}

static u32 ckpt_vma_special_kind(const char *name)
{
	if (!strcmp(name, "[vdso]"))
		return CKPT_VMA_VDSO;
	if (!strncmp(name, "[vvar", 5))
		return CKPT_VMA_VVAR;
	return 0;
}

static u32 ckpt_vma_file_kind(struct vm_area_struct *vma, u32 file_kind)
{
	switch (file_kind) {
	case CKPT_FILE_REG:
	case CKPT_FILE_MEMFD:
		return vma->vm_flags & VM_MAYSHARE ? CKPT_VMA_FILE_SHARED
						 : CKPT_VMA_FILE_PRIVATE;
	case CKPT_FILE_SYSV:	/* 0: mapped privately, through a descriptor from /proc */
		return vma->vm_flags & VM_MAYSHARE ? CKPT_VMA_SYSV : 0;
	case CKPT_FILE_SHM:	/* mapped privately, through a descriptor from /proc */
		return vma->vm_flags & VM_MAYSHARE ? CKPT_VMA_SHM
						 : CKPT_VMA_FILE_PRIVATE;
	default:
		return 0;
	}
}

static u32 ckpt_vma_kind(struct vm_area_struct *vma)
{
	const char *name = ckpt_vma_special_name(vma);
	u64 object;

	if (name)
		return ckpt_vma_special_kind(name);
	/* a shared mapping that may never be written has no VM_SHARED */
	if (is_vm_hugetlb_page(vma))
		return vma->vm_flags & VM_MAYSHARE ? CKPT_VMA_HUGETLB_SHARED
						   : CKPT_VMA_HUGETLB_PRIVATE;
	if (vma_is_anonymous(vma))	/* also a private mapping of /dev/zero */
		return CKPT_VMA_ANON;
	if (!vma->vm_file)
		return 0;
	if (ckpt_file_is_uring(vma->vm_file))
		return CKPT_VMA_URING;
	if (ckpt_file_is_aio(vma->vm_file))
		return vma->vm_flags & VM_MAYSHARE ? CKPT_VMA_AIO : 0;
	return ckpt_vma_file_kind(vma, ckpt_file_kind(vma->vm_file, &object));
}

/* True for System V shared memory; @vma must have a file. */
static bool ckpt_vma_is_sysv(const struct vm_area_struct *vma)
{
	const struct file *file = vma->vm_file;

	return ckpt_file_is_sysv(file);
}

/* The reason to refuse a mapping of an unknown kind. */
static enum ckpt_reason ckpt_vma_reason(struct vm_area_struct *vma, const char **ret_what)
{
	struct file *file = vma->vm_file;

	*ret_what = ckpt_vma_special_name(vma) ?: "mapping of an unknown kind";
	if (!file)
		return vma->vm_flags & (VM_IO | VM_PFNMAP) ? CKPT_R_DEVICE_MAP
							   : CKPT_R_VMA_KIND;
	*ret_what = file->f_path.dentry->d_name.name;
	if (ckpt_vma_is_sysv(vma))
		return CKPT_R_SYSV_SHM;
	if (ckpt_file_is_aio(file))
		return CKPT_R_AIO;
	if (S_ISCHR(file_inode(file)->i_mode) || S_ISBLK(file_inode(file)->i_mode))
		return CKPT_R_DEVICE_MAP;
	return CKPT_R_VMA_KIND;
}

static void ckpt_vma_refuse(struct ckpt_collect *c, struct ckpt_object *obj,
			    struct vm_area_struct *vma, enum ckpt_reason reason,
			    const char *what)
{
	ckpt_refuse(c->cap, reason, obj->task, vma->vm_start, "%lx-%lx %s", vma->vm_start,
		    vma->vm_end, what);
}

/* True if the vDSO or its data is as the kernel made it: a restore gives no other. */
static bool ckpt_vma_is_the_kernels(struct vm_area_struct *vma, u32 kind)
{
	vm_flags_t access = kind == CKPT_VMA_VDSO ? VM_READ | VM_EXEC : VM_READ;
	u32 vdso = 0, vvar = 0;

	ckpt_arch_vdso(vma->vm_mm, &vdso, &vvar);
	return !vma->anon_vma && (vma->vm_flags & VM_ACCESS_FLAGS) == access && !vma_pkey(vma) &&
	       vma->vm_end - vma->vm_start == (kind == CKPT_VMA_VDSO ? vdso : vvar);
}

/* True if the mapping's protection key is the kernel's choice, or allocated by the program. */
static bool ckpt_vma_keeps_key(const struct ckpt_collect *c, struct vm_area_struct *vma)
{
	return ckpt_vma_exec_key(vma) || (c->tree->flags & CKPT_TARGET_PKEYS &&
					  ckpt_mm_pkeys(vma->vm_mm) & 1U << vma_pkey(vma));
}

static void ckpt_vma_check(struct ckpt_collect *c, struct ckpt_object *obj,
			   struct vm_area_struct *vma, u32 kind)
{
	enum ckpt_reason reason;
	const char *what;

	if (!kind) {
		reason = ckpt_vma_reason(vma, &what);
		ckpt_vma_refuse(c, obj, vma, reason, what);
		return;
	}
	if (kind == CKPT_VMA_VDSO || kind == CKPT_VMA_VVAR) {
		if (!ckpt_vma_is_the_kernels(vma, kind))
			ckpt_vma_refuse(c, obj, vma, CKPT_R_VMA_KIND,
					"changed by the program: vDSO or its data");
		return;
	}
	if (kind == CKPT_VMA_SYSV && !ckpt_collects_sysv(c))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_SYSV_SHM, "attached");
	if (is_vm_hugetlb_page(vma) && vma->vm_file && ckpt_vma_is_sysv(vma))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_SYSV_SHM, "huge pages");
	if (kind == CKPT_VMA_URING)	/* the kernel's pages, refused elsewhere if need be */
		return;
	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_DEVICE_MAP, "device memory");
	if (vma->vm_flags & VM_MIXEDMAP || vma_is_dax(vma))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_VMA_KIND, "direct access (DAX)");
	if (ckpt_vma_has_userfaultfd(vma))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_USERFAULTFD, "userfaultfd");
	if (vma_pkey(vma) && !ckpt_vma_keeps_key(c, vma))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_PKEY, "protection key that was freed");
	if (ckpt_vma_is_shadow_stack(vma))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_SHADOW_STACK, "shadow stack");
	if (ckpt_vma_is_sealed(vma))
		ckpt_vma_refuse(c, obj, vma, CKPT_R_VMA_KIND, "sealed (mseal)");
}

/* Note a segment that only ranges left out map: it is in use, but a restart will not miss it. */
static void ckpt_vma_note_sysv(struct ckpt_collect *c, struct vm_area_struct *vma)
{
	bool is_new;

	if (vma->vm_file && ckpt_vma_is_sysv(vma) &&
	    !ckpt_object_get(c->objs, CKPT_OBJ_SYSV, file_inode(vma->vm_file), NULL, &is_new))
		c->error = -ENOMEM;
}

/* True for a mapping of a tree that is rolled back which no image of the tree has like that. */
static bool ckpt_vma_is_taken_away(const struct ckpt_collect *c, struct vm_area_struct *vma)
{
	if (!(c->tree->flags & CKPT_TARGET_ROLLBACK))
		return false;
	switch (ckpt_vma_kind(vma)) {
	case CKPT_VMA_ANON:
	case CKPT_VMA_FILE_PRIVATE:
	case CKPT_VMA_FILE_SHARED:
	case CKPT_VMA_VDSO:
	case CKPT_VMA_VVAR:
		return false;
	default:
		return true;
	}
}

/* True for a mapping left out, whose kind and file do not matter; refuse one partly in a range. */
static bool ckpt_vma_is_left_out(struct ckpt_collect *c, struct ckpt_object *obj,
				 struct vm_area_struct *vma)
{
	switch (ckpt_excludes_range(&c->tree->excludes, obj->mm.rec->host_pid, vma->vm_start,
				    vma->vm_end)) {
	case CKPT_EXCLUDED_WHOLLY:
		ckpt_vma_note_sysv(c, vma);
		return true;
	case CKPT_EXCLUDED_PARTLY:
		ckpt_vma_refuse(c, obj, vma, CKPT_R_EXCLUDE,
				"lies partly in a range that is left out");
		return true;
	default:
		return ckpt_vma_is_taken_away(c, vma);
	}
}

/* Note the root of the mapping's anon_vma: maps of the tree share pages only below one root. */
static int ckpt_vma_note_root(struct ckpt_collect *c, struct ckpt_object *obj,
			      struct vm_area_struct *vma)
{
	struct ckpt_object *root;
	bool is_new;

	if (!vma->anon_vma || c->objs->nr[CKPT_OBJ_MM] < 2)
		return 0;
	root = ckpt_object_get(c->objs, CKPT_OBJ_ANON_ROOT, vma->anon_vma->root, NULL,
			       &is_new);
	if (!root)
		return -ENOMEM;
	if (is_new)
		root->anon.mm = obj;
	else if (root->anon.mm != obj)
		root->anon.shared = true;
	return 0;
}

static int ckpt_vma_collect(struct ckpt_collect *c, struct ckpt_object *obj,
			    struct vm_area_struct *vma)
{
	struct ckpt_rec_vma *rec;
	u32 file_flags = CKPT_FILE_MAPPED;
	int err;

	rec = ckpt_records_add(c->recs, CKPT_REC_VMA, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->start = vma->vm_start;
	rec->end = vma->vm_end;
	rec->pgoff = vma->vm_pgoff;
	rec->mm_id = obj->id;
	rec->flags = ckpt_vma_translate(vma) |
		     (u64)vma_pkey(vma) << CKPT_VM_KEY_SHIFT;
	rec->kind = ckpt_vma_kind(vma);
	obj->mm.sysv |= rec->kind == CKPT_VMA_SYSV;
	ckpt_vma_check(c, obj, vma, rec->kind);
	if (is_vm_hugetlb_page(vma))
		rec->hugepage_shift = huge_page_shift(hstate_vma(vma));
	if (rec->kind == CKPT_VMA_HUGETLB_PRIVATE)
		rec->flags |= CKPT_VM_LIVE;
	ckpt_vma_anon_name(vma, rec->name, sizeof(rec->name));
	if (rec->kind == CKPT_VMA_AIO) {
		err = ckpt_collect_aio(c, obj, vma);
		if (err)
			return err;
	} else if (rec->kind == CKPT_VMA_URING) {
		rec->file = ckpt_collect_uring_vma(c, obj, vma);
	} else if (vma->vm_file && rec->kind != CKPT_VMA_ANON) {
		if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == (VM_SHARED | VM_MAYWRITE))
			file_flags |= CKPT_FILE_MAPPED_SHARED_WRITE;
		rec->file = ckpt_collect_mapped_file(c, obj->task, vma->vm_file,
						     file_flags);
	}
	err = ckpt_collect_vma_mempolicy(c, vma, obj->id);
	return err ? err : ckpt_vma_note_root(c, obj, vma);
}

/* The data, then the code, or neither: so the kernel maps them.  Valgrind unmaps the code. */
struct ckpt_vdso_seen {
	unsigned int nr;
	unsigned long vvar_end;
	unsigned long vdso_start;
};

static void ckpt_vdso_note(struct ckpt_vdso_seen *seen, struct vm_area_struct *vma)
{
	switch (ckpt_vma_kind(vma)) {
	case CKPT_VMA_VVAR:
		seen->vvar_end = vma->vm_end;
		seen->nr++;
		break;
	case CKPT_VMA_VDSO:
		seen->vdso_start = vma->vm_start;
		seen->nr++;
		break;
	}
}

static void ckpt_vdso_check(struct ckpt_collect *c, struct ckpt_object *obj,
			    const struct ckpt_vdso_seen *seen)
{
	if (seen->nr == 1 && seen->vvar_end)
		return;
	if (seen->nr && (seen->nr != 2 || seen->vvar_end != seen->vdso_start))
		ckpt_refuse(c->cap, CKPT_R_VMA_KIND, obj->task, seen->vdso_start,
			    "vDSO without its data, or apart from it");
}

int ckpt_collect_vmas(struct ckpt_collect *c, struct ckpt_object *obj,
		      struct mm_struct *mm, u32 *ret_nr)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct ckpt_vdso_seen vdso = {};
	struct vm_area_struct *vma;
	u32 nr = 0, seen = 0;
	int err;

	for_each_vma(vmi, vma) {
		if (!ckpt_vma_is_left_out(c, obj, vma)) {
			err = ckpt_vma_collect(c, obj, vma);
			if (err)
				return err;
			ckpt_vdso_note(&vdso, vma);
			nr++;
		}
		if (!(++seen & 255)) {
			if (ckpt_capture_expired(c->ctx))
				return -ETIMEDOUT;
			if (fatal_signal_pending(current))
				return -EINTR;
			cond_resched();
		}
	}
	ckpt_vdso_check(c, obj, &vdso);
	*ret_nr = nr;
	return 0;
}
