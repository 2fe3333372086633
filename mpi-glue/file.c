// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening and closing of files, and their views, which a restart sets again.
 *
 * The name is made absolute when the file is opened, as the program may change its directory.
 * A name with a prefix for its file system ("ufs:...") stays as it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/file_above.h"
#include "mpi/calls.h"

/*
 * Skip the prefix of a name. Only ROMIO's prefixes count, which both libraries use or imitate: a
 * name with a time of day has colons, too.
 */
const char *file_path(const char *name)
{
	static const char *const kinds[] = {
		"ufs",	 "nfs",	   "pfs",     "piofs",	"xfs",	"hfs",	      "sfs",	"testfs",
		"ftp",	 "gsiftp", "gridftp", "lustre", "bgl",	"bglockless", "zoidfs", "pvfs",
		"pvfs2", "panfs",  "gpfs",    "ime",	"daos", "quobyte",
	};
	const char *colon = strchr(name, ':');

	for (size_t i = 0; colon && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i]) == (size_t)(colon - name) &&
		    !strncmp(name, kinds[i], (size_t)(colon - name)))
			return colon + 1;
	return name;
}

static char *file_absolute(const char *name, size_t *ret_given)
{
	char *cwd, *path = NULL;

	*ret_given = 0;
	if (*name == '/' || file_path(name) != name)
		return strdup(name);
	cwd = getcwd(NULL, 0);
	if (cwd && asprintf(&path, "%s/%s", cwd, name) < 0)
		path = NULL;
	if (path)
		*ret_given = strlen(cwd) + 1;
	free(cwd);
	return path ? path : strdup(name);
}

LOWER_TEXT int PMPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info,
			      MPI_File *fh)
{
	GLUE_COLLECTIVE(MPI_File_open, counter_of(comm));
	MPI_File real;
	struct vfile *desc;
	int rc;

	/* set it also for a failure: MPICH's Fortran library converts it in any case */
	*fh = MPI_FILE_NULL;
	rc = lower_MPI_File_open(real_comm(comm), filename, amode, real_info(info), &real);
	if (rc) {
		collective_failed(&mark, counter_of(comm), rc);
		return fail_file(MPI_FILE_NULL, rc, CALL_MPI_File_open);
	}
	*fh = wrap_file(real);
	desc = (struct vfile *)vobj_file(*fh);
	if (!desc)
		return MPI_ERR_INTERN;
	desc->errh = errh_of(&glue.file_errh);
	desc->comm = vobj_get(vobj_comm(comm));
	desc->name = file_absolute(filename, &desc->given);
	desc->amode = amode;
	desc->order = desc->comm ? ((struct vcomm *)desc->comm)->files++ : 0;
	if (counter_of(comm))
		quiesce_shares_count(CALL_MPI_File_open);
	return rc;
}
MPI_ALIAS(MPI_File_open);

LOWER_TEXT int PMPI_File_close(MPI_File *fh)
{
	GLUE_COLLECTIVE(MPI_File_close, counter_of_file(*fh));
	MPI_File real = real_file(*fh);
	struct vfile *desc = (struct vfile *)vobj_file(*fh);
	int rc;

	/* before the library may remove the file: MPI_MODE_DELETE_ON_CLOSE */
	if (desc)
		file_above_close(desc);
	rc = lower_MPI_File_close(&real);
	if (rc) {
		collective_failed(&mark, counter_of_file(*fh), rc);
		return fail_file(*fh, rc, CALL_MPI_File_close);
	}
	vobj_release(vobj_file(*fh));
	*fh = MPI_FILE_NULL;
	return rc;
}
MPI_ALIAS(MPI_File_close);

/* Return the mode of the application's open; a restart opens the file without creating it. */
LOWER_TEXT int PMPI_File_get_amode(MPI_File fh, int *amode)
{
	GLUE_CALL(MPI_File_get_amode);
	const struct vfile *desc = (struct vfile *)vobj_file(fh);
	int rc = lower_MPI_File_get_amode(real_file(fh), amode);

	if (rc)
		return fail_file(fh, rc, CALL_MPI_File_get_amode);
	if (desc)
		*amode = desc->amode;
	return rc;
}
MPI_ALIAS(MPI_File_get_amode);

void file_forget_view(struct vfile *desc)
{
	if (!desc->datarep)
		return;
	vobj_put(vobj_dtype(desc->etype));
	vobj_put(vobj_dtype(desc->filetype));
	free(desc->datarep);
	desc->datarep = NULL;
}

LOWER_TEXT int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
				  MPI_Datatype filetype, const char *datarep, MPI_Info info)
{
	GLUE_COLLECTIVE(MPI_File_set_view, counter_of_file(fh));
	struct vfile *desc = (struct vfile *)vobj_file(fh);
	int rc = lower_MPI_File_set_view(real_file(fh), disp, real_dtype(etype),
					 real_dtype(filetype), datarep, real_info(info));

	if (rc) {
		collective_failed(&mark, counter_of_file(fh), rc);
		return fail_file(fh, rc, CALL_MPI_File_set_view);
	}
	if (!desc)
		return rc;
	vobj_get(vobj_dtype(etype));
	vobj_get(vobj_dtype(filetype));
	file_forget_view(desc);
	desc->disp = disp;
	desc->etype = etype;
	desc->filetype = filetype;
	desc->datarep = strdup(datarep);
	return rc;
}
MPI_ALIAS(MPI_File_set_view);

/*
 * Wrap a type of MPI_File_get_view: a copy of the view's type, made by the library with a
 * constructor, which the application has to free.
 */
static MPI_Datatype view_type(MPI_Datatype real, bool known, const MPI_Datatype *of)
{
	MPI_Datatype dtype = wrap_dtype(real);

	record_dtype(dtype, CALL_MPI_File_get_view, known, of);
	return dtype;
}

LOWER_TEXT int PMPI_File_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype,
				  MPI_Datatype *filetype, char *datarep)
{
	GLUE_CALL(MPI_File_get_view);
	struct vfile *desc = (struct vfile *)vobj_file(fh);
	MPI_Datatype real_e, real_f;
	int rc = lower_MPI_File_get_view(real_file(fh), disp, etype ? &real_e : NULL,
					 filetype ? &real_f : NULL, datarep);

	if (rc || !desc)
		return rc ? fail_file(fh, rc, CALL_MPI_File_get_view) : rc;
	*etype = view_type(real_e, desc->datarep, &desc->etype);
	*filetype = view_type(real_f, desc->datarep, &desc->filetype);
	return rc;
}
MPI_ALIAS(MPI_File_get_view);

void file_split(MPI_File fh, int change)
{
	struct vfile *desc = (struct vfile *)vobj_file(fh);

	if (desc)
		desc->splits += change;
}

void file_shared(MPI_File fh)
{
	struct vfile *desc = (struct vfile *)vobj_file(fh);

	if (desc)
		desc->shared = true;
}
