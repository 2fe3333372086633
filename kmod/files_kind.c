// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kind of a file, and the state of an open file that cannot be saved.
 *
 * File system and inode type decide the kind, not the file operations, whose addresses a module
 * cannot know.  An unknown kind is OTHER, and refused.
 */
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/magic.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/tty.h>

#include <net/sock.h>

#include "collect.h"
#include "collect_kind.h"

#ifndef SECRETMEM_MAGIC
#define SECRETMEM_MAGIC		0x5345434d
#endif
#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC		0x50494446
#endif

/* ---------------------------------------------------------------- kinds of their own */

const struct ckpt_collect_kind *const ckpt_collect_kinds[] = {
	&ckpt_kind_pipe,
	&ckpt_kind_socket,
	&ckpt_kind_eventfd,
	&ckpt_kind_timerfd,
	&ckpt_kind_signalfd,
	&ckpt_kind_epoll,
	&ckpt_kind_sysv,
	&ckpt_kind_mqueue,
	&ckpt_kind_uring,
	NULL,
};

const struct ckpt_collect_kind *ckpt_collect_kind_of(u32 kind)
{
	unsigned int i, k;

	for (i = 0; ckpt_collect_kinds[i]; i++)
		for (k = 0; k < ARRAY_SIZE(ckpt_collect_kinds[i]->kinds) &&
		     ckpt_collect_kinds[i]->kinds[k]; k++)
			if (ckpt_collect_kinds[i]->kinds[k] == kind)
				return ckpt_collect_kinds[i];
	return NULL;
}

/* ---------------------------------------------------------------- the kind of a file */

static u32 ckpt_kind_anon_inode(const char *name)
{
	static const struct {
		const char *name;
		u32 kind;
	} kinds[] = {
		{ "[pidfd]", CKPT_FILE_PIDFD },
		{ "inotify", CKPT_FILE_INOTIFY },
		{ "[fanotify]", CKPT_FILE_INOTIFY },
	};
	unsigned int i;

	for (i = 0; ckpt_collect_kinds[i]; i++)
		if (ckpt_collect_kinds[i]->anon_name &&
		    !strcmp(name, ckpt_collect_kinds[i]->anon_name))
			return ckpt_collect_kinds[i]->kinds[0];
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return kinds[i].kind;
	return CKPT_FILE_OTHER;
}

/* Files of the mounts that only the kernel itself uses. */
static u32 ckpt_kind_internal(const struct super_block *sb, const char *name)
{
	bool is_memfd = !strncmp(name, "memfd:", 6);

	if (sb->s_magic == HUGETLBFS_MAGIC)
		return CKPT_FILE_HUGETLB;
	if (sb->s_magic != TMPFS_MAGIC)
		return CKPT_FILE_OTHER;
	if (is_memfd)
		return CKPT_FILE_MEMFD;
	if (!strncmp(name, "SYSV", 4))
		return CKPT_FILE_SYSV;
	return !strcmp(name, "dev/zero") ? CKPT_FILE_SHM : CKPT_FILE_OTHER;
}

static u32 ckpt_kind_regular(struct file *file)
{
	const struct super_block *sb = file_inode(file)->i_sb;
	const char *name = file->f_path.dentry->d_name.name;

	switch (sb->s_magic) {
	case TMPFS_MAGIC:
	case HUGETLBFS_MAGIC:
		if (sb->s_flags & SB_KERNMOUNT)
			return ckpt_kind_internal(sb, name);
		return CKPT_FILE_REG;
	case ANON_INODE_FS_MAGIC:
		return ckpt_kind_anon_inode(name);
	case PID_FS_MAGIC:
		return CKPT_FILE_PIDFD;
	case SECRETMEM_MAGIC:
	case NSFS_MAGIC:
		return CKPT_FILE_OTHER;
	}
	if (ckpt_file_is_mqueue(file))
		return CKPT_FILE_MQUEUE;
	return strcmp(sb->s_type->name, "aio") ? CKPT_FILE_REG : CKPT_FILE_OTHER;
}

static bool ckpt_kind_is_pty_slave(dev_t rdev)
{
	return MAJOR(rdev) >= UNIX98_PTY_SLAVE_MAJOR &&
	       MAJOR(rdev) < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT;
}

static struct tty_struct *ckpt_kind_tty(struct file *file)
{
	struct tty_file_private *priv = file->private_data;

	return priv ? priv->tty : NULL;
}

static u32 ckpt_kind_chr(struct file *file, u64 *ret_object)
{
	dev_t rdev = file_inode(file)->i_rdev;
	struct tty_struct *tty;
	u32 kind;

	if (ckpt_kind_is_pty_slave(rdev))
		kind = CKPT_FILE_PTS;
	else if (rdev == MKDEV(TTYAUX_MAJOR, 2))
		kind = CKPT_FILE_PTM;
	else if (rdev == MKDEV(TTYAUX_MAJOR, 0))
		kind = CKPT_FILE_TTY;
	else
		return CKPT_FILE_CHR;
	tty = ckpt_kind_tty(file);
	if (tty)	/* only /dev/tty can refer to a terminal that is no pty */
		*ret_object = tty->driver->type == TTY_DRIVER_TYPE_PTY ? tty->index : U64_MAX;
	return kind;
}

struct tty_struct *ckpt_file_pty(struct file *file)
{
	u64 index = 0;

	switch (S_ISCHR(file_inode(file)->i_mode) && !(file->f_mode & FMODE_PATH) ?
		ckpt_kind_chr(file, &index) : CKPT_FILE_CHR) {
	case CKPT_FILE_PTM:
	case CKPT_FILE_PTS:
		return ckpt_kind_tty(file);
	default:
		return NULL;
	}
}

u32 ckpt_file_tty_flags(struct file *file, u32 kind)
{
	struct tty_struct *tty = kind == CKPT_FILE_PTM ? ckpt_kind_tty(file) : NULL;
	u32 flags = 0;

	if (!tty)
		return 0;
	if (test_bit(TTY_OTHER_CLOSED, &tty->flags))
		flags |= CKPT_FILE_TTY_CLOSED;
	if (READ_ONCE(tty->ctrl.packet))
		flags |= CKPT_FILE_TTY_PACKET;
	return flags;
}

u32 ckpt_file_kind(struct file *file, u64 *ret_object)
{
	umode_t mode = file_inode(file)->i_mode;

	*ret_object = 0;
	if (file->f_mode & FMODE_PATH)
		return CKPT_FILE_PATH;
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return CKPT_FILE_DIR;
	case S_IFCHR:
		return ckpt_kind_chr(file, ret_object);
	case S_IFBLK:
		return CKPT_FILE_BLK;
	case S_IFSOCK:
		*ret_object = sock_from_file(file) ? sock_from_file(file)->type : 0;
		return CKPT_FILE_SOCK;
	case S_IFLNK:
		return CKPT_FILE_SYMLINK;
	case S_IFIFO:
		return file_inode(file)->i_sb->s_magic == PIPEFS_MAGIC ? CKPT_FILE_PIPE
								       : CKPT_FILE_FIFO;
	default:
		if (file_inode(file)->i_sb->s_magic == HUGETLBFS_MAGIC)
			*ret_object = file_inode(file)->i_blkbits;
		else if (ckpt_file_is_sysv(file))
			*ret_object = file_inode(file)->i_ino;
		return ckpt_kind_regular(file);
	}
}

/*
 * True for a file with state of its own in a tree that is rolled back: nothing of the file stays.
 * Pipes are looked at, as they lead to the caller.
 */
bool ckpt_file_is_taken_away(const struct ckpt_collect *c, struct file *file)
{
	const struct ckpt_collect_kind *kind;
	u64 object;

	if (!(c->tree->flags & CKPT_TARGET_ROLLBACK))
		return false;
	kind = ckpt_collect_kind_of(ckpt_file_kind(file, &object));
	return kind && kind != &ckpt_kind_pipe;
}

/* --------------------------------------------------------- what is refused */

static const struct {
	u32 kind;
	enum ckpt_reason reason;
} ckpt_kind_refused[] = {
	{ CKPT_FILE_BLK, CKPT_R_FD_DEVICE },
	{ CKPT_FILE_SOCK, CKPT_R_FD_SOCKET },
	{ CKPT_FILE_INOTIFY, CKPT_R_FD_INOTIFY },
	{ CKPT_FILE_PIDFD, CKPT_R_FD_KIND },
	{ CKPT_FILE_SYSV, CKPT_R_FD_KIND },
	{ CKPT_FILE_OTHER, CKPT_R_FD_KIND },
};

static bool ckpt_kind_is_known_device(dev_t rdev)
{
	if (MAJOR(rdev) == MEM_MAJOR) {
		switch (MINOR(rdev)) {
		case 3:		/* null */
		case 5:		/* zero */
		case 7:		/* full */
		case 8:		/* random */
		case 9:		/* urandom */
			return true;
		}
	}
	/* terminals are recorded; user space decides about them */
	return MAJOR(rdev) == TTY_MAJOR || MAJOR(rdev) == TTYAUX_MAJOR;
}

/* Does the caller save descriptors of the kind, if nobody outside has them? */
static bool ckpt_kind_is_callers(struct ckpt_collect *c, struct ckpt_object *obj, u32 kind)
{
	enum ckpt_reason reason = kind == CKPT_FILE_PIDFD ? CKPT_R_FD_KIND : CKPT_R_FD_INOTIFY;

	if (!(c->tree->flags & CKPT_TARGET_FOWN) ||
	    (kind != CKPT_FILE_PIDFD && kind != CKPT_FILE_INOTIFY) ||
	    !strcmp(obj->file.file->f_path.dentry->d_name.name, "[fanotify]"))
		return false;
	ckpt_file_is_own(c, obj, reason);
	return true;
}

static void ckpt_file_check_kind(struct ckpt_collect *c, struct ckpt_object *obj, u32 kind)
{
	struct file *file = obj->file.file;
	dev_t rdev = file_inode(file)->i_rdev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ckpt_kind_refused); i++)
		if (ckpt_kind_refused[i].kind == kind) {
			enum ckpt_reason reason = ckpt_kind_refused[i].reason;

			if (ckpt_kind_is_callers(c, obj, kind))
				return;
			if (kind == CKPT_FILE_SOCK && ckpt_file_is_known_sock(c, file))
				return;
			if (kind == CKPT_FILE_SOCK && sock_from_file(file) &&
			    sock_from_file(file)->sk) {
				const struct sock *sk = sock_from_file(file)->sk;

				ckpt_refuse(c->cap, reason, obj->task, obj->id,
					    "a socket of family %u, type %u, protocol %u",
					    sk->sk_family, sk->sk_type, sk->sk_protocol);
				return;
			}
			ckpt_refuse(c->cap, reason, obj->task, obj->id, "%pD", file);
			return;
		}
	if (kind == CKPT_FILE_CHR && !ckpt_kind_is_known_device(rdev))
		ckpt_refuse(c->cap, CKPT_R_FD_DEVICE, obj->task, obj->id, "%pD4 (%u:%u)",
			    file, MAJOR(rdev), MINOR(rdev));
}

void ckpt_file_check(struct ckpt_collect *c, struct ckpt_object *obj, u32 kind)
{
	struct file *file = obj->file.file;

	if (!(obj->file.flags & CKPT_FILE_OPEN))
		return;		/* mappings are checked as mappings */
	ckpt_file_check_kind(c, obj, kind);
	if (kind == CKPT_FILE_PATH)
		return;
	if (ckpt_file_has_owner(file) && !(c->tree->flags & CKPT_TARGET_FOWN))
		ckpt_refuse(c->cap, CKPT_R_FD_OWNER, obj->task, obj->id, "%pD4", file);
}
