/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mounts of this process by mountinfo: which file system a path is on, without looking at the
 * path. A server that does not answer holds up whoever stats a file of it, but not who reads this.
 */
#ifndef STILLPOINT_MOUNT_TABLE_H
#define STILLPOINT_MOUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define MOUNT_TABLE_MAX	16384	/* lines that are read */

struct mount_entry {
	unsigned int major, minor;
	char *dir, *type, *source;	/* without escapes */
};

struct mount_table {
	struct mount_entry *entries;
	size_t nr;
};

/* Undo the kernel's escapes (\040) in place; what is none stays. */
void mount_unescape(char *text);

/* Read all lines of @f; what is no line of mountinfo is left out. 0 or -ENOMEM. */
int mount_table_parse(FILE *f, struct mount_table *ret_table);
/* The same of /proc/self/mountinfo; negative errno also if it cannot be opened. */
int mount_table_read(struct mount_table *ret_table);
void mount_table_free(struct mount_table *table);	/* an empty one is fine */

/*
 * mount_table_at() - the mount that @path is on by its name: the longest directory above it, and
 *	of several there the last one, which hides the others
 *
 * Symbolic links are not seen. NULL: none, or @path is not absolute or has a component "..".
 */
const struct mount_entry *mount_table_at(const struct mount_table *table, const char *path);
/* The first mount of the device; NULL: none. */
const struct mount_entry *mount_table_of(const struct mount_table *table, unsigned int major,
					 unsigned int minor);
/* The file system is on servers: NFS or Lustre. Its source names it better than a number. */
bool mount_entry_is_served(const struct mount_entry *entry);

#endif /* STILLPOINT_MOUNT_TABLE_H */
