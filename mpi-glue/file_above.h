/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A descriptor of the program for each open file of the MPI library, so that a dump knows of the
 * file.  Only for threads that hold off the closing of the file: the glue thread at a cut, and the
 * thread that closes it.
 */
#ifndef MPI_GLUE_FILE_ABOVE_H
#define MPI_GLUE_FILE_ABOVE_H

struct vfile;

/**
 * file_above_open() - open the file from above, unless that is done
 * @path: the file, without the kind of its file system
 * Return: 0, also for what is no regular file; negative errno
 */
int file_above_open(struct vfile *file, const char *path);
/* After a restart: the descriptor is there again, and may lead to another inode. */
void file_above_found(struct vfile *file);
void file_above_close(struct vfile *file);

#endif
