/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks of fsnotify on whole file systems: the functions changed their arguments in 6.9, when
 * the list of a file system's marks moved. Drop when minimum >= 6.9.
 */
#ifndef _CKPT_COMPAT_FSNOTIFY_H
#define _CKPT_COMPAT_FSNOTIFY_H

#include <linux/fs.h>
#include <linux/fsnotify_backend.h>

#ifdef CKPT_HAVE_FSNOTIFY_OBJ
static inline struct fsnotify_mark *ckpt_fsnotify_find(struct super_block *sb,
						       struct fsnotify_group *group)
{
	return fsnotify_find_mark(sb, FSNOTIFY_OBJ_TYPE_SB, group);
}

static inline int ckpt_fsnotify_add(struct fsnotify_mark *mark, struct super_block *sb)
{
	return fsnotify_add_mark(mark, sb, FSNOTIFY_OBJ_TYPE_SB, 0);
}
#else
static inline struct fsnotify_mark *ckpt_fsnotify_find(struct super_block *sb,
						       struct fsnotify_group *group)
{
	return fsnotify_find_mark(&sb->s_fsnotify_marks, group);
}

static inline int ckpt_fsnotify_add(struct fsnotify_mark *mark, struct super_block *sb)
{
	return fsnotify_add_mark(mark, &sb->s_fsnotify_marks, FSNOTIFY_OBJ_TYPE_SB, 0, NULL);
}
#endif

/* The open file behind an event of its open or close: such an event has the path in the file. */
static inline const struct file *ckpt_fsnotify_file(const struct path *path)
{
	return container_of(path, struct file, f_path);
}

#ifndef CKPT_HAVE_INODE_GET_MTIME	/* drop when minimum >= 6.6 */
static inline struct timespec64 inode_get_mtime(const struct inode *inode)
{
	return inode->i_mtime;
}
#endif

#ifndef CKPT_HAVE_INODE_GET_CTIME	/* drop when minimum >= 6.6 */
static inline struct timespec64 inode_get_ctime(const struct inode *inode)
{
	return inode->i_ctime;
}
#endif

#endif /* _CKPT_COMPAT_FSNOTIFY_H */
