/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/ckpt: the contract between ckpt.ko and user space.
 *
 * One open file description is one context: a capture or a restore, chosen by
 * the first command.  Opening needs CAP_SYS_ADMIN, or CAP_CHECKPOINT_RESTORE
 * with CAP_SYS_PTRACE.  Whatever happens, the release of a capture thaws the
 * tree that it froze, the release of a restore that was not committed kills the
 * tasks that it was filling, and both free everything they hold.
 *
 *   Capture                              Restore
 *   CKPT_IOC_TARGET    name the roots    CKPT_IOC_RESTORE_BEGIN
 *   CKPT_IOC_FREEZE    park all threads  CKPT_IOC_ENTER    (each new thread)
 *   CKPT_IOC_SNAPSHOT  collect, clone    CKPT_IOC_RESTORE_WAIT
 *   CKPT_IOC_FILE_GET  objects by id     CKPT_IOC_RESTORE_STATE (records)
 *   CKPT_IOC_PAGEMAP / PAGES_READ        CKPT_IOC_PAGES_WRITE / _SHARE / _DROP
 *   CKPT_IOC_THAW      or kill           CKPT_IOC_RESTORE_COMMIT
 *   read(2)            state records
 *   CKPT_IOC_TTY_PEEK, MQ_PEEK           unread terminals; message queues
 *   CKPT_IOC_PAGEMAP / PAGES_READ (snapshot)
 *   CKPT_IOC_SAMPLE    where threads are, instead of all but TARGET
 *
 * Commands
 *   Every argument structure begins with __u32 size, flags; size must equal
 *   the size given in the command number.  A shorter structure than the
 *   kernel's is an older caller: the rest counts as zero.  A longer one is
 *   accepted if its tail is zero (-E2BIG otherwise).  An unknown flag is
 *   -EINVAL, an unknown command -ENOTTY, a command at the wrong time -EBADFD.
 *   One command at a time runs on a context (a second one waits, killable); CKPT_IOC_ENTER and
 *   poll(2) may run at the same time, and so may CKPT_IOC_PAGES_WRITE, _SHARE and _DROP of several
 *   threads, whichever maps they change.  Pages must be written before they are shared; if two
 *   commands change a page at once, either result may stay.
 *
 * Freezing
 *   A thread is parked in its own context on its way back to user mode, so it
 *   holds no kernel lock.  The freeze scans until it finds no new thread.
 *   Threads that cannot park are classified: zombies (recorded), stopped
 *   (quiescent; work stays queued, so they park if continued), traced, vfork
 *   parents and D state (refused when the deadline passes).  The pause is
 *   bounded by max_pause_ms: when it passes the kernel thaws the tree, and the
 *   capture answers -ETIMEDOUT to everything but release and read(2) of the
 *   refusal.
 *
 * Refusals
 *   A refused command fails with -EOPNOTSUPP (the tree holds something that is
 *   not supported) or -EBUSY (try again), and read(2) then yields one
 *   CKPT_REC_REFUSAL per finding.  The tree has been thawed.
 *
 * State
 *   read(2) after CKPT_IOC_SNAPSHOT yields a stream of records, each a struct
 *   ckpt_rec_hdr followed by its payload, 8-byte aligned, in this order:
 *   SYSTEM, CPU, then per process PROC, its THREADs (leader first; each followed by
 *   its XSTATE, GROUPS, MEMPOLICY if it has one, and SIGPENDING), SIGACTIONS, TIMERs,
 *   SIGPENDING (shared); then per memory map MM, its PKEYS if it has keys, and its VMAs
 *   in address order, each followed by its AIO and MEMPOLICY if it has one; then FDs; then
 *   FILEs, each followed by its LOCKs, and PIPEs; then SOCKs, each followed by its SOCK_MSGs.
 *   A reader skips a record of an unknown type only if CKPT_REC_OPTIONAL is set in the type.
 *   lseek(2) to 0 rewinds. Identifiers (mm_id, files_id, fs_id, file_id, …) are small numbers
 *   from 1, valid in this context only; equal numbers mean the same kernel object.
 *   pid numbers in records are those of the tree's own PID namespace; pids
 *   in commands are those of the caller's.
 *
 * Restore
 *   User space creates every task with clone3(set_tid) and sets all state that
 *   ordinary system calls can set (credentials, limits, cwd, root, umask,
 *   scheduling, personality).  Each thread then calls CKPT_IOC_ENTER and parks.
 *   The other state is given as records to CKPT_IOC_RESTORE_STATE, which the
 *   parked threads apply to themselves; fields that name a file hold a
 *   descriptor of the caller there instead of an identifier (-1: none).
 *   Nothing takes effect on a thread that has not entered this context.
 *   Nothing in a record is an address or a name of kernel code.
 *   CKPT_IOC_RESTORE_COMMIT sets the registers and lets the threads go.
 *
 * Rollback
 *   CKPT_IOC_ROLLBACK, between SNAPSHOT and THAW, makes a capture a restore of the threads that it
 *   froze, as if each had just entered: descriptors are gone, and memory of maps that are not to
 *   stay; release kills the tree unless it was committed. State of system calls stays as it is.
 *
 * Leases
 *   CKPT_IOC_LEASE belongs to no context: see ckpt_lease.h.
 *
 * Events
 *   Generic netlink family "ckpt", multicast group "events".  Events are hints, and can be lost.
 *
 * Retired numbers are listed where they stood and are never used again.
 */
#ifndef _UAPI_LINUX_CKPT_H
#define _UAPI_LINUX_CKPT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <linux/ckpt_cpu.h>
#include <linux/ckpt_target.h>

#define CKPT_DEVICE		"/dev/ckpt"
#define CKPT_API		1	/* raised when an old caller would break */

enum ckpt_reason {
#define CKPT_REASON(name, text, advice) CKPT_R_##name,
#include "ckpt_reasons.def"
#undef CKPT_REASON
	CKPT_R__COUNT
};

/* ------------------------------------------------------------------ info */

#define CKPT_FEAT_SNAPSHOT	(1ULL << 0)	/* copy-on-write snapshots */
#define CKPT_FEAT_SHARE		(1ULL << 1)	/* CKPT_IOC_PAGES_SHARE */
#define CKPT_FEAT_EVENTS	(1ULL << 2)	/* netlink family present */
#define CKPT_FEAT_DEADLINES	(1ULL << 3)	/* timed waits keep their deadline */
#define CKPT_FEAT_TRACK		(1ULL << 4)	/* CKPT_SNAPSHOT_TRACK, CKPT_RUN_CLEAN */
#define CKPT_FEAT_TTY_PEEK	(1ULL << 5)	/* CKPT_IOC_TTY_PEEK */
#define CKPT_FEAT_OWNER		(1ULL << 6)	/* CKPT_TARGET_OWNED */
#define CKPT_FEAT_WRITES	(1ULL << 7)	/* CKPT_IOC_WRITES_*: ckpt_writes.h */
#define CKPT_FEAT_WRITES_STATE	(1ULL << 8)	/* CKPT_WRITES_READ_STATE, tags of logs */
#define CKPT_FEAT_SOCK_CREDS	(1ULL << 10)	/* CKPT_REC_SOCK_CREDS */
#define CKPT_FEAT_LEASE		(1ULL << 11)	/* CKPT_IOC_LEASE: ckpt_lease.h */
#define CKPT_FEAT_SAMPLE	(1ULL << 12)	/* CKPT_IOC_SAMPLE: ckpt_sample.h */
#define CKPT_FEAT_FOWN		(1ULL << 17)	/* CKPT_TARGET_FOWN; inotify and pidfds */
#define CKPT_FEAT_ROLLBACK	(1ULL << 18)	/* CKPT_IOC_ROLLBACK */
#define CKPT_FEAT_PKEYS		(1ULL << 19)	/* CKPT_TARGET_PKEYS */
#define CKPT_FEAT_FILE_PATH	(1ULL << 20)	/* CKPT_FILE_GET_PATH */
#define CKPT_FEAT_SYSV		(1ULL << 16)	/* CKPT_TARGET_SYSV, CKPT_VMA_SYSV */

/**
 * struct ckpt_info - CKPT_IOC_INFO: features and limits of this module and kernel
 * @api: CKPT_API of the module; another number than the caller's is refused
 * @features: CKPT_FEAT_* bits
 * @max_threads: most threads in one tree
 * @max_pause_ms: greatest value CKPT_IOC_FREEZE accepts
 * @xstate_size: bytes of the XSAVE area in user format (NT_X86_XSTATE)
 * @vdso_size: bytes of the vDSO image; 0 if there is none
 * @xfeatures: XCR0 feature bits user space may hold
 * @vvar_size: bytes of the [vvar] pages before the vDSO
 * @release: utsname release, NUL padded
 * @cpu: the CPU of this node
 */
struct ckpt_info {
	__u32 size;
	__u32 flags;
	__u32 api;
	__u32 max_threads;
	__u32 max_pause_ms;
	__u32 xstate_size;
	__u32 vdso_size;
	__u32 vvar_size;
	__u64 features;
	__u64 xfeatures;
	char release[64];
	struct ckpt_cpu cpu;
};

/* --------------------------------------------------------------- capture */

/**
 * struct ckpt_freeze - CKPT_IOC_FREEZE: park every thread of the target
 * @timeout_ms: deadline of the freeze itself, 1 to 60000
 * @max_pause_ms: the kernel thaws the tree this long after the first thread
 *	parked, whatever user space does; 1 to ckpt_info.max_pause_ms
 * @nr_procs: out: processes, zombies included; @nr_threads: out: threads parked or quiescent
 * @freeze_ns: out: from the first thread told to park until the last one parked
 * @rounds: out: scans until no new thread was found
 * Refuses (ACCESS) threads that whoever opened the device could not read with ptrace(2).
 */
struct ckpt_freeze {
	__u32 size;
	__u32 flags;
	__u32 timeout_ms;
	__u32 max_pause_ms;
	__u32 nr_procs;
	__u32 nr_threads;
	__u64 freeze_ns;
	__u32 rounds;
	__u32 pad;
};

#define CKPT_SNAPSHOT_NO_COW	(1U << 0)	/* collect only: read in place, before the thaw */
#define CKPT_SNAPSHOT_DRY	(1U << 1)	/* check and collect, clone nothing */
#define CKPT_SNAPSHOT_TRACK	(1U << 2)	/* note from now on which cloned pages change */

/**
 * struct ckpt_snapshot - CKPT_IOC_SNAPSHOT: collect the state, clone the memory
 * @flags: CKPT_SNAPSHOT_*
 * @nr_mm: out: memory maps
 * @state_bytes: out: length of the record stream
 * @collect_ns: out: time to collect the records
 * @clone_ns: out: time to clone the memory maps
 *
 * -ENOMEM or -EAGAIN with a MEMORY or NPROC refusal means the clone did not fit;
 * unlike other refusals the tree stays frozen and the records are kept, and the
 * caller may go on in place as if it had asked for CKPT_SNAPSHOT_NO_COW.
 */
struct ckpt_snapshot {
	__u32 size;
	__u32 flags;
	__u32 nr_mm;
	__u32 pad;
	__u64 state_bytes;
	__u64 collect_ns;
	__u64 clone_ns;
};

#define CKPT_THAW_KILL		(1U << 0)	/* SIGKILL the tree before it is thawed */

/**
 * struct ckpt_thaw - CKPT_IOC_THAW: let the tree run, or end it
 * @pause_ns: out: from the first thread parked until now
 *
 * Memory maps that were snapshotted stay readable until release.  Stopped
 * processes, which cannot be cloned, stay held (a SIGCONT waits) until release
 * or CKPT_IOC_DROP, so that they can be read in place.
 *
 * If a process of the tree was killed since its state was read, the others run on, whatever the
 * flags, and the call fails (-EBUSY, reason KILLED in the records): the dying process may have
 * written to memory that others share with it.
 */
struct ckpt_thaw {
	__u32 size;
	__u32 flags;
	__u64 pause_ns;
};

#define CKPT_RUN_ANON		(1U << 0)	/* anonymous page (private dirty) */
#define CKPT_RUN_FILE		(1U << 1)	/* unmodified page of a file (CKPT_PAGEMAP_FILE) */
#define CKPT_RUN_HUGE		(1U << 2)	/* mapped by a huge page */
#define CKPT_RUN_SHARED		(1U << 3)	/* others of the tree may map it: cookie valid */
#define CKPT_RUN_CLEAN		(1U << 4)	/* as in the snapshot of token ckpt_pagemap.base */

/**
 * struct ckpt_page_run - contiguous pages of one kind
 * @start: address of the first page
 * @nr_pages: number of 4 KiB pages
 * @flags: CKPT_RUN_*
 * @cookie: identity of the first page; page i has cookie + i.  A hint: pages with equal cookies are
 *	one page unless a page moved meanwhile, so compare.  0 without CKPT_RUN_SHARED.
 */
struct ckpt_page_run {
	__u64 start;
	__u32 nr_pages;
	__u32 flags;
	__u64 cookie;
};

#define CKPT_PAGES_LIVE		(1U << 0)	/* the frozen process itself, not the snapshot */

/**
 * struct ckpt_pagemap - CKPT_IOC_PAGEMAP: find the pages that hold data
 * @flags: CKPT_PAGES_LIVE
 * @mm_id: from CKPT_REC_MM
 * @nr_runs: in: room in @runs; out: runs filled
 * @start: in: first address; out: address to go on with (== @end when done)
 * @end: exclusive
 * @runs: pointer to struct ckpt_page_run
 * @base: out: token of the snapshot of the same memory map, the last one with
 *	CKPT_SNAPSHOT_TRACK, that CKPT_RUN_CLEAN is relative to; 0: not known.  Without a
 *	stored image of that very snapshot the flag is of no use.
 * @token: out: token of this snapshot; 0: not asked for, or writes cannot be tracked
 *
 * Reports anonymous pages, swapped ones included, zero pages left out.
 */
struct ckpt_pagemap {
	__u32 size;
	__u32 flags;
	__u32 mm_id;
	__u32 nr_runs;
	__u64 start;
	__u64 end;
	__u64 runs;
	__u64 base;
	__u64 token;
};

struct ckpt_iovec {
	__u64 addr;	/* page aligned, in the target */
	__u64 len;	/* multiple of 4096 */
};

#define CKPT_PAGES_DENSE	(1U << 1)	/* there is more data around these ranges */

/**
 * struct ckpt_pages - CKPT_IOC_PAGES_READ, CKPT_IOC_PAGES_WRITE
 * @flags: CKPT_PAGES_LIVE (read), CKPT_PAGES_DENSE (write)
 * @mm_id: capture: from CKPT_REC_MM; restore: pid (caller's namespace) of a
 *	process whose leader has entered
 * @nr_iov: entries in @iov, 1 to 1024
 * @iov: pointer to struct ckpt_iovec
 * @buf: pointer to the data, the ranges one after another
 * @done: out: bytes copied, also on error
 *
 * Write: @buf need not be aligned.  An aligned block of 2 MiB may become a
 * huge page if the call covers half of it.  If a run of several MiB comes in
 * pieces that do not end at such blocks, CKPT_PAGES_DENSE says that all blocks
 * that they touch may become huge pages.
 */
struct ckpt_pages {
	__u32 size;
	__u32 flags;
	__u32 mm_id;
	__u32 nr_iov;
	__u64 iov;
	__u64 buf;
	__u64 done;
};

#define CKPT_FILE_GET_MAX	65536U
#define CKPT_FILE_GET_PATH	(1U << 0)	/* CKPT_FEAT_FILE_PATH: O_PATH, nothing shared */

/**
 * struct ckpt_file_get - CKPT_IOC_FILE_GET: descriptors of captured files
 * @nr: entries, at most CKPT_FILE_GET_MAX; @ids: pointer to __u32 file_id (in)
 * @fds: pointer to __s32 descriptors (out, close-on-exec); without CKPT_FILE_GET_PATH they share
 *	the open file descriptions of the target: use positioned reads only; -EACCES if a
 *	security module refuses one
 */
struct ckpt_file_get {
	__u32 size;
	__u32 flags;
	__u32 nr;
	__u32 pad;
	__u64 ids;
	__u64 fds;
};

/* struct ckpt_drop - CKPT_IOC_DROP: free the snapshots, let held processes go */
struct ckpt_drop {
	__u32 size;
	__u32 flags;
};

/* --------------------------------------------------------------- restore */

/**
 * struct ckpt_restore_begin - CKPT_IOC_RESTORE_BEGIN: make the context a restore
 * @monotonic_delta_ns: added to every absolute CLOCK_MONOTONIC expiry in the
 *	records: this host's clock now minus ckpt_rec_system.monotonic_ns
 * @boottime_delta_ns: the same for CLOCK_BOOTTIME.  -EPERM to callers as with CKPT_IOC_TARGET.
 */
struct ckpt_restore_begin {
	__u32 size;
	__u32 flags;
	__s64 monotonic_delta_ns;
	__s64 boottime_delta_ns;
};

/**
 * struct ckpt_enter - CKPT_IOC_ENTER: the calling thread joins the restore
 * @ctx_fd: the descriptor this command is called on; the kernel closes it in
 *	the entering process, so that the builder alone keeps the context.  Threads
 *	that share a table each call it on a duplicate of their own; -1 closes none.
 *
 * The thread parks on its way back to user mode and never runs the code after
 * the call: either the restore is committed and the thread goes on as the
 * checkpointed one, or it is killed.
 */
struct ckpt_enter {
	__u32 size;
	__u32 flags;
	__s32 ctx_fd;
	__u32 pad;
};

/**
 * struct ckpt_restore_wait - CKPT_IOC_RESTORE_WAIT: wait until threads parked
 * @nr_threads: number of threads to wait for
 * @timeout_ms: 1 to 600000; -ETIMEDOUT after it
 * @nr_parked: out: number of threads that have parked
 */
struct ckpt_restore_wait {
	__u32 size;
	__u32 flags;
	__u32 nr_threads;
	__u32 timeout_ms;
	__u32 nr_parked;
	__u32 pad;
};

/**
 * struct ckpt_restore_state - CKPT_IOC_RESTORE_STATE: apply records
 * @pid: thread that has entered, or zombie, in the caller's PID namespace
 * @len: bytes at @buf, at most CKPT_STATE_MAX
 * @buf: pointer to records
 * @bad_offset: out, on error: offset of the record that failed
 *
 * One call holds one of:
 *   - MM, its PKEYS if it has keys, and all its VMAs, in address order, once per memory
 *     map (any thread of it), then the VMAs' AIOs, then their MEMPOLICYs, in the same order: nodes
 *     that this machine has not are left out, a policy without any other node is dropped; the
 *     old mappings are gone afterwards;
 *   - FDs: the whole table, once per table; open descriptors are closed (a single
 *     FD with fd and file -1: an empty table). Then the POSIX LOCKs that the table owns:
 *     -EAGAIN if somebody else holds one of them;
 *   - SIGACTIONS; PROC (pgid, sid, tty, ITIMER_REAL, flags); once per process; TIMERs of
 *     the thread that PROC was given for, after its memory map and before its limits;
 *   - THREAD, with XSTATE and its SIGPENDINGs; shared SIGPENDINGs go with the leader's;
 *   - PROC of a zombie, @pid, whose parent has entered: pgid, sid, and of
 *     exit_code the bit for a core dump; the other fields must be right already.
 */
struct ckpt_restore_state {
	__u32 size;
	__u32 flags;
	__s32 pid;
	__u32 len;
	__u64 buf;
	__u64 bad_offset;
};

/**
 * struct ckpt_pages_share - CKPT_IOC_PAGES_SHARE: copy-on-write from another map
 * @src_pid: process whose pages are already filled
 * @dst_pid: process that gets them, in mappings of the same address, length
 *	and kind, not filled yet
 * @start: begin of the range, which must lie in one private mapping of both
 * @end: end of the range, exclusive
 *
 * The result is as if dst had been forked from src.  CKPT_IOC_PAGES_DROP takes
 * away pages that dst must not have; pages that differ are written over.
 */
struct ckpt_pages_share {
	__u32 size;
	__u32 flags;
	__s32 src_pid;
	__s32 dst_pid;
	__u64 start;
	__u64 end;
};

/**
 * struct ckpt_pages_drop - CKPT_IOC_PAGES_DROP: forget private pages
 */
struct ckpt_pages_drop {
	__u32 size;
	__u32 flags;
	__s32 pid;
	__u32 pad;
	__u64 start;
	__u64 end;
};

/**
 * struct ckpt_restore_commit - CKPT_IOC_RESTORE_COMMIT: let the tree go
 * @nr_threads: must be the number of threads entered
 *
 * Before the commit, release kills every thread that entered; after it, none.
 */
struct ckpt_restore_commit {
	__u32 size;
	__u32 flags;
	__u32 nr_threads;
	__u32 pad;
};

#define CKPT_IOC_MAGIC		0xCE
#define CKPT_IOC_INFO		_IOWR(CKPT_IOC_MAGIC, 0x00, struct ckpt_info)
#define CKPT_IOC_TARGET		_IOWR(CKPT_IOC_MAGIC, 0x10, struct ckpt_target)
#define CKPT_IOC_FREEZE		_IOWR(CKPT_IOC_MAGIC, 0x11, struct ckpt_freeze)
#define CKPT_IOC_SNAPSHOT	_IOWR(CKPT_IOC_MAGIC, 0x12, struct ckpt_snapshot)
#define CKPT_IOC_THAW		_IOWR(CKPT_IOC_MAGIC, 0x13, struct ckpt_thaw)
#define CKPT_IOC_PAGEMAP	_IOWR(CKPT_IOC_MAGIC, 0x14, struct ckpt_pagemap)
#define CKPT_IOC_PAGES_READ	_IOWR(CKPT_IOC_MAGIC, 0x15, struct ckpt_pages)
#define CKPT_IOC_FILE_GET	_IOWR(CKPT_IOC_MAGIC, 0x16, struct ckpt_file_get)
#define CKPT_IOC_DROP		_IOWR(CKPT_IOC_MAGIC, 0x17, struct ckpt_drop)
#define CKPT_IOC_TTY_PEEK	_IOWR(CKPT_IOC_MAGIC, 0x18, struct ckpt_tty_peek)
#define CKPT_IOC_RESTORE_BEGIN	_IOWR(CKPT_IOC_MAGIC, 0x20, struct ckpt_restore_begin)
#define CKPT_IOC_ENTER		_IOWR(CKPT_IOC_MAGIC, 0x21, struct ckpt_enter)
#define CKPT_IOC_RESTORE_WAIT	_IOWR(CKPT_IOC_MAGIC, 0x22, struct ckpt_restore_wait)
#define CKPT_IOC_RESTORE_STATE	_IOWR(CKPT_IOC_MAGIC, 0x23, struct ckpt_restore_state)
#define CKPT_IOC_PAGES_WRITE	_IOWR(CKPT_IOC_MAGIC, 0x24, struct ckpt_pages)
#define CKPT_IOC_PAGES_SHARE	_IOWR(CKPT_IOC_MAGIC, 0x25, struct ckpt_pages_share)
#define CKPT_IOC_PAGES_DROP	_IOWR(CKPT_IOC_MAGIC, 0x26, struct ckpt_pages_drop)
#define CKPT_IOC_RESTORE_COMMIT	_IOWR(CKPT_IOC_MAGIC, 0x27, struct ckpt_restore_commit)
#define CKPT_IOC_SAMPLE		_IOWR(CKPT_IOC_MAGIC, 0x40, struct ckpt_sample)
#define CKPT_IOC_ROLLBACK	_IOWR(CKPT_IOC_MAGIC, 0x30, struct ckpt_rollback)
/* 0x35-0x3f: rollback of a running tree in place; 0x41-0x4f: sampling */

#include "ckpt_events.h"
#include "ckpt_l0.h"
#include "ckpt_lease.h"
#include "ckpt_mqueue.h"
#include "ckpt_records.h"
#include "ckpt_rollback.h"
#include "ckpt_sample.h"
#include "ckpt_tty.h"
#include "ckpt_writes.h"

#endif /* _UAPI_LINUX_CKPT_H */
