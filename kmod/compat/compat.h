/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interfaces that the core may use on every supported kernel; included before everything else.
 * The core is written for the newest kernel, and this file imitates that kernel on older ones.
 * Probes (CKPT_HAVE_*) come from kmod/Kbuild.
 */
#ifndef _CKPT_COMPAT_H
#define _CKPT_COMPAT_H

#define pr_fmt(fmt) "ckpt: " fmt

#include <linux/file.h>
#ifdef CKPT_HAVE_FILELOCK_H
#include <linux/filelock.h>
#endif
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/poison.h>
#include <linux/posix-timers.h>
#include <linux/sched.h>
#include <linux/version.h>

/* Threads that the kernel runs inside a user process. Drop when minimum >= 6.4. */
#ifdef PF_USER_WORKER
#define CKPT_PF_USER_WORKER	(PF_USER_WORKER | PF_IO_WORKER)
#else
#define CKPT_PF_USER_WORKER	PF_IO_WORKER
#endif

/* Drop when minimum >= 6.12. */
#ifndef fd_file
#define fd_file(f) ((f).file)
#endif

/* __assign_str() lost its second argument in 6.10. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define ckpt_assign_str(dst, src) __assign_str(dst)
#else
#define ckpt_assign_str(dst, src) __assign_str(dst, src)
#endif

/*
 * The flags of a futex restart block are private to kernel/futex/ and changed in
 * 6.7; records hold these instead.
 */
#define CKPT_FUTEX_SHARED	1U
#define CKPT_FUTEX_REALTIME	2U
#define CKPT_FUTEX_TIMEOUT	4U
#define CKPT_FUTEX_FLAGS	7U
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define CKPT_FUTEX_SHIFT	4
#define CKPT_FUTEX_ALWAYS	2U	/* FLAGS_SIZE_32 */
#else
#define CKPT_FUTEX_SHIFT	0
#define CKPT_FUTEX_ALWAYS	0U
#endif

static inline u32 ckpt_futex_flags_out(u32 flags)
{
	return (flags >> CKPT_FUTEX_SHIFT) & CKPT_FUTEX_FLAGS;
}

static inline u32 ckpt_futex_flags_in(u32 flags)
{
	return flags << CKPT_FUTEX_SHIFT | CKPT_FUTEX_ALWAYS;
}

/* The list of POSIX timers is a hash list since 6.10. Drop when minimum >= 6.10. */
#ifdef CKPT_HAVE_POSIX_TIMERS_HLIST
#define ckpt_for_each_posix_timer(timer, sig) \
	hlist_for_each_entry(timer, &(sig)->posix_timers, list)
#else
#define ckpt_for_each_posix_timer(timer, sig) \
	list_for_each_entry(timer, &(sig)->posix_timers, list)
#endif

/*
 * True for a deleted timer; call with it_lock. Before 6.12 it_signal is not cleared when the
 * process is gone.
 */
static inline bool ckpt_posix_timer_gone(const struct k_itimer *timer,
					 const struct signal_struct *signal)
{
	return timer->it_signal != signal || timer->list.next == LIST_POISON1;
}

/* Capabilities are one 64-bit word since 6.3. Drop when minimum >= 6.3. */
#define ckpt_cap_to_u64(cap)						\
	({ u64 __val; BUILD_BUG_ON(sizeof(cap) != sizeof(__val));	\
	   memcpy(&__val, &(cap), sizeof(__val)); __val; })

/* The length a program registers became a field in 6.3. Drop when minimum >= 6.3. */
#ifdef CKPT_HAVE_RSEQ_LEN
#define ckpt_rseq_len(task) ((task)->rseq_len)
#else
#define ckpt_rseq_len(task) 32U
#endif

/* The path a program opened, not that of a layer below. Drop when minimum >= 6.8. */
#ifdef CKPT_HAVE_FILE_USER_PATH
#define ckpt_file_user_path(file) file_user_path(file)
#else
#define ckpt_file_user_path(file) ((const struct path *)&(file)->f_path)
#endif

/* struct file_lock was split in 6.9, and leases from it: their fields. Drop when minimum >= 6.9. */
#ifdef CKPT_HAVE_FILE_LOCK_CORE
#define ckpt_file_lease	file_lease
#define ckpt_fl_list	c.flc_list
#define ckpt_fl_file	c.flc_file
#define ckpt_fl_owner	c.flc_owner
#define ckpt_fl_flags	c.flc_flags
#define ckpt_fl_type	c.flc_type
#define ckpt_fl_pid	c.flc_pid
#else
#define ckpt_file_lease	file_lock
#define ckpt_fl_list	fl_list
#define ckpt_fl_file	fl_file
#define ckpt_fl_owner	fl_owner
#define ckpt_fl_flags	fl_flags
#define ckpt_fl_type	fl_type
#define ckpt_fl_pid	fl_pid
#endif

/* f_owner became a pointer in 6.12. Drop when minimum >= 6.12. */
#ifdef CKPT_HAVE_FOWN_POINTER
#define ckpt_file_fown(file) READ_ONCE((file)->f_owner)
#else
#define ckpt_file_fown(file) (&(file)->f_owner)
#endif

/* True if the file has an owner to signal (F_SETOWN), or a signal for it (F_SETSIG). */
static inline bool ckpt_file_has_owner(struct file *file)
{
	const struct fown_struct *own = ckpt_file_fown(file);

	return file->f_flags & FASYNC || (own && (own->pid || own->signum));
}

/* The field in which fifo_open() leaves a mark for poll(2). Drop when minimum >= 6.12. */
#ifdef CKPT_HAVE_F_PIPE
#define ckpt_file_pipe_version(file) ((file)->f_pipe)
#else
#define ckpt_file_pipe_version(file) ((file)->f_version)
#endif

/* get_user_pages_remote() lost its array of VMAs in 6.5. Drop when minimum >= 6.5. */
#ifdef CKPT_HAVE_GUP_VMAS
#define ckpt_get_user_pages_remote(mm, addr, nr, flags, pages) \
	get_user_pages_remote(mm, addr, nr, flags, pages, NULL, NULL)
#else
#define ckpt_get_user_pages_remote(mm, addr, nr, flags, pages) \
	get_user_pages_remote(mm, addr, nr, flags, pages, NULL)
#endif

/* huge_ptep_get() takes map and address since 6.11. Drop when minimum >= 6.11. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define ckpt_huge_ptep_get(mm, addr, ptep) huge_ptep_get(mm, addr, ptep)
#else
#define ckpt_huge_ptep_get(mm, addr, ptep) huge_ptep_get(ptep)
#endif

#endif /* _CKPT_COMPAT_H */
