// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datatypes that need more than translation when they are made or freed: the constructor's
 * arguments are recorded while the library knows them (record.h), attributes are copied and
 * deleted. A freed type that a restart could not make again (dtype_stays()) stays in the library
 * until no object refers to it.
 */
#include <stdlib.h>

#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

LOWER_TEXT void record_drop_dtype(struct vdtype *dtype)
{
	MPI_Datatype left = (MPI_Datatype)dtype->left;

	if (dtype->left)
		lower_MPI_Type_free(&left);
	for (int i = 0; i < dtype->nr_dtypes; i++)
		vobj_put(vobj_dtype(dtype->dtypes[i]));
	free(dtype->ints);
	free(dtype->addresses);
	free(dtype->counts);
	free(dtype->dtypes);
	free(dtype->name);
}

/* Numbers of a constructor's arguments; only the call with large counts returns @counts. */
struct envelope {
	MPI_Count ints, addresses, counts, dtypes;
	int combiner;
};

LOWER_TEXT static int envelope_of(MPI_Datatype real, struct envelope *e)
{
	int ints, addresses, dtypes;

	if (lower_MPI_Type_get_envelope(real, &ints, &addresses, &dtypes, &e->combiner))
		return abi_envelope_large(real, &e->ints, &e->addresses, &e->counts, &e->dtypes,
					  &e->combiner);
	e->ints = ints;
	e->addresses = addresses;
	e->counts = 0;
	e->dtypes = dtypes;
	return 0;
}

LOWER_TEXT static int contents_of(struct vdtype *desc, MPI_Datatype real, const struct envelope *e,
				  MPI_Datatype inner[])
{
	desc->ints = malloc((size_t)(e->ints + 1) * sizeof(int));
	desc->addresses = malloc((size_t)(e->addresses + 1) * sizeof(MPI_Aint));
	if (e->counts)
		desc->counts = malloc((size_t)e->counts * sizeof(MPI_Count));
	if (!desc->ints || !desc->addresses || (e->counts && !desc->counts))
		return MPI_ERR_NO_MEM;
	if (e->counts)
		return abi_contents_large(real, e->ints, e->addresses, e->counts, e->dtypes,
					  desc->ints, desc->addresses, desc->counts, inner);
	return lower_MPI_Type_get_contents(real, (int)e->ints, (int)e->addresses, (int)e->dtypes,
					   desc->ints, desc->addresses, inner);
}

/* Record the constructor's arguments, while the library knows them. */
LOWER_TEXT void record_dtype(MPI_Datatype dtype, unsigned int call, int nr,
			     const MPI_Datatype from[])
{
	struct vdtype *desc = (struct vdtype *)vobj_dtype(dtype);
	MPI_Datatype real = real_dtype(dtype), *inner;
	struct envelope e, of_inner;

	if (!desc || desc->predefined)
		return;
	desc->made_by = (uint16_t)call;
	desc->dtypes = malloc((size_t)(nr + 1) * sizeof(*desc->dtypes));
	if (!desc->dtypes)
		return;
	for (int i = 0; i < nr; i++) {
		desc->dtypes[i] = from[i];
		vobj_get(vobj_dtype(from[i]));
	}
	desc->nr_dtypes = nr;
	if (envelope_of(real, &e) || e.combiner == MPI_COMBINER_NAMED)
		return;
	inner = malloc((size_t)(e.dtypes + 1) * sizeof(*inner));
	if (!inner || contents_of(desc, real, &e, inner)) {
		free(inner);
		return;
	}
	desc->combiner = e.combiner;
	/* the caller of get_contents has to free the types it returns, but for predefined ones */
	for (MPI_Count i = 0; i < e.dtypes; i++)
		if (!envelope_of(inner[i], &of_inner) && of_inner.combiner != MPI_COMBINER_NAMED)
			lower_MPI_Type_free(&inner[i]);
	free(inner);
}

MPI_Datatype record_f90(MPI_Datatype real, unsigned int call)
{
	struct vobj *known = vobj_find(VK_DTYPE, ABI_BITS(real));
	MPI_Datatype dtype;

	if (known)
		return virt_dtype(known);
	dtype = wrap_dtype(real);
	record_dtype(dtype, call, 0, NULL);
	return dtype;
}

/*
 * The types in @inner are new handles, which the application frees; their own inner types are
 * known only for types that the outer type's record names.
 */
void record_contents(MPI_Datatype outer, MPI_Count n, MPI_Datatype inner[], unsigned int call)
{
	const struct vdtype *desc = (struct vdtype *)vobj_dtype(outer), *known;

	for (MPI_Count i = 0; i < n; i++) {
		known = NULL;
		if (desc && i < desc->nr_dtypes)
			known = (struct vdtype *)vobj_dtype(desc->dtypes[i]);
		inner[i] = wrap_dtype(inner[i]);
		record_dtype(inner[i], call, known ? known->nr_dtypes : 0,
			     known ? known->dtypes : NULL);
	}
}

LOWER_TEXT int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
				      int max_datatypes, int integers[], MPI_Aint addresses[],
				      MPI_Datatype datatypes[])
{
	GLUE_CALL(MPI_Type_get_contents);
	int n, combiner, ignored;
	int rc = lower_MPI_Type_get_contents(real_dtype(datatype), max_integers, max_addresses,
					     max_datatypes, integers, addresses, datatypes);

	if (!rc)
		rc = lower_MPI_Type_get_envelope(real_dtype(datatype), &ignored, &ignored, &n,
						 &combiner);
	if (rc)
		return fail_world(rc, CALL_MPI_Type_get_contents);
	record_contents(datatype, n < max_datatypes ? n : max_datatypes, datatypes,
			CALL_MPI_Type_get_contents);
	return rc;
}
MPI_ALIAS(MPI_Type_get_contents);

LOWER_TEXT int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	GLUE_CALL(MPI_Type_dup);
	struct vattr **from = dtype_attrs(oldtype), *attrs = NULL;
	struct vdtype *desc;
	MPI_Datatype real;
	int rc = 0;

	if (from)
		rc = attrs_copy(from, VK_DTYPE, (uintptr_t)oldtype, &attrs);
	if (!rc)
		rc = lower_MPI_Type_dup(real_dtype(oldtype), &real);
	if (rc) {
		attrs_delete(&attrs, VK_DTYPE, (uintptr_t)oldtype);
		*newtype = MPI_DATATYPE_NULL;
		return fail_world(rc, CALL_MPI_Type_dup);
	}
	*newtype = wrap_dtype(real);
	record_dtype(*newtype, CALL_MPI_Type_dup, 1, &oldtype);
	desc = (struct vdtype *)vobj_dtype(*newtype);
	if (desc)
		desc->attrs = attrs;
	return rc;
}
MPI_ALIAS(MPI_Type_dup);

LOWER_TEXT int PMPI_Type_free(MPI_Datatype *datatype)
{
	GLUE_CALL(MPI_Type_free);
	struct vdtype *desc = (struct vdtype *)vobj_dtype(*datatype);
	MPI_Datatype real = real_dtype(*datatype);
	int rc = 0;

	if (desc)
		rc = attrs_delete(&desc->attrs, VK_DTYPE, (uintptr_t)*datatype);
	if (!rc && dtype_stays(&desc->obj))
		desc->left = desc->obj.real;
	else if (!rc)
		rc = lower_MPI_Type_free(&real);
	if (rc)
		return fail_world(rc, CALL_MPI_Type_free);
	vobj_release(&desc->obj);
	*datatype = MPI_DATATYPE_NULL;
	return rc;
}
MPI_ALIAS(MPI_Type_free);
