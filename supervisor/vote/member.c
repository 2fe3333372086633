// SPDX-License-Identifier: GPL-2.0-only
/*
 * The section table of a running process; see member.h.
 *
 * The table is found by the shape of its mapping and its magic bytes. Nothing but its field until
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

static const uint8_t magic[SECTION_MAGIC_BYTES] = SECTION_MAGIC;

/* The only child of @parent; 0: there is none, or more than one. */
static pid_t member_only_child(pid_t parent)
{
	char path[64];
	int pid = 0, other = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1 || fscanf(f, "%d", &other) == 1)
		pid = 0;
	fclose(f);
	return pid;
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

int member_open(pid_t init, struct member *ret_member, struct ckpt_error *error)
{
	struct member m = { .pid = member_only_child(init), .fd = -1 };
	char path[64];

	if (!m.pid)
		return error_set(error, -EOPNOTSUPP, "it has not exactly one process");
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)m.pid);
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
