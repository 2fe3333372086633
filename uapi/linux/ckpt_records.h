/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The records that /dev/ckpt emits and accepts; included by linux/ckpt.h, which
 * holds their grammar.  Each starts with struct ckpt_rec_hdr, is a multiple of
 * 8 bytes long and may end in a variable part ("then: …").  New fields are
 * appended and raise the version; the length tells which fields are there.  The records of
 * descriptors and files are in ckpt_rec_files.h, of sockets in ckpt_rec_socks.h, which this
 * header includes.
 */
#ifndef _UAPI_LINUX_CKPT_RECORDS_H
#define _UAPI_LINUX_CKPT_RECORDS_H

#define CKPT_REC_OPTIONAL	0x8000	/* a reader may skip a record of a type that it lacks */
/* limits of one CKPT_IOC_RESTORE_STATE */
#define CKPT_STATE_MAX		(16U << 20)	/* bytes: some 120,000 mappings */
#define CKPT_SIGNALS_MAX	65536		/* queued for a process or thread */

/*
 * X(NAME, number): records of the state of one open file, beside its FILE record. Each begins as
 * struct ckpt_rec_of_file.
 */
#define CKPT_RECS_OF_FILES(X) \
	X(EVENTFD, 18) \
	X(TIMERFD, 19) \
	X(SIGNALFD, 20) \
	X(EPOLL, 21) \
	X(URING, 22)

enum ckpt_rec_type {
	CKPT_REC_REFUSAL = 1,
	CKPT_REC_SYSTEM = 2,
	CKPT_REC_PROC = 3,
	CKPT_REC_THREAD = 4,
	CKPT_REC_XSTATE = 5,
	CKPT_REC_GROUPS = 6,
	CKPT_REC_SIGACTIONS = 7,
	CKPT_REC_SIGPENDING = 8,
	CKPT_REC_MM = 9,
	CKPT_REC_VMA = 10,
	CKPT_REC_FD = 11,
	CKPT_REC_FILE = 12,
	CKPT_REC_PIPE = 13,
	CKPT_REC_CPU = 14, /* CKPT_REC_OPTIONAL: older captures have no such record */
	CKPT_REC_LOCK = 15,
	CKPT_REC_MEMPOLICY = 16,
	CKPT_REC_TIMER = 17,
#define CKPT_REC_OF_FILE(name, number) CKPT_REC_##name = number,
	CKPT_RECS_OF_FILES(CKPT_REC_OF_FILE)
#undef CKPT_REC_OF_FILE
	CKPT_REC_SOCK = 32, /* CKPT_REC_OPTIONAL if its peer is outside: as if not there */
	CKPT_REC_SOCK_MSG = 33,
	CKPT_REC_SOCK_CREDS = 34, /* of a restore alone; CKPT_FEAT_SOCK_CREDS */
	CKPT_REC_SEMADJ = 40,
	CKPT_REC_PKEYS = 41,
	CKPT_REC_AIO = 42,
	CKPT_REC_SOCK_SENT = 43, /* CKPT_REC_OPTIONAL; CKPT_FEAT_SENT */
	CKPT_REC_MQ_NOTIFY = 44, /* of a restore alone; CKPT_FEAT_MQUEUE */
};

/**
 * struct ckpt_rec_hdr - start of every record
 * @type: enum ckpt_rec_type, maybe with CKPT_REC_OPTIONAL
 * @version: 1
 * @len: bytes with this header and padding, a multiple of 8
 */
struct ckpt_rec_hdr {
	__u16 type;
	__u16 version;
	__u32 len;
};

/**
 * struct ckpt_rec_of_file - start of every record of CKPT_RECS_OF_FILES
 * @file: file_id of the description (restore: a descriptor of the caller)
 * @nr: entries that follow the record's fields, or another number of the record's own
 *
 * The record stands behind the FILE record of @file.
 */
struct ckpt_rec_of_file {
	struct ckpt_rec_hdr hdr;
	__u32 file;
	__u32 nr;
};

/**
 * struct ckpt_rec_refusal - one thing that stands in the way
 * @reason: enum ckpt_reason
 * @pid: process and @tid thread, in the caller's PID namespace; 0: none
 * @object: the object that is refused: address, descriptor or file_id
 * @detail: NUL-terminated text: kind, path, wchan, …
 */
struct ckpt_rec_refusal {
	struct ckpt_rec_hdr hdr;
	__u32 reason;
	__s32 pid;
	__s32 tid;
	__u32 pad;
	__u64 object;
	char comm[16];
	char detail[104];
};

/**
 * struct ckpt_rec_system - the node at the instant of the freeze
 * @monotonic_ns: CLOCK_MONOTONIC of the host when the tree was frozen
 * @boottime_ns, @realtime_ns: the other clocks, same instant
 * @timens_monotonic_ns, @timens_boottime_ns: offsets of the tree's time namespace;
 *	the tree saw monotonic_ns + timens_monotonic_ns
 */
struct ckpt_rec_system {
	struct ckpt_rec_hdr hdr;
	__u32 api;
	__u32 xstate_size;
	__u64 xfeatures;
	__u64 monotonic_ns;
	__u64 boottime_ns;
	__u64 realtime_ns;
	__s64 timens_monotonic_ns;
	__s64 timens_boottime_ns;
	__u32 vdso_size;
	__u32 vvar_size;
	__u32 nr_procs;
	__u32 nr_threads;
	char release[64];
};

/* CPU: the CPU of the node at the freeze */
struct ckpt_rec_cpu {
	struct ckpt_rec_hdr hdr;
	struct ckpt_cpu cpu;
};

enum ckpt_proc_state {
	CKPT_PROC_RUNNING = 1,
	CKPT_PROC_STOPPED = 2, /* group stop; exit_code holds the signal */
	CKPT_PROC_ZOMBIE =
		3, /* no threads, no mm; only pid, ppid, pgid, sid, exit_code, comm count */
};

#define CKPT_PROC_SUBREAPER	(1U << 0)
#define CKPT_PROC_HAS_SUBREAPER	(1U << 1)
#define CKPT_PROC_ROOT		(1U << 2)	/* its parent is not in the tree */
#define CKPT_PROC_LEADER_DEAD (1U << 3) /* the group leader has exited, other threads live */
#define CKPT_PROC_EXECED (1U << 4) /* has called exec since its parent's fork (setpgid rule) */
#define CKPT_PROC_THP_DISABLE	(1U << 5)	/* prctl(PR_SET_THP_DISABLE) */
#define CKPT_PROC_SESSION_LEADER (1U << 6)
#define CKPT_PROC_MDWE		(1U << 7)	/* prctl(PR_SET_MDWE) */
#define CKPT_PROC_MDWE_NO_INHERIT (1U << 8)	/* PR_MDWE_NO_INHERIT of PR_SET_MDWE */

struct ckpt_itimer {
	__u64 value_ns;		/* until expiry; 0: not armed */
	__u64 interval_ns;	/* with value 0: SIGALRM is pending; taking it arms the timer */
};

/**
 * struct ckpt_rec_proc - one process (thread group)
 * @pid, @ppid, @pgid, @sid: in the tree's PID namespace; 0: outside of it
 * @host_pid: in the caller's PID namespace
 * @mm_id, @files_id, @fs_id: object identifiers; equal ones are shared
 * @exit_code: of a zombie, as wait4 reports it; of a stopped process, the signal
 * @exit_signal: signal sent to the parent at exit
 * @stop_reported: the parent has waited for this stop already
 * @tty: controlling terminal, index of /dev/pts; -1: none; -2: not a pty
 * @tty_pgrp: foreground process group of that terminal
 * @cwd, @root: file_id
 * @oom_score_adj_min: least value that the process may set oom_score_adj to without rights; above
 *	oom_score_adj it means the same as that
 * @limits: rlim_cur, rlim_max by RLIMIT_*
 */
struct ckpt_rec_proc {
	struct ckpt_rec_hdr hdr;
	__s32 pid;
	__s32 ppid;
	__s32 pgid;
	__s32 sid;
	__s32 host_pid;
	__u32 state;
	__u32 flags;
	__u32 mm_id;
	__u32 files_id;
	__u32 fs_id;
	__u32 sighand_id;
	__u32 nr_threads;
	__s32 exit_code;
	__s32 exit_signal;
	__u32 umask;
	__u32 personality;
	__u32 cwd;
	__u32 root;
	__s32 tty;
	__s32 tty_pgrp;
	__s16 oom_score_adj;
	__s16 oom_score_adj_min;
	__u32 stop_reported;
	struct ckpt_itimer itimer[3];	/* ITIMER_REAL, _VIRTUAL, _PROF */
	__u64 limits[16][2];
	char comm[16];
};

#define CKPT_THREAD_LEADER	(1U << 0)
#define CKPT_THREAD_NO_NEW_PRIVS (1U << 1)
#define CKPT_THREAD_RESET_ON_FORK (1U << 2)	/* SCHED_RESET_ON_FORK */
#define CKPT_THREAD_IN_SYSCALL	(1U << 3)	/* informational */
#define CKPT_THREAD_MCE_POLICY	(1U << 4)	/* prctl(PR_MCE_KILL): not the default */
#define CKPT_THREAD_MCE_EARLY	(1U << 5)	/* PR_MCE_KILL_EARLY */

/* user_regs_struct order: r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di
 * orig_ax ip cs flags sp ss fs_base gs_base ds es fs gs
 */
#define CKPT_NR_REGS		27

enum ckpt_restart_kind {
	CKPT_RESTART_NONE = 0,
	CKPT_RESTART_NANOSLEEP = 1, /* a: clockid, b: rmtp, expires absolute */
	CKPT_RESTART_FUTEX = 2, /* a: uaddr, b: val, c: bitset, d: futex flags */
	CKPT_RESTART_POLL = 3, /* a: ufds, b: nfds, c: has timeout */
	CKPT_RESTART_TIMED = 4, /* a: syscall number; run again with the time left until expires */
};

/**
 * struct ckpt_restart - how an interrupted call goes on (regs.ax is -ERESTART_RESTARTBLOCK, or
 *	the number of restart_syscall already)
 * @kind: enum ckpt_restart_kind
 * @clock: clock of @expires; CLOCK_MONOTONIC and CLOCK_BOOTTIME are rebased, see
 *	struct ckpt_restore_begin
 * @expires: absolute time in ns; 0 if there is no deadline
 */
struct ckpt_restart {
	__u32 kind;
	__u32 clock;
	__u64 expires;
	__u64 a;
	__u64 b;
	__u64 c;
	__u64 d;
};

struct ckpt_creds {
	__u32 uid, euid, suid, fsuid;
	__u32 gid, egid, sgid, fsgid;
	__u32 securebits;
	__u32 pad;
	__u64 cap_inheritable, cap_permitted, cap_effective, cap_bounding, cap_ambient;
};

/**
 * struct ckpt_rec_thread - one thread
 * @tid, @pid: in the tree's PID namespace
 * @host_tid: in the caller's PID namespace
 * @regs: CKPT_NR_REGS words
 * @sigmask: blocked signals as the program set them (the saved mask if a call
 *	like ppoll has replaced it while the call runs)
 * @restart: see struct ckpt_restart
 * @cpus: affinity, a bit for each CPU, 1024 at most; bits beyond the machine's CPUs are set, and
 *	all bits are set if the program has not asked for an affinity
 */
struct ckpt_rec_thread {
	struct ckpt_rec_hdr hdr;
	__s32 tid;
	__s32 pid;
	__s32 host_tid;
	__u32 flags;
	char comm[16];
	__u64 regs[CKPT_NR_REGS];
	__u64 sigmask;
	__u64 sas_sp;
	__u64 sas_size;
	__u32 sas_flags;
	__u32 rseq_len;
	__u64 rseq;
	__u32 rseq_sig;
	__s32 pdeath_signal;
	__u64 robust_list;
	__u64 clear_child_tid;
	struct ckpt_restart restart;
	struct ckpt_creds creds;
	__u32 sched_policy;
	__u32 sched_priority;
	__s32 nice;
	__u32 ioprio;
	__u64 timer_slack_ns;
	__u64 cpus[16];
};

/* XSTATE; then: the XSAVE area in user (NT_X86_XSTATE) format */
struct ckpt_rec_xstate {
	struct ckpt_rec_hdr hdr;
	__s32 tid;
	__u32 size;
};

/* GROUPS; then: nr __u32 supplementary group ids */
struct ckpt_rec_groups {
	struct ckpt_rec_hdr hdr;
	__s32 tid;
	__u32 nr;
};

struct ckpt_sigaction {
	__u64 handler;
	__u64 flags;
	__u64 restorer;
	__u64 mask;
};

/* SIGACTIONS of a process: signals 1 to 64 */
struct ckpt_rec_sigactions {
	struct ckpt_rec_hdr hdr;
	__s32 pid;
	__u32 pad;
	struct ckpt_sigaction sa[64];
};

#define CKPT_TIMERS_MAX		65536	/* for one process */
#define CKPT_TIMER_ABSOLUTE	(1U << 0)	/* @value_ns is a time of CLOCK_REALTIME */
#define CKPT_TIMER_PENDING (1U << 1) /* a signal is pending; taking it does not arm the timer */

/**
 * struct ckpt_rec_timer - one POSIX timer of a process
 * @clock: CLOCK_REALTIME, _MONOTONIC, _BOOTTIME or _TAI
 * @notify, @signo, @sigev_value: as timer_create(2) has them; @tid: with SIGEV_THREAD_ID,
 *	0: that thread is gone
 * @next_id: number of the process's next timer
 * @pending_overrun: with CKPT_TIMER_PENDING: expirations since the signal became pending
 * @value_ns: time until the timer expires; 0: not armed; passed, or 1: its signal was pending, and
 *	taking the signal arms the timer. No other record has a timer's signal.
 * @overrun: expirations that the next signal will report beyond its own
 * @overrun_last: the answer of timer_getoverrun(2)
 */
struct ckpt_rec_timer {
	struct ckpt_rec_hdr hdr;
	__s32 pid;
	__s32 id;
	__u32 clock;
	__u32 notify;
	__s32 signo;
	__s32 tid;
	__u32 flags;
	__s32 next_id;
	__s32 pending_overrun;
	__u32 pad;
	__u64 sigev_value;
	__u64 value_ns;
	__u64 interval_ns;
	__s64 overrun;
	__s64 overrun_last;
};

/* most semaphores in one set (SEMMSL), which the kernel never exceeds by default */
#define CKPT_SEMADJ_MAX		65535

/*
 * SEMADJ: what SEM_UNDO will add to the semaphores of one set when the last thread of the process
 * ends; then: nr __s16
 */
struct ckpt_rec_semadj {
	struct ckpt_rec_hdr hdr;
	__s32 pid;
	__s32 id;
	__u32 nr;
	__u32 pad;
};

/* SIGPENDING: one queued signal, in queue order; siginfo as the kernel's
 * siginfo_t, in user format.  has_info 0: a signal without a queue entry.
 */
struct ckpt_rec_sigpending {
	struct ckpt_rec_hdr hdr;
	__s32 tid;		/* thread, or pid if shared */
	__u32 shared;
	__u32 signo;
	__u32 has_info;
	__u8 siginfo[128];
};

#include "ckpt_rec_memory.h"
#include "ckpt_rec_files.h"
#include "ckpt_rec_socks.h"
#include "ckpt_uring.h"

#endif /* _UAPI_LINUX_CKPT_RECORDS_H */
