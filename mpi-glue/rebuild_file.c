// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of a restart: opened again by name, without creating them, with view, positions and
 * atomicity. The name is the absolute one, or, if that is too long for the library, its rest
 * below the present directory. All members of a file's communicator open the files in the order
 * of the communicators' identities, and on one communicator in the order of the first opening.
 *
 * The files' contents are not handled here: the dump keeps or watches them, as it finds the
 * descriptors of file_above.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/file_above.h"
#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

static struct vfile *file_at(uint32_t i)
{
	struct vobj *obj = vobj_at(VK_FILE, i);

	return obj && !obj->freed ? (struct vfile *)obj : NULL;
}

/*
 * Return a name that opens the file from the present directory; NULL: there is none. The name
 * that the program gave itself is never too long.
 */
static const char *name_here(const struct vfile *file)
{
	const char *rest = NULL;
	char *cwd;
	size_t n;

	if (!file->given || strlen(file->name) <= ABI_FILE_NAME_MAX)
		return file->name;
	cwd = getcwd(NULL, 0);
	n = cwd ? strlen(cwd) : 0;
	if (n && !strncmp(file->name, cwd, n) && file->name[n] == '/')
		rest = file->name + n + 1;
	free(cwd);
	if (!rest || rest == file->name + file->given)
		return rest;
	return strlen(rest) <= ABI_FILE_NAME_MAX && file_path(rest) == rest ? rest : NULL;
}

/* Has the file been removed? @name may begin with the kind of its file system ("ufs:"). */
static bool is_gone(const char *name)
{
	return access(file_path(name), F_OK) && errno == ENOENT;
}

/*
 * Return the real communicator to open the file on; 0: there is none. For a file of one process
 * whose communicator is gone, MPI_COMM_SELF does as well.
 */
static uintptr_t rebuild_file_comm_of(const struct vfile *file)
{
	const struct vcomm *comm = (const struct vcomm *)file->comm;
	uintptr_t below = comm ? comm_below(comm) : 0;

	if (!below && comm && comm->size == 1 && !comm->inter)
		return (uintptr_t)real_comm(MPI_COMM_SELF);
	return below;
}

/* Return the end of a long name, so that a message has room for the rest of its text. */
static const char *end_of(const char *name)
{
	size_t len = name ? strlen(name) : 0, max = 100;

	return !name ? "?" : len > max ? name + len - max : name;
}

static const char *rebuild_file_refused(const struct vfile *file)
{
	const char *name = file->name ? name_here(file) : NULL;

	if (!file->name || !rebuild_file_comm_of(file))
		return "its communicator was freed";
	if (file->splits)
		return "a split collective is under way";
	if (!name)
		return "its absolute name is too long for the library, and it is not below the "
		       "present directory: go to where it was opened";
	if (is_gone(name))
		return "it was removed while it is open, or is not found from the present "
		       "directory";
	if (file->amode & MPI_MODE_SEQUENTIAL)
		return "sequential files are not restored yet";
	return NULL;
}

/*
 * Ask for the shared pointer's position. The library may have no shared pointer. An unused one is
 * at the beginning, or, with MPI_MODE_APPEND, where the end was when the file was opened.
 */
LOWER_TEXT static int ask_shared(struct vfile *file, MPI_File real)
{
	file->shared_at = -1;
	if (!file->shared && !(file->amode & MPI_MODE_APPEND))
		return 0;
	if (!lower_MPI_File_get_position_shared(real, &file->shared_at))
		return 0;
	file->shared_at = -1;
	return file->shared ? -EIO : 0;
}

LOWER_TEXT int rebuild_ask_files(char *ret_why, size_t size)
{
	for (uint32_t i = 0; i < glue.table[VK_FILE].top; i++) {
		struct vfile *file = file_at(i);
		const char *why = file ? rebuild_file_refused(file) : NULL;
		MPI_File real;
		int rc;

		if (!file)
			continue;
		if (why) {
			snprintf(ret_why, size, "MPI_File_open: %s: %s", end_of(file->name), why);
			return -ENOTSUP;
		}
		rc = file_above_open(file, file_path(name_here(file)));
		if (rc) {
			snprintf(ret_why, size, "MPI_File_open: %s: it cannot be opened anew, as a "
				 "checkpoint needs: %s", end_of(file->name), strerror(-rc));
			return -ENOTSUP;
		}
		real = real_file(virt_file(&file->obj));
		if (lower_MPI_File_get_position(real, &file->position) ||
		    lower_MPI_File_get_atomicity(real, &file->atomic) || ask_shared(file, real))
			return -EIO;
	}
	return 0;
}

/*
 * Set the shared pointer to the largest position that a member noted. A member that has not used
 * the pointer noted none, and a member asked while others still used the pointer noted a smaller
 * one: the pointer moves back only by a collective, and no member is in one when it is asked.
 */
LOWER_TEXT static int seek_shared_again(const struct vfile *file, MPI_File real, MPI_Comm comm)
{
	MPI_Offset at;
	int rc = lower_MPI_Allreduce(&file->shared_at, &at, 1, real_dtype(MPI_OFFSET),
				     real_op(MPI_MAX), comm);

	return rc || at < 0 ? rc : lower_MPI_File_seek_shared(real, at, MPI_SEEK_SET);
}

LOWER_TEXT static int open_again(struct vfile *file)
{
	int amode = file->amode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL);
	MPI_Comm comm = (MPI_Comm)rebuild_file_comm_of(file);
	MPI_Info none = real_info(MPI_INFO_NULL);
	const char *name = name_here(file);	/* the directory may have changed since the ask */
	MPI_File real;
	int rc;

	if (!name)
		return MPI_ERR_BAD_FILE;
	rc = lower_MPI_File_open(comm, name, amode, none, &real);
	if (rc)
		return rc;
	file->obj.real = (uintptr_t)real;
	file_above_found(file);
	if (file->datarep)
		rc = lower_MPI_File_set_view(real, file->disp, real_dtype(file->etype),
					     real_dtype(file->filetype), file->datarep, none);
	if (!rc)
		rc = lower_MPI_File_seek(real, file->position, MPI_SEEK_SET);
	if (!rc)
		rc = seek_shared_again(file, real, comm);
	if (!rc && file->atomic)
		rc = lower_MPI_File_set_atomicity(real, 1);
	return rc;
}

static int rebuild_file_by_comm(const void *a, const void *b)
{
	const struct vfile *x = *(struct vfile *const *)a, *y = *(struct vfile *const *)b;
	uint64_t p = ((struct vcomm *)x->comm)->coll.id, q = ((struct vcomm *)y->comm)->coll.id;

	if (p != q)
		return p < q ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

int rebuild_files(char *ret_why, size_t size)
{
	const struct vtable *table = &glue.table[VK_FILE];
	struct vfile **all = malloc(((size_t)table->top + 1) * sizeof(*all));
	size_t n = 0;
	int rc = all ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < table->top; i++)
		if (file_at(i))
			all[n++] = file_at(i);
	if (!rc)
		qsort(all, n, sizeof(*all), rebuild_file_by_comm);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = open_again(all[i]);
		if (rc)
			snprintf(ret_why, size, "file %s: code %d of the new library",
				 end_of(all[i]->name), rc);
	}
	free(all);
	return rc ? -EIO : 0;
}
