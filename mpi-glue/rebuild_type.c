// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datatypes of a restart: call the constructor again, with the arguments that
 * MPI_Type_get_contents returned when the type was made. Inner types come first; an inner type
 * that the application has freed is made for its outer types, and freed again at the end. Types
 * that were not freed get their names again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

LOWER_TEXT static int construct_plain(const struct vdtype *d, MPI_Datatype in,
				      MPI_Datatype *type)
{
	const int *n = d->ints;
	const MPI_Aint *a = d->addresses;

	switch (d->combiner) {
	case MPI_COMBINER_DUP:
		return lower_MPI_Type_dup(in, type);
	case MPI_COMBINER_CONTIGUOUS:
		return lower_MPI_Type_contiguous(n[0], in, type);
	case MPI_COMBINER_VECTOR:
		return lower_MPI_Type_vector(n[0], n[1], n[2], in, type);
	case MPI_COMBINER_HVECTOR:
		return lower_MPI_Type_create_hvector(n[0], n[1], a[0], in, type);
	case MPI_COMBINER_RESIZED:
		return lower_MPI_Type_create_resized(in, a[0], a[1], type);
	case MPI_COMBINER_INDEXED:
		return lower_MPI_Type_indexed(n[0], n + 1, n + 1 + n[0], in, type);
	case MPI_COMBINER_HINDEXED:
		return lower_MPI_Type_create_hindexed(n[0], n + 1, a, in, type);
	case MPI_COMBINER_INDEXED_BLOCK:
		return lower_MPI_Type_create_indexed_block(n[0], n[1], n + 2, in, type);
	case MPI_COMBINER_HINDEXED_BLOCK:
		return lower_MPI_Type_create_hindexed_block(n[0], n[1], a, in, type);
	case MPI_COMBINER_SUBARRAY:
		return lower_MPI_Type_create_subarray(n[0], n + 1, n + 1 + n[0], n + 1 + 2 * n[0],
						      n[1 + 3 * n[0]], in, type);
	case MPI_COMBINER_DARRAY:
		return lower_MPI_Type_create_darray(n[0], n[1], n[2], n + 3, n + 3 + n[2],
						    n + 3 + 2 * n[2], n + 3 + 3 * n[2],
						    n[3 + 4 * n[2]], in, type);
	}
	return MPI_ERR_TYPE;
}

/* Construct a type of several inner types, or with large counts. */
LOWER_TEXT static int construct_of(const struct vdtype *d, MPI_Datatype *type)
{
	MPI_Datatype *in = malloc(((size_t)d->nr_dtypes + 1) * sizeof(*in));
	int rc = MPI_ERR_NO_MEM;

	for (int i = 0; in && i < d->nr_dtypes; i++)
		in[i] = real_dtype(d->dtypes[i]);
	if (in && d->counts)
		rc = abi_construct_large(d, in, type);
	else if (in)
		rc = lower_MPI_Type_create_struct(d->ints[0], d->ints + 1, d->addresses, in, type);
	free(in);
	return rc;
}

/* Ask the library for its own parametrised type of Fortran. */
LOWER_TEXT static int construct_f90(const struct vdtype *d, MPI_Datatype *type)
{
	const int *n = d->ints;

	switch (d->combiner) {
	case MPI_COMBINER_F90_REAL:
		return lower_MPI_Type_create_f90_real(n[0], n[1], type);
	case MPI_COMBINER_F90_COMPLEX:
		return lower_MPI_Type_create_f90_complex(n[0], n[1], type);
	}
	return lower_MPI_Type_create_f90_integer(n[0], type);
}

/* Do the records suffice to construct the type? Asked before a checkpoint. */
static bool can_construct(const struct vdtype *d)
{
	switch (d->combiner) {
	case MPI_COMBINER_DUP:
	case MPI_COMBINER_CONTIGUOUS:
	case MPI_COMBINER_VECTOR:
	case MPI_COMBINER_HVECTOR:
	case MPI_COMBINER_RESIZED:
	case MPI_COMBINER_INDEXED:
	case MPI_COMBINER_HINDEXED:
	case MPI_COMBINER_INDEXED_BLOCK:
	case MPI_COMBINER_HINDEXED_BLOCK:
	case MPI_COMBINER_SUBARRAY:
	case MPI_COMBINER_DARRAY:
		return d->ints && d->addresses && d->nr_dtypes == 1;
	case MPI_COMBINER_STRUCT:
		return d->ints && d->addresses &&
		       d->nr_dtypes == (d->counts ? d->counts[0] : d->ints[0]);
	case MPI_COMBINER_F90_REAL:
	case MPI_COMBINER_F90_COMPLEX:
	case MPI_COMBINER_F90_INTEGER:
		return d->ints && !d->nr_dtypes;
	}
	return false;
}

LOWER_TEXT static int ask_name(struct vdtype *d)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length;

	free(d->name);
	d->name = NULL;
	if (d->obj.freed || d->predefined)
		return 0;
	if (lower_MPI_Type_get_name(real_dtype(virt_dtype(&d->obj)), name, &length))
		return -EIO;
	d->name = strdup(name);
	return d->name ? 0 : -ENOMEM;
}

int rebuild_ask_dtypes(char *ret_why, size_t size)
{
	int rc = 0;

	for (uint32_t i = 0; i < glue.table[VK_DTYPE].top && !rc; i++) {
		struct vdtype *d = (struct vdtype *)vobj_at(VK_DTYPE, i);

		if (d && !d->predefined && !can_construct(d)) {
			snprintf(ret_why, size, "%s: types of this kind are not restored yet",
				 call_symbol[d->made_by] + 1);
			return -ENOTSUP;
		}
		if (d)
			rc = ask_name(d);
	}
	return rc;
}

void rebuild_forget_dtypes(void)
{
	for (uint32_t i = 0; i < glue.table[VK_DTYPE].top; i++) {
		struct vdtype *d = (struct vdtype *)vobj_at(VK_DTYPE, i);

		if (!d)
			continue;
		free(d->name);
		d->name = NULL;
	}
}

LOWER_TEXT static int rebuild_type_construct(const struct vdtype *d, MPI_Datatype *type)
{
	int rc = d->counts || d->combiner == MPI_COMBINER_STRUCT ? construct_of(d, type) :
		 !d->nr_dtypes ? construct_f90(d, type) :
		 construct_plain(d, real_dtype(d->dtypes[0]), type);

	return rc ? rc : lower_MPI_Type_commit(type);
}

bool dtype_stays(const struct vobj *dtype)
{
	const struct vdtype *d = (const struct vdtype *)dtype;

	return d && !d->obj.freed && !d->predefined && d->obj.refs > 1 && !can_construct(d);
}

/* Recursion depth is the depth of the type, as for make_dtype(). */
LOWER_TEXT int dtype_revive(struct vobj *dtype)
{
	struct vdtype *d = (struct vdtype *)dtype;
	MPI_Datatype type;
	int rc = 0;

	if (!d || !d->obj.freed || d->obj.real)
		return 0;
	d->obj.real = d->left;
	if (d->left)
		return 0;
	if (!can_construct(d))
		return MPI_ERR_TYPE;
	for (int i = 0; i < d->nr_dtypes && !rc; i++)
		rc = dtype_revive(vobj_dtype(d->dtypes[i]));
	if (!rc)
		rc = rebuild_type_construct(d, &type);
	if (!rc)
		d->obj.real = ABI_BITS(type);
	return rc;
}

LOWER_TEXT void dtype_bury(struct vobj *dtype)
{
	struct vdtype *d = (struct vdtype *)dtype;
	MPI_Datatype real;

	if (!d || !d->obj.freed || !d->obj.real)
		return;
	real = real_dtype(virt_dtype(&d->obj));
	if (!d->left)
		lower_MPI_Type_free(&real);
	d->obj.real = 0;
	for (int i = 0; i < d->nr_dtypes; i++)
		dtype_bury(vobj_dtype(d->dtypes[i]));
}

/* Recursion depth is the depth of the type, which the application built level by level. */
LOWER_TEXT static int make_dtype(struct vdtype *d)
{
	MPI_Datatype type;
	int rc = 0;

	if (d->made_again)
		return 0;
	for (int i = 0; i < d->nr_dtypes && !rc; i++) {
		struct vobj *in = vobj_dtype(d->dtypes[i]);

		if (in)
			rc = make_dtype((struct vdtype *)in);
	}
	if (rc)
		return rc;
	rc = rebuild_type_construct(d, &type);
	if (rc)
		return rc;
	d->obj.real = ABI_BITS(type);
	d->made_again = true;
	return 0;
}

LOWER_TEXT static int rebuild_type_name_again(struct vdtype *d)
{
	if (!d->name)
		return 0;
	return lower_MPI_Type_set_name(real_dtype(virt_dtype(&d->obj)), d->name);
}

int rebuild_dtypes(char *ret_why, size_t size)
{
	const struct vtable *table = &glue.table[VK_DTYPE];

	for (uint32_t i = 0; i < table->top; i++) {
		struct vdtype *d = (struct vdtype *)vobj_at(VK_DTYPE, i);

		if (d)
			d->made_again = false;
	}
	for (uint32_t i = 0; i < table->top; i++) {
		struct vdtype *d = (struct vdtype *)vobj_at(VK_DTYPE, i);
		int rc = d && !d->predefined ? make_dtype(d) : 0;

		if (!rc && d)
			rc = rebuild_type_name_again(d);
		if (rc) {
			snprintf(ret_why, size, "type of %s: code %d of the new library",
				 call_symbol[d->made_by] + 1, rc);
			return -EIO;
		}
	}
	return 0;
}

/*
 * Free the types whose handles the application has freed, when all objects that use them have
 * been made.
 */
LOWER_TEXT void rebuild_dtypes_done(void)
{
	for (uint32_t i = 0; i < glue.table[VK_DTYPE].top; i++) {
		struct vdtype *d = (struct vdtype *)vobj_at(VK_DTYPE, i);
		MPI_Datatype real;

		if (!d || !d->obj.freed || !d->made_again)
			continue;
		real = real_dtype(virt_dtype(&d->obj));
		lower_MPI_Type_free(&real);
		d->obj.real = 0;
	}
}
