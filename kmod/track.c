// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracking writes from one snapshot to the next, by the soft-dirty bits.
 *
 * Right after the fork that clones a map every anonymous page of both copies is
 * write-protected, flushed from the TLBs and not exclusive.  Clearing the bit of
 * such a page needs no flush.  Only a write fault, which sets the bit again, makes the page
 * writable, whatever mprotect(2) does to the mapping, as mprotect(2) needs an exclusive page for
 * that.  A page that the fork leaves writable or exclusive keeps its bit.
 *
 * The bit is lost, or a page becomes exclusive without it, in few ways, and a map
 * in which one of them was ever possible is not tracked: swapping (mmlist), pins
 * (MMF_HAS_PINNED), merging of same pages, uprobes.  mremap(2) may move a page
 * table without marking its entries; so only mappings count whose pages have the
 * index of their address, before and after: a page that was moved has another index, or is back
 * where it was.  If it is back, a snapshot in between may have had another page there, or none; so
 * that snapshot marks all pages that are not in their place.
 *
 * A forced write (/proc/PID/mem, ptrace) into a mapping without write permission sets no bit while
 * the mapping is new; but its page is exclusive, which no clean page is, until the program forks.
 * So a new mapping is searched for such pages before its flag is taken off, and if nobody may
 * write to the mapping, each of its pages counts as written. A mapping that is made writable
 * before that, and then forked or merged with an old one, hides such pages: that is not noticed.
 *
 * Others may clear the bits (/proc/PID/clear_refs).  That clears VM_SOFTDIRTY of all mappings, too.
 * We never clear the flag of the vDSO, so the vDSO tells whether somebody else did.
 *
 * A random token names the snapshot that the bits count from.  It is kept here with a reference on
 * the map's structure, so that the structure's address is not used again.  Without an image that
 * has the token, the bits mean nothing.
 *
 * The code must not change anything that a program sees, nor trust a map that it has not prepared.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pagewalk.h>
#include <linux/random.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>

#include "compat/ksyms.h"
#include "compat/mm.h"
#include "track.h"

struct ckpt_tracked {
	struct hlist_node hash;
	struct mm_struct *mm;		/* reference by mmgrab() */
	u64 token;
};

static DEFINE_MUTEX(ckpt_track_lock);	/* protects the table; taken inside of mmap_lock */
static DEFINE_HASHTABLE(ckpt_track_table, 8);

/* ------------------------------------------------------------------ the table */

static void ckpt_tracked_free(struct ckpt_tracked *entry)
{
	hash_del(&entry->hash);
	mmdrop(entry->mm);
	kfree(entry);
}

static struct ckpt_tracked *ckpt_tracked_find(struct mm_struct *mm)
{
	struct ckpt_tracked *entry;

	lockdep_assert_held(&ckpt_track_lock);
	hash_for_each_possible(ckpt_track_table, entry, hash, (unsigned long)mm)
		if (entry->mm == mm)
			return entry;
	return NULL;
}

/* Forget maps whose last user is gone. */
static void ckpt_tracked_sweep(void)
{
	struct ckpt_tracked *entry;
	struct hlist_node *next;
	unsigned int i;

	lockdep_assert_held(&ckpt_track_lock);
	hash_for_each_safe(ckpt_track_table, i, next, entry, hash)
		if (!atomic_read(&entry->mm->mm_users))
			ckpt_tracked_free(entry);
}

/* Keep @token for @mm, or forget the old token if it is 0 or memory is short; returns the token. */
static u64 ckpt_tracked_set(struct mm_struct *mm, u64 token)
{
	struct ckpt_tracked *entry;

	mutex_lock(&ckpt_track_lock);
	ckpt_tracked_sweep();
	entry = ckpt_tracked_find(mm);
	if (entry && !token) {
		ckpt_tracked_free(entry);
	} else if (!entry && token) {
		entry = kzalloc(sizeof(*entry), GFP_KERNEL);
		if (entry) {
			mmgrab(mm);
			entry->mm = mm;
			hash_add(ckpt_track_table, &entry->hash, (unsigned long)mm);
		} else {
			token = 0;
		}
	}
	if (token)
		entry->token = token;
	mutex_unlock(&ckpt_track_lock);
	return token;
}

static u64 ckpt_tracked_token(struct mm_struct *mm)
{
	struct ckpt_tracked *entry;
	u64 token;

	mutex_lock(&ckpt_track_lock);
	entry = ckpt_tracked_find(mm);
	token = entry ? entry->token : 0;
	mutex_unlock(&ckpt_track_lock);
	return token;
}

struct mm_struct *ckpt_track_get(const void *key, u64 token)
{
	struct mm_struct *mm = (struct mm_struct *)key;
	struct ckpt_tracked *entry;

	mutex_lock(&ckpt_track_lock);
	entry = ckpt_tracked_find(mm);
	if (entry && entry->token == token)
		mmgrab(mm);
	else
		mm = NULL;
	mutex_unlock(&ckpt_track_lock);
	return mm;
}

void ckpt_track_forget(struct mm_struct *mm)
{
	ckpt_tracked_set(mm, 0);
}

void ckpt_track_exit(void)
{
	struct ckpt_tracked *entry;
	struct hlist_node *next;
	unsigned int i;

	hash_for_each_safe(ckpt_track_table, i, next, entry, hash)
		ckpt_tracked_free(entry);
}

/* ------------------------------------------------------------- what is believed */

/* True if the map has none of the marks, which last for its life, that rule tracking out. */
static bool ckpt_track_is_quiet(const struct mm_struct *mm)
{
	return list_empty(&mm->mmlist) && !test_bit(MMF_HAS_PINNED, &mm->flags) &&
	       !test_bit(MMF_VM_MERGEABLE, &mm->flags) &&
	       !test_bit(MMF_HAS_UPROBES, &mm->flags);
}

/* The vDSO, which the kernel mapped at exec; NULL: it was unmapped or replaced. */
static struct vm_area_struct *ckpt_track_sentinel(struct mm_struct *mm)
{
	unsigned long addr = (unsigned long)mm->context.vdso;
	struct vm_area_struct *vma = addr ? find_vma(mm, addr) : NULL;

	if (!vma || vma->vm_start != addr || vma->vm_file || vma_is_anonymous(vma))
		return NULL;
	return vma;
}

/* True if nobody else has cleared the bits since the sentinel was marked. */
static bool ckpt_track_is_ours(struct mm_struct *mm)
{
	const struct vm_area_struct *vma = ckpt_track_sentinel(mm);

	return vma && vma->vm_flags & VM_SOFTDIRTY;
}

static bool ckpt_track_in_place(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff == vma->vm_start >> PAGE_SHIFT;
}

/* True for mappings whose bits are cleared and then tell writes. */
static bool ckpt_track_takes(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) && ckpt_track_in_place(vma) &&
	       !(vma->vm_flags & (VM_SHARED | VM_DONTCOPY | VM_WIPEONFORK)) &&
	       !userfaultfd_armed(vma);
}

/* True for mappings whose bits are set: their pages were moved, or may be. */
static bool ckpt_track_marks(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) && !ckpt_track_in_place(vma) &&
	       !(vma->vm_flags & VM_SHARED);
}

bool ckpt_track_believes(struct vm_area_struct *vma)
{
	return ckpt_track_takes(vma) && !(vma->vm_flags & VM_SOFTDIRTY);
}

u64 ckpt_track_base(struct mm_struct *mm)
{
	lockdep_assert_held(&mm->mmap_lock);	/* mmap_assert_locked() wants dump_mm() */
	if (!IS_ENABLED(CONFIG_MEM_SOFT_DIRTY) || !ckpt_track_is_quiet(mm) ||
	    !ckpt_track_is_ours(mm))
		return 0;
	return ckpt_tracked_token(mm);
}

/* -------------------------------------------------------------------- clearing */

/* True for a page that can be written only after a fault. */
static bool ckpt_track_may_clear(struct page *page)
{
	return PageAnon(page) && !PageAnonExclusive(page);
}

static void ckpt_track_mark_pmd(pmd_t *pmdp, pmd_t pmd, struct mm_walk *walk,
				unsigned long addr)
{
	if (pmd_trans_huge(pmd))
		set_bit(_PAGE_BIT_SOFT_DIRTY, (unsigned long *)pmdp);
	else
		set_pmd_at(walk->mm, addr, pmdp, pmd_swp_mksoft_dirty(pmd));
}

/* True for a page that may have been written without setting the bit. */
static bool ckpt_track_is_forced(struct page *page, const struct vm_area_struct *vma)
{
	return PageAnon(page) && (PageAnonExclusive(page) || !(vma->vm_flags & VM_WRITE));
}

/* Mark forced pages, and entries that cannot be looked at. */
static void ckpt_track_prepare_pmd(pmd_t *pmdp, pmd_t pmd, struct mm_walk *walk,
				   unsigned long addr)
{
	if (!pmd_trans_huge(pmd) || ckpt_track_is_forced(pmd_page(pmd), walk->vma))
		ckpt_track_mark_pmd(pmdp, pmd, walk, addr);
}

static void ckpt_track_renew_pmd(pmd_t *pmdp, pmd_t pmd, struct mm_walk *walk,
				 unsigned long addr)
{
	if (ckpt_track_marks(walk->vma))
		ckpt_track_mark_pmd(pmdp, pmd, walk, addr);
	else if (pmd_trans_huge(pmd) && pmd_soft_dirty(pmd) && !pmd_write(pmd) &&
		 ckpt_track_may_clear(pmd_page(pmd)))
		clear_bit(_PAGE_BIT_SOFT_DIRTY, (unsigned long *)pmdp);
}

/* Functions that a walk calls for its entries, with the page table's lock held. */
struct ckpt_track_pass {
	void (*pmd)(pmd_t *pmdp, pmd_t pmd, struct mm_walk *walk, unsigned long addr);
	void (*pte)(pte_t *ptep, pte_t pte, struct mm_walk *walk, unsigned long addr);
};

static int ckpt_track_pmd(pmd_t *pmdp, unsigned long addr, unsigned long end,
			  struct mm_walk *walk)
{
	const struct ckpt_track_pass *pass = walk->private;
	spinlock_t *ptl;
	pmd_t pmd;

	cond_resched();
	pmd = READ_ONCE(*pmdp);
	if (!pmd_trans_huge(pmd) && !is_swap_pmd(pmd))
		return 0;	/* a page table: on to its entries */
	ptl = pmd_lock(walk->mm, pmdp);
	pmd = *pmdp;
	if (pmd_trans_huge(pmd) || is_swap_pmd(pmd)) {
		walk->action = ACTION_CONTINUE;
		pass->pmd(pmdp, pmd, walk, addr);
	} else if (!pmd_none(pmd)) {
		walk->action = ACTION_AGAIN;	/* the huge page was split meanwhile */
	}
	spin_unlock(ptl);
	return 0;
}

static void ckpt_track_mark_pte(pte_t *ptep, pte_t pte, struct mm_walk *walk,
				unsigned long addr)
{
	if (!pte_present(pte) && !pte_none(pte))
		set_pte_at(walk->mm, addr, ptep, pte_swp_mksoft_dirty(pte));
	else if (pte_present(pte) && !pte_soft_dirty(pte))
		set_bit(_PAGE_BIT_SOFT_DIRTY, (unsigned long *)ptep);
}

static void ckpt_track_prepare_pte(pte_t *ptep, pte_t pte, struct mm_walk *walk,
				   unsigned long addr)
{
	if (!pte_present(pte) ||
	    (!pte_special(pte) && ckpt_track_is_forced(pte_page(pte), walk->vma)))
		ckpt_track_mark_pte(ptep, pte, walk, addr);
}

/* Clear or set the bit; the hardware may set the accessed bit meanwhile, but not the dirty one. */
static void ckpt_track_renew_pte(pte_t *ptep, pte_t pte, struct mm_walk *walk,
				 unsigned long addr)
{
	if (ckpt_track_marks(walk->vma))
		ckpt_track_mark_pte(ptep, pte, walk, addr);
	else if (pte_present(pte) && pte_soft_dirty(pte) && !pte_write(pte) &&
		 !pte_special(pte) && ckpt_track_may_clear(pte_page(pte)))
		clear_bit(_PAGE_BIT_SOFT_DIRTY, (unsigned long *)ptep);
}

static int ckpt_track_pte(pte_t *ptep, unsigned long addr, unsigned long end,
			  struct mm_walk *walk)
{
	const struct ckpt_track_pass *pass = walk->private;

	pass->pte(ptep, READ_ONCE(*ptep), walk, addr);
	return 0;
}

/* True for mappings made or grown since the flags were taken off last. */
static bool ckpt_track_is_new(struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SOFTDIRTY && ckpt_track_takes(vma);
}

static int ckpt_track_test_new(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	return !walk->vma->anon_vma || !ckpt_track_is_new(walk->vma);
}

static int ckpt_track_test(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	struct vm_area_struct *vma = walk->vma;

	return !vma->anon_vma || !(ckpt_track_takes(vma) || ckpt_track_marks(vma));
}

static const struct mm_walk_ops ckpt_track_new_ops = {
	.test_walk = ckpt_track_test_new,
	.pmd_entry = ckpt_track_pmd,
	.pte_entry = ckpt_track_pte,
};

static const struct mm_walk_ops ckpt_track_ops = {
	.test_walk = ckpt_track_test,
	.pmd_entry = ckpt_track_pmd,
	.pte_entry = ckpt_track_pte,
};

static int ckpt_track_walk(struct mm_struct *mm, const struct mm_walk_ops *ops,
			   struct ckpt_track_pass pass)
{
	return ckpt_k(walk_page_range)(mm, 0, TASK_SIZE_MAX, ops, &pass);
}

/* Mark forced pages of new mappings; a map without a token is not believed, so it needs none. */
static bool ckpt_track_find_forced(struct mm_struct *mm)
{
	struct ckpt_track_pass pass = { ckpt_track_prepare_pmd, ckpt_track_prepare_pte };

	return !ckpt_tracked_token(mm) || !ckpt_track_walk(mm, &ckpt_track_new_ops, pass);
}

/*
 * Take VM_SOFTDIRTY off the mappings: with the flag, fork may copy entries in batches, with the
 * bit of the first entry.  Every mapping begins with the flag, and gets it again when it grows.
 */
void ckpt_track_prepare(struct mm_struct *mm)
{
	struct vm_area_struct *vma;

	VMA_ITERATOR(vmi, mm, 0);

	mmap_write_lock(mm);
	if (ckpt_track_find_forced(mm))		/* else the mappings stay new: not believed */
		for_each_vma(vmi, vma)
			if (ckpt_track_is_new(vma))
				ckpt_vm_flags_change(vma, 0, VM_SOFTDIRTY);
	mmap_write_unlock(mm);
}

void ckpt_track_begin(struct mm_struct *mm, struct mm_struct *snapshot, u64 *ret_base,
		      u64 *ret_token)
{
	struct ckpt_track_pass pass = { ckpt_track_renew_pmd, ckpt_track_renew_pte };
	struct vm_area_struct *sentinel;
	bool ours, quiet;
	u64 token = 0;

	/* The copy shows the sentinel as it was at the fork. */
	mmap_read_lock(snapshot);
	ours = ckpt_track_is_ours(snapshot);
	mmap_read_unlock(snapshot);

	mmap_write_lock(mm);
	quiet = IS_ENABLED(CONFIG_MEM_SOFT_DIRTY) && ckpt_track_is_quiet(mm);
	*ret_base = ours && quiet ? ckpt_tracked_token(mm) : 0;
	if (quiet && ckpt_track_is_ours(mm) &&
	    !ckpt_track_walk(mm, &ckpt_track_ops, pass))
		token = get_random_u64() ?: 1;
	/* Somebody else has cleared the flag: set it, so that the sentinel tells from now on. */
	sentinel = ckpt_track_sentinel(mm);
	if (sentinel && !(sentinel->vm_flags & VM_SOFTDIRTY))
		ckpt_vm_flags_change(sentinel, VM_SOFTDIRTY, VM_SOFTDIRTY);
	*ret_token = ckpt_tracked_set(mm, token);
	mmap_write_unlock(mm);
}
