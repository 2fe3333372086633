/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Records of memory: maps, their protection keys, mappings and NUMA policies.
 *
 * Included by ckpt_records.h, whose rules for records hold.
 */
#ifndef _UAPI_LINUX_CKPT_REC_MEMORY_H
#define _UAPI_LINUX_CKPT_REC_MEMORY_H

/**
 * struct ckpt_rec_mm - one memory map
 * @pid: first process that has the map; @host_pid: the same in the caller's namespace
 * @exe: file_id (restore: descriptor)
 * @exe_recorded: restore: not 0: @exe is the recorded file, and is accepted even if nobody may
 *	execute it any more (-EACCES without CAP_DAC_OVERRIDE)
 * @nr_vmas: VMA records that follow
 * @nr_auxv: words of @auxv in use
 * @coredump_filter: bits of /proc/PID/coredump_filter
 * @membarrier: MEMBARRIER_CMD_REGISTER_* commands the process has given
 * @mmap_base: new mappings go below this address (above it in the legacy layout); 0: keep
 *	the one of the restoring process
 * @live: the snapshot does not hold this map (stopped, or no snapshot): read
 *	with CKPT_PAGES_LIVE, which for stopped processes works until release
 */
struct ckpt_rec_mm {
	struct ckpt_rec_hdr hdr;
	__u32 mm_id;
	__s32 pid;
	__s32 host_pid;
	__u32 exe;
	__u32 nr_vmas;
	__u32 dumpable;
	__u32 live;
	__u32 def_locked;	/* mlockall(MCL_FUTURE): 1; with MCL_ONFAULT: 2 */
	__u64 start_code, end_code, start_data, end_data;
	__u64 start_brk, brk, start_stack;
	__u64 arg_start, arg_end, env_start, env_end;
	__u64 rss_pages;
	__u32 nr_auxv;
	__u32 coredump_filter;
	__u64 auxv[64];
	__u32 membarrier;
	__u32 exe_recorded;
	__u64 mmap_base;
};

enum ckpt_vma_kind {
	CKPT_VMA_ANON = 1,		/* private anonymous */
	CKPT_VMA_FILE_PRIVATE = 2,
	CKPT_VMA_FILE_SHARED = 3,
	CKPT_VMA_SHM = 4,		/* MAP_SHARED|MAP_ANONYMOUS; file_id is the object */
	CKPT_VMA_HUGETLB_PRIVATE = 5,
	CKPT_VMA_HUGETLB_SHARED = 6,	/* anonymous: file_id is the object */
	CKPT_VMA_VDSO = 7,
	CKPT_VMA_VVAR = 8,
	CKPT_VMA_VSYSCALL = 9,		/* not emitted: fixed by the kernel */
	CKPT_VMA_SYSV = 10,		/* an attached System V segment */
	CKPT_VMA_AIO = 11,		/* the ring of io_setup(2): file 0, an AIO record follows */
	CKPT_VMA_URING = 12,		/* queues of an io_uring; their content is in its record */
};

/* vm_flags, translated; the names are those of VM_* */
#define CKPT_VM_READ		(1ULL << 0)
#define CKPT_VM_WRITE		(1ULL << 1)
#define CKPT_VM_EXEC		(1ULL << 2)
#define CKPT_VM_SHARED		(1ULL << 3)
#define CKPT_VM_MAYWRITE	(1ULL << 4)
#define CKPT_VM_GROWSDOWN	(1ULL << 5)
#define CKPT_VM_LOCKED		(1ULL << 6)
#define CKPT_VM_LOCKONFAULT	(1ULL << 7)
#define CKPT_VM_NORESERVE	(1ULL << 8)
#define CKPT_VM_ACCOUNT		(1ULL << 9)
#define CKPT_VM_SEQ_READ	(1ULL << 10)
#define CKPT_VM_RAND_READ	(1ULL << 11)
#define CKPT_VM_DONTCOPY	(1ULL << 12)	/* MADV_DONTFORK: snapshot lacks it, read live */
#define CKPT_VM_WIPEONFORK	(1ULL << 13)	/* snapshot lacks it, read live */
#define CKPT_VM_DONTDUMP	(1ULL << 14)
#define CKPT_VM_HUGEPAGE	(1ULL << 15)
#define CKPT_VM_NOHUGEPAGE	(1ULL << 16)
#define CKPT_VM_MERGEABLE	(1ULL << 17)
#define CKPT_VM_SYNC		(1ULL << 18)
#define CKPT_VM_STACK		(1ULL << 19)	/* MAP_STACK: informational */
#define CKPT_VM_HAS_ANON	(1ULL << 20)	/* has ever held anonymous pages */
#define CKPT_VM_LIVE		(1ULL << 21)	/* pages must be read live, in the pause */
/* 1ULL << 22 is retired */
#define CKPT_VM_DROPPABLE	(1ULL << 23)	/* MAP_DROPPABLE: its pages are not to be kept */
/*
 * its protection key; 0: none. One that PKEYS has not is the kernel's own choice for mappings that
 * may only be executed.
 */
#define CKPT_VM_KEY_SHIFT	24
#define CKPT_VM_KEY_MASK	(15ULL << CKPT_VM_KEY_SHIFT)

/**
 * struct ckpt_rec_vma - one mapping
 * @pgoff: offset in the file, in 4 KiB pages
 * @file: file_id, 0 if none (restore: descriptor, -1 if none)
 * @hugepage_shift: log2 of the page size of a hugetlb mapping
 * @share_src: restore only, 0
 */
struct ckpt_rec_vma {
	struct ckpt_rec_hdr hdr;
	__u64 start;
	__u64 end;
	__u64 pgoff;
	__u64 flags;
	__u32 kind;
	__s32 file;
	__u32 mm_id;
	__u32 hugepage_shift;
	char name[80];		/* PR_SET_VMA_ANON_NAME, NUL padded */
};

/**
 * struct ckpt_rec_pkeys - the protection keys that the program has allocated (pkey_alloc(2)) in the
 *	memory map whose record precedes this one, if there are any
 * @keys: a bit for each key from 1 on
 */
struct ckpt_rec_pkeys {
	struct ckpt_rec_hdr hdr;
	__u32 mm_id;
	__u32 keys;
};

#define CKPT_AIO_EVENTS_MAX	(1U << 17)	/* unread events of one context */
#define CKPT_AIO_INHERITED	(1U << 0)	/* another map's ring: fork copied the mapping */
#define CKPT_AIO_GONE		(1U << 1)	/* of a context that is gone: nothing is mapped */

/**
 * struct ckpt_rec_aio - the asynchronous I/O context (io_setup(2)) whose ring is the mapping that
 *	the VMA record before this one tells, or a ring that the map has from a fork;
 *	then: @nr struct io_event that nobody has read, oldest first
 * @flags: CKPT_AIO_*; with _INHERITED all that follows @ring is 0
 * @start: of the mapping, and the context's number
 * @ring: equal numbers are the same ring; a map with the context comes before those that inherited
 *	its ring
 * @nr_reqs: the argument of io_setup(2)
 * @nr_events: room of the ring; @head, @tail: positions in it
 */
struct ckpt_rec_aio {
	struct ckpt_rec_hdr hdr;
	__u32 mm_id;
	__u32 flags;
	__u64 start;
	__u32 ring;
	__u32 nr_reqs;
	__u32 nr_events;
	__u32 head;
	__u32 tail;
	__u32 nr;
};

#define CKPT_NODES_MAX		1024	/* NUMA nodes that a record has room for */

/**
 * struct ckpt_rec_mempolicy - the NUMA memory policy of the thread or mapping whose record precedes
 *	this one, if it has a policy of its own
 * @tid: the thread; 0: this is the policy of a mapping
 * @mm_id, @start: the mapping; 0: this is the policy of a thread
 * @mode: MPOL_*
 * @flags: MPOL_F_STATIC_NODES, _RELATIVE_NODES, _NUMA_BALANCING
 * @home: node of set_mempolicy_home_node(2); -1: none
 * @nodes: a bit for each node: with these flags the nodes that the program gave, without them the
 *	nodes that it may use
 */
struct ckpt_rec_mempolicy {
	struct ckpt_rec_hdr hdr;
	__s32 tid;
	__u32 mm_id;
	__u64 start;
	__u32 mode;
	__u32 flags;
	__s32 home;
	__u32 pad;
	__u64 nodes[CKPT_NODES_MAX / 64];
};

#endif /* _UAPI_LINUX_CKPT_REC_MEMORY_H */
