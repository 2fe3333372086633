// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private structures of the kernel, compared with its own description of them.
 *
 * The table has every field that the module reads.  Nothing but the place of a field is compared:
 * a field that keeps its name and place and gets another meaning is not found out.  The parameter
 * `distrust` names structures that are not to be read whatever they look like.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/string.h>

#include "aio.h"
#include "event.h"
#include "ksyms.h"
#include "layout.h"
#include "lsm.h"
#include "mqueue.h"
#include "n_tty.h"
#include "sem.h"
#include "uring.h"

static char *ckpt_distrust;
module_param_named(distrust, ckpt_distrust, charp, 0444);
MODULE_PARM_DESC(distrust, "private structures of the kernel not to be read, with commas between");

static u32 ckpt_layouts_bad __ro_after_init;	/* BIT(enum ckpt_layout) */

static const struct {
	const char *type;
	const char *lost;	/* the consequence, for the log */
} ckpt_layouts[] = {
	[CKPT_LAYOUT_N_TTY] = { "n_tty_data",
				"a checkpoint with unread terminal input is refused" },
	[CKPT_LAYOUT_SEM_UNDO] = { "sem_undo_list",
				   "whoever has used SEM_UNDO is refused" },
	[CKPT_LAYOUT_LANDLOCK] = { "landlock_cred_security",
				   "checkpoints are refused while Landlock is enabled" },
	[CKPT_LAYOUT_EVENTFD] = { "eventfd_ctx", "eventfds are refused" },
	[CKPT_LAYOUT_TIMERFD] = { "timerfd_ctx", "timerfds are refused" },
	[CKPT_LAYOUT_SIGNALFD] = { "signalfd_ctx", "signalfds are refused" },
	[CKPT_LAYOUT_EVENTPOLL] = { "eventpoll", "epoll descriptors are refused" },
	[CKPT_LAYOUT_EPITEM] = { "epitem", "epoll descriptors are refused" },
	[CKPT_LAYOUT_EPPOLL] = { "eppoll_entry", "signalfds that epoll watches are refused" },
	[CKPT_LAYOUT_SEM_ENTRY] = { "sem_undo", "System V objects are refused" },
	[CKPT_LAYOUT_SEM_ARRAY] = { "sem_array", "System V objects are refused" },
	[CKPT_LAYOUT_KIOCTX] = { "kioctx", "asynchronous I/O is refused" },
	[CKPT_LAYOUT_KIOCTX_TABLE] = { "kioctx_table", "asynchronous I/O is refused" },
	[CKPT_LAYOUT_KIOCTX_CPU] = { "kioctx_cpu", "asynchronous I/O is refused" },
	[CKPT_LAYOUT_SHM] = { "shmid_kernel", "System V objects are refused" },
	[CKPT_LAYOUT_MQUEUE] = { "mqueue_inode_info", "POSIX message queues are refused" },
	[CKPT_LAYOUT_MQUEUE_LEAF] = { "posix_msg_tree_node", "POSIX message queues are refused" },
	[CKPT_LAYOUT_URING_RSRC] = { "io_rsrc_data", "rings of io_uring are refused" },
	[CKPT_LAYOUT_MSG_SEGMENT] = { "msg_msgseg", "POSIX message queues are refused" },
};

#define CKPT_FIELD(layout, mine, name)					\
	{ CKPT_LAYOUT_##layout, #name, 8 * offsetof(struct mine, name) }
#define CKPT_BIT(layout, mine, byte, name, mask)			\
	{ CKPT_LAYOUT_##layout, #name, 8 * offsetof(struct mine, byte) + __builtin_ctzl(mask) }

struct ckpt_layout_field {
	enum ckpt_layout layout;
	const char *name;
	u32 bit;		/* offset in bits */
};

static const struct ckpt_layout_field ckpt_layout_fields[] __initconst = {
	CKPT_FIELD(N_TTY, ckpt_n_tty, read_head),
	CKPT_FIELD(N_TTY, ckpt_n_tty, canon_head),
	CKPT_FIELD(N_TTY, ckpt_n_tty, no_room),
	CKPT_BIT(N_TTY, ckpt_n_tty, mode, lnext, CKPT_N_TTY_LNEXT),
	CKPT_BIT(N_TTY, ckpt_n_tty, mode, icanon, CKPT_N_TTY_ICANON),
	CKPT_FIELD(N_TTY, ckpt_n_tty, read_buf),
	CKPT_FIELD(N_TTY, ckpt_n_tty, read_flags),
	CKPT_FIELD(N_TTY, ckpt_n_tty, read_tail),
#ifdef CONFIG_SYSVIPC
	CKPT_FIELD(SEM_UNDO, ckpt_sem_undo_list, refcnt),
	CKPT_FIELD(SEM_UNDO, ckpt_sem_undo_list, lock),
	CKPT_FIELD(SEM_UNDO, ckpt_sem_undo_list, list_proc),
	CKPT_FIELD(SEM_ENTRY, ckpt_sem_undo, list_proc),
	CKPT_FIELD(SEM_ENTRY, ckpt_sem_undo, semid),
	CKPT_FIELD(SEM_ENTRY, ckpt_sem_undo, semadj),
	CKPT_FIELD(SEM_ARRAY, ckpt_sem_array, sem_perm),
	CKPT_FIELD(SEM_ARRAY, ckpt_sem_array, sem_nsems),
	CKPT_FIELD(SHM, ckpt_shm, shm_perm),
	CKPT_FIELD(SHM, ckpt_shm, shm_file),
	CKPT_FIELD(SHM, ckpt_shm, shm_cprid),
	CKPT_FIELD(SHM, ckpt_shm, shm_lprid),
#endif
#ifdef CONFIG_SECURITY_LANDLOCK
	CKPT_FIELD(LANDLOCK, ckpt_landlock_cred, domain),
#endif
#ifdef CONFIG_AIO
	CKPT_FIELD(KIOCTX, ckpt_kioctx, users),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, user_id),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, cpu),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, max_reqs),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, nr_events),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, mmap_size),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, reqs_available),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, tail),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, completed_events),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, completion_lock),
	CKPT_FIELD(KIOCTX, ckpt_kioctx, aio_ring_file),
	CKPT_FIELD(KIOCTX_TABLE, ckpt_kioctx_table, nr),
	CKPT_FIELD(KIOCTX_TABLE, ckpt_kioctx_table, table),
	CKPT_FIELD(KIOCTX_CPU, ckpt_kioctx_cpu, reqs_available),
#endif
#ifdef CONFIG_POSIX_MQUEUE
	CKPT_FIELD(MQUEUE, ckpt_mqueue, lock),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, vfs_inode),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, msg_tree),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, attr),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, notify),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, notify_owner),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, notify_self_exec_id),
	CKPT_FIELD(MQUEUE, ckpt_mqueue, notify_user_ns),
	CKPT_FIELD(MQUEUE_LEAF, ckpt_mqueue_leaf, rb_node),
	CKPT_FIELD(MQUEUE_LEAF, ckpt_mqueue_leaf, msg_list),
	CKPT_FIELD(MQUEUE_LEAF, ckpt_mqueue_leaf, priority),
	CKPT_FIELD(MSG_SEGMENT, ckpt_msg_segment, next),
#endif
#if CKPT_URING_IS_KNOWN
	CKPT_FIELD(URING_RSRC, ckpt_uring_rsrc, tags),
	CKPT_FIELD(URING_RSRC, ckpt_uring_rsrc, nr),
#endif
	CKPT_FIELD(EVENTFD, ckpt_eventfd, kref),
	CKPT_FIELD(EVENTFD, ckpt_eventfd, wqh),
	CKPT_FIELD(EVENTFD, ckpt_eventfd, count),
	CKPT_FIELD(EVENTFD, ckpt_eventfd, flags),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, t),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, tintv),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, moffs),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, wqh),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, ticks),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, clockid),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, expired),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, settime_flags),
	CKPT_FIELD(TIMERFD, ckpt_timerfd, might_cancel),
	CKPT_FIELD(SIGNALFD, ckpt_signalfd, sigmask),
	CKPT_FIELD(EVENTPOLL, ckpt_eventpoll, mtx),
	CKPT_FIELD(EVENTPOLL, ckpt_eventpoll, rbr),
	CKPT_FIELD(EPITEM, ckpt_epitem, rdllink),
	CKPT_FIELD(EPITEM, ckpt_epitem, ffd),
	CKPT_FIELD(EPITEM, ckpt_epitem, pwqlist),
	CKPT_FIELD(EPITEM, ckpt_epitem, event),
	CKPT_FIELD(EPPOLL, ckpt_eppoll_entry, next),
	CKPT_FIELD(EPPOLL, ckpt_eppoll_entry, wait),
	CKPT_FIELD(EPPOLL, ckpt_eppoll_entry, whead),
};

bool ckpt_layout_fits(enum ckpt_layout layout)
{
	return !(ckpt_layouts_bad & BIT(layout));
}

static void __init ckpt_layout_distrust(enum ckpt_layout layout, const char *field,
					const char *why)
{
	if (ckpt_layout_fits(layout))
		pr_warn("struct %s%s%s %s: %s\n", ckpt_layouts[layout].type, field ? "." : "",
			field ?: "", why, ckpt_layouts[layout].lost);
	ckpt_layouts_bad |= BIT(layout);
}

static void __init ckpt_layouts_distrust_named(void)
{
	const char *name = ckpt_distrust, *end;
	unsigned int i;

	for (; name && *name; name = *end ? end + 1 : end) {
		end = strchrnul(name, ',');
		for (i = 0; i < CKPT_LAYOUT__COUNT; i++)
			if (strlen(ckpt_layouts[i].type) == end - name &&
			    !strncmp(ckpt_layouts[i].type, name, end - name))
				break;
		if (i < CKPT_LAYOUT__COUNT)
			ckpt_layout_distrust(i, NULL, "is distrusted, as asked for");
		else
			pr_warn("distrust=%.*s: the module reads no such structure\n",
				(int)(end - name), name);
	}
}

#if defined(CONFIG_BPF_SYSCALL) && defined(CONFIG_DEBUG_INFO_BTF)

/* The place of the field, also in a structure or union without a name within. */
static bool __init ckpt_layout_member(const struct btf *btf, const struct btf_type *type,
				      const char *name, u32 *ret_bit)
{
	const struct btf_member *member;
	const struct btf_type *inner;
	const char *found;
	u32 i;

	for_each_member(i, type, member) {
		found = ckpt_k(btf_name_by_offset)(btf, member->name_off);
		inner = *found ? NULL : ckpt_k(btf_type_by_id)(btf, member->type);
		*ret_bit = 0;
		if (!strcmp(found, name) ||
		    (inner && btf_type_is_struct(inner) &&
		     ckpt_layout_member(btf, inner, name, ret_bit))) {
			*ret_bit += btf_member_bit_offset(type, i);
			return true;
		}
	}
	return false;
}

static void __init ckpt_layout_compare(const struct btf *btf, unsigned int field)
{
	enum ckpt_layout layout = ckpt_layout_fields[field].layout;
	const char *name = ckpt_layout_fields[field].name;
	const struct btf_type *type;
	u32 bit;
	s32 id;

	id = ckpt_k(btf_find_by_name_kind)(btf, ckpt_layouts[layout].type, BTF_KIND_STRUCT);
	type = id > 0 ? ckpt_k(btf_type_by_id)(btf, id) : NULL;
	if (!type)
		ckpt_layout_distrust(layout, NULL, "is not in this kernel");
	else if (!ckpt_layout_member(btf, type, name, &bit))
		ckpt_layout_distrust(layout, name, "is not in this kernel");
	else if (bit != ckpt_layout_fields[field].bit)
		ckpt_layout_distrust(layout, name, "is elsewhere in this kernel");
}

void __init ckpt_layouts_init(void)
{
	struct btf *btf = ckpt_k(bpf_get_btf_vmlinux)();
	unsigned int i;

	ckpt_layouts_distrust_named();
	if (IS_ERR_OR_NULL(btf)) {
		pr_notice("private structures are not checked: this kernel's BTF cannot be read\n");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(ckpt_layout_fields); i++)
		ckpt_layout_compare(btf, i);
}

#else

void __init ckpt_layouts_init(void)
{
	ckpt_layouts_distrust_named();
	pr_notice("private structures are not checked: this kernel has no BTF\n");
}

#endif
