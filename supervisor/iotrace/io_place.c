// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places of file systems by mountinfo; see io_place.h.
 *
 * Only types whose inode numbers come from the server are taken for shared ones. A source that is
 * a path is a device or a name of this node, and says nothing to another one.
 */
#include "supervisor/iotrace/io_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/identity.h"

#define BOOT_SIZE	40

static bool io_place_is_shared(const char *type, const char *source)
{
	static const char *const types[] = {
		"nfs", "nfs4", "lustre", "gpfs", "ceph", "cifs", "smb3", "beegfs", "orangefs",
		"pvfs2", "afs", "panfs", "wekafs", "fuse.glusterfs",
	};
	size_t i;

	/* a device of this node; //SERVER/SHARE is of no node */
	if (source[0] == '/' && source[1] != '/')
		return false;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(type, types[i]))
			return true;
	}
	return false;
}

int io_place_parse(const char *line, __u32 dev, const char *boot, char *ret_place)
{
	const char *rest = strstr(line, " - ");
	char type[64], source[IO_PLACE_MAX] = "", place[IO_PLACE_MAX + 64];
	unsigned int major, minor;
	int id, parent, n;

	if (sscanf(line, "%d %d %u:%u ", &id, &parent, &major, &minor) != 4 ||
	    (major << 20 | minor) != dev || !rest)
		return -ENOENT;
	if (sscanf(rest, " - %63s %319s", type, source) == 2 && io_place_is_shared(type, source))
		n = snprintf(place, sizeof(place), "%s %s", type, source);
	else
		n = snprintf(place, sizeof(place), "%s %u:%u", boot, major, minor);
	/* a source that was cut would be another one's, too */
	if (n >= IO_PLACE_MAX || strlen(source) == sizeof(source) - 1)
		return -ENAMETOOLONG;
	memcpy(ret_place, place, (size_t)n + 1);
	return 0;
}

int io_place_find(pid_t pid, __u32 dev, char *ret_place)
{
	char path[64], boot[BOOT_SIZE], *line = NULL;
	int err = identity_boot(boot);
	size_t size = 0;
	FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	if (!err) {
		f = fopen(path, "re");
		err = f ? -ENOENT : -errno;
	}
	while (f && err == -ENOENT && getline(&line, &size, f) > 0)
		err = io_place_parse(line, dev, boot, ret_place);
	free(line);
	if (f)
		fclose(f);
	return err;
}
