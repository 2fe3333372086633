// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of a restart: opened again by name, without creating them, with view, positions and
 * atomicity. The name is the absolute one, or, if that is too long for the library, what is
 * left of it below the present directory. All members of a file's communicator do so in the
 * order of identities, and on one communicator in the order they were opened the first time.
 *
 * The files' contents are none of ours: they are kept with the checkpoint, or not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

static struct vfile *file_at(uint32_t i)
{
	struct vobj *obj = vobj_at(VK_FILE, i);

	return obj && !obj->freed ? (struct vfile *)obj : NULL;
}

/* To open it by from here; NULL: there is none. What the program gave itself was not too long. */
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

/* A restart opens it by its name, which may begin with the kind of its file system ("ufs:"). */
static bool is_gone(const char *name)
{
	return access(file_path(name), F_OK) && errno == ENOENT;
}

/* A communicator of one process may be gone: any does.  0: there is none. */
static uintptr_t rebuild_file_comm_of(const struct vfile *file)
{
	const struct vcomm *comm = (const struct vcomm *)file->comm;
	uintptr_t below = comm ? comm_below(comm) : 0;

	if (!below && comm && comm->size == 1 && !comm->inter)
		return (uintptr_t)real_comm(MPI_COMM_SELF);
	return below;
}

/* Of a name, as much as leaves room for what is said of it. */
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
 * The library may have none. Unused it is at the beginning, or where the end was when the file
 * was opened.
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

		if (!file)
			continue;
		if (why) {
			snprintf(ret_why, size, "MPI_File_open: %s: %s", end_of(file->name), why);
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
 * Who has not used the shared pointer does not know where it was, and who was asked while
 * others still used it knows of less: it goes back only by a collective, in which nobody is
 * when he is asked.
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
	const char *name = name_here(file);	/* it may have gone elsewhere since it was asked */
	MPI_File real;
	int rc;

	if (!name)
		return MPI_ERR_BAD_FILE;
	rc = lower_MPI_File_open(comm, name, amode, none, &real);
	if (rc)
		return rc;
	file->obj.real = (uintptr_t)real;
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
