// SPDX-License-Identifier: GPL-2.0-only
/*
 * The section tables of running processes; see member.h.
 *
 * A table is found by the shape of its mapping and its magic bytes. Nothing but its field until
 * is ever written. The process may have written anything into it: the numbers are only compared.
 */
#include "supervisor/vote/member.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libckptctl/section_table.h"

#define MEMBER_PROCESSES	1024

static const uint8_t magic[SECTION_MAGIC_BYTES] = SECTION_MAGIC;

/* One level of a job's tree at a time: the processes that are still to be looked at. */
struct member_tree {
	unsigned int nr, next;
	pid_t pids[MEMBER_PROCESSES];
};

/* Add the children of @parent; -E2BIG. */
static int member_children(struct member_tree *tree, pid_t parent)
{
	char path[64];
	int pid, err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "re");
	while (f && !err && fscanf(f, "%d", &pid) == 1) {
		if (tree->nr == MEMBER_PROCESSES)
			err = -E2BIG;
		else
			tree->pids[tree->nr++] = pid;
	}
	if (f)
		fclose(f);
	return err;
}

static bool member_is_table(int fd, uint64_t addr)
{
	struct section_table table;

	return pread(fd, &table, sizeof(table), (off_t)addr) == (ssize_t)sizeof(table) &&
	       !memcmp(table.magic, magic, sizeof(magic)) && table.version == SECTION_VERSION;
}

/* The address of the process's table; 0: it has none. */
static uint64_t member_find(pid_t pid, int fd)
{
	unsigned long start, end, inode;
	uint64_t found = 0;
	char path[64], line[512], mode[8];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %*x %*s %lu", &start, &end, mode, &inode) == 4 &&
		    end - start == SECTION_TABLE_SIZE && !inode && !strcmp(mode, "rw-p") &&
		    member_is_table(fd, start))
			found = start;
	}
	if (f)
		fclose(f);
	return found;
}

/* 0; -ENODATA: the process has no table. */
static int member_open_one(pid_t pid, struct member *ret_member, struct ckpt_error *error)
{
	struct member m = { .pid = pid };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	m.fd = open(path, O_RDWR | O_CLOEXEC);
	if (m.fd < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	m.table = member_find(m.pid, m.fd);
	if (!m.table) {
		close(m.fd);
		return error_set(error, -ENODATA, "its program does not call ckpt_section_begin()");
	}
	*ret_member = m;
	return 0;
}

/* Open those of the whole tree that have a table. */
static int member_open_ranks(struct member_tree *tree, unsigned int nr,
			     struct member *ret_members, struct ckpt_error *error)
{
	unsigned int found = 0;
	struct member m;
	int err = 0;

	while (!err && tree->next < tree->nr) {
		pid_t pid = tree->pids[tree->next++];

		err = member_children(tree, pid);
		if (err)
			err = error_set(error, err, "it has too many processes");
		else if (member_open_one(pid, &m, NULL))
			continue;
		else if (found < nr)
			ret_members[found++] = m;
		else {
			member_close(&m);
			err = error_set(error, -E2BIG, "more processes than its %u ranks call "
					"ckpt_section_begin()", nr);
		}
	}
	if (!err && found < nr)
		err = error_set(error, -ENODATA, "only %u of its %u ranks call "
				"ckpt_section_begin()", found, nr);
	for (unsigned int i = 0; err && i < found; i++)
		member_close(&ret_members[i]);
	return err;
}

int member_open(pid_t init, unsigned int nr, struct member *ret_members, struct ckpt_error *error)
{
	struct member_tree tree = { 0 };

	if (member_children(&tree, init))
		return error_set(error, -E2BIG, "it has too many processes");
	if (nr)
		return member_open_ranks(&tree, nr, ret_members, error);
	if (tree.nr != 1)
		return error_set(error, -EOPNOTSUPP, "it has not exactly one process");
	return member_open_one(tree.pids[0], ret_members, error);
}

void member_close(struct member *member)
{
	if (member->fd >= 0)
		close(member->fd);
	member->fd = -1;
}

int member_read(const struct member *member, struct section_member *ret_state)
{
	struct section_table table;

	if (pread(member->fd, &table, sizeof(table), (off_t)member->table) !=
	    (ssize_t)sizeof(table))
		return -ESRCH;
	*ret_state = (struct section_member) {
		.section = table.section, .until = table.until, .waits = table.waits,
	};
	return 0;
}

int member_tell(const struct member *member, uint64_t until)
{
	off_t at = (off_t)(member->table + offsetof(struct section_table, until));

	return pwrite(member->fd, &until, sizeof(until), at) == (ssize_t)sizeof(until) ? 0 : -ESRCH;
}

int member_release_all(pid_t init)
{
	struct member_tree tree = { 0 };
	int told = 0, err = member_children(&tree, init);
	struct member m;

	while (tree.next < tree.nr) {
		pid_t pid = tree.pids[tree.next++];

		err = member_children(&tree, pid) ?: err;
		if (member_open_one(pid, &m, NULL))
			continue;
		told += !member_tell(&m, 0);
		member_close(&m);
	}
	return err ?: told;
}
