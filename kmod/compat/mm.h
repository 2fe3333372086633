/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory management of older kernels under the newest kernel's names.
 */
#ifndef _CKPT_COMPAT_MM_H
#define _CKPT_COMPAT_MM_H

#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/swapops.h>

/* drop when minimum >= 6.5 */
static inline long ckpt_gup_remote(struct mm_struct *mm, unsigned long start,
				   unsigned long nr, unsigned int flags,
				   struct page **pages, int *locked)
{
#ifdef CKPT_HAVE_GUP_VMAS
	return get_user_pages_remote(mm, start, nr, flags, pages, NULL, locked);
#else
	return get_user_pages_remote(mm, start, nr, flags, pages, locked);
#endif
}

/* Set the flags of @mask to @set; mmap_lock held for writing. Drop when minimum >= 6.4 */
static inline void ckpt_vm_flags_change(struct vm_area_struct *vma,
					unsigned long set, unsigned long mask)
{
#ifdef CKPT_HAVE_VM_FLAGS_SET
	vm_flags_mod(vma, set, mask & ~set);
#else
	vma->vm_flags = (vma->vm_flags & ~mask) | set;
#endif
}

#ifndef CKPT_HAVE_VMA_START_WRITE
/* No per-VMA locks: mmap_lock is enough. Drop when minimum >= 6.4 */
static inline void vma_start_write(struct vm_area_struct *vma)
{
}
#endif

/* A kernel without MAP_DROPPABLE gives a mapping that keeps its pages. Drop when minimum >= 6.11 */
#ifdef MAP_DROPPABLE
#define CKPT_MAP_DROPPABLE	MAP_DROPPABLE
#else
#define CKPT_MAP_DROPPABLE	MAP_PRIVATE
#define VM_DROPPABLE		0
#endif

/*
 * Initialiser of struct mm_walk_ops: the walker has mmap_lock for reading. Drop when
 * minimum >= 6.5.
 */
#ifdef CKPT_HAVE_WALK_LOCK
#define CKPT_WALK_RDLOCK	.walk_lock = PGWALK_RDLOCK,
#else
#define CKPT_WALK_RDLOCK
#endif

/*
 * True for a marker entry that stands for no page.  From 6.6 on an entry for a lost page is a
 * marker, too.  Drop when minimum >= 6.6
 */
static inline bool ckpt_is_marker(swp_entry_t entry)
{
#ifdef PTE_MARKER_POISONED
	return is_pte_marker_entry(entry) && !is_poisoned_swp_entry(entry);
#else
	return is_pte_marker_entry(entry);
#endif
}

/* How often is this one page mapped, also as a part of a huge page? Drop when minimum >= 6.12 */
static inline int ckpt_page_mapcount(struct page *page)
{
#ifdef CKPT_HAVE_PAGE_MAPCOUNT
	return page_mapcount(page);
#else
	struct folio *folio = page_folio(page);

	if (!folio_test_large(folio))
		return folio_mapcount(folio);
	return atomic_read(&page->_mapcount) + 1 + folio_entire_mapcount(folio);
#endif
}

#endif /* _CKPT_COMPAT_MM_H */
