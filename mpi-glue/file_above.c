// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor of the program for each open file of the MPI library.
 *
 * Descriptors of the lower half are in no image, so a dump would not know that the process writes
 * the file.  At a cut each file is opened once more from above: now the dump keeps or watches the
 * file as any other that the process has open, and a restart finds it.
 *
 * The descriptor stays until MPI_File_close().  To close it earlier would drop locks that the
 * program itself has on the file (fcntl(2)); the library's own close does that, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/file_above.h"

#define FILE_ABOVE_FIRST	512	/* the program's own next descriptors keep their numbers */

/* Does the descriptor still lead to the file? The program may have closed all that it found. */
static bool file_above_is_ours(const struct vfile *file)
{
	struct stat st;

	return file->above && !fstat(file->above - 1, &st) && st.st_dev == file->above_dev &&
	       st.st_ino == file->above_ino;
}

void file_above_found(struct vfile *file)
{
	struct stat st;

	if (!file->above || fstat(file->above - 1, &st))
		return;
	file->above_dev = st.st_dev;
	file->above_ino = st.st_ino;
}

void file_above_close(struct vfile *file)
{
	if (file_above_is_ours(file))
		close(file->above - 1);
	file->above = 0;
}

int file_above_open(struct vfile *file, const char *path)
{
	int flags = file->amode & MPI_MODE_RDWR ? O_RDWR :
		    file->amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
	struct stat st;
	int fd, high;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (file_above_is_ours(file)) {
		if (st.st_dev == file->above_dev && st.st_ino == file->above_ino)
			return 0;
		file_above_close(file);
	}
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FILE_ABOVE_FIRST);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	file->above = fd + 1;
	file_above_found(file);
	return 0;
}
