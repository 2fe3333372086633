/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places: names of file systems that are the same on every node, so that a file that processes of
 * several nodes use is known to be one file. The place of a file system on a server is its type
 * and its source, as "nfs4 server:/export"; of any other one it is the boot and the device, which
 * no other machine has.
 *
 * No file is looked at, so that a server that does not answer holds nobody up.
 */
#ifndef STILLPOINT_IO_PLACE_H
#define STILLPOINT_IO_PLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "supervisor/iotrace/bpf/io_trace.h"

#define IO_PLACE_MAX	320	/* bytes, with the end */

/*
 * io_place_parse() - the place from one line of mountinfo
 * @dev: as io_file_key has it
 * @boot: name of this boot
 * @ret_place: IO_PLACE_MAX bytes
 *
 * 0; -ENOENT: the line is of another device; -ENAMETOOLONG: the source is too long for a place.
 */
int io_place_parse(const char *line, __u32 dev, const char *boot, char *ret_place);
/* The place of @dev as process @pid has it mounted. 0, or errors as above. */
int io_place_find(pid_t pid, __u32 dev, char *ret_place);

#endif /* STILLPOINT_IO_PLACE_H */
