// SPDX-License-Identifier: GPL-2.0-only
/*
 * Infos with their keys in order, copies of them, and communicators made with them. A copy of
 * the library's own has an empty value with OMPI_ARGV= (Open MPI), which it does not let a
 * program set.
 */
#include "mt.h"

int main(int argc, char **argv)
{
	char key[MPI_MAX_INFO_KEY], value[64];
	MPI_Info info, copy, used, env;
	MPI_Comm comm;
	int n, flag, length, sum;

	mt_begin(&argc, &argv);
	MPI_Info_create(&info);
	MPI_Info_dup(MPI_INFO_ENV, &env);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int round = 0; round < 12; round++) {
		snprintf(key, sizeof(key), "key_%02d", round);
		snprintf(value, sizeof(value), "value %d", round * round);
		MPI_Info_set(info, key, value);
		mt_value(round);
		MPI_Info_get_nkeys(info, &n);
		CHECK(n == round + 1 - (round > 6));
		MPI_Info_get_nthkey(info, n - 1, key);
		MPI_Info_get_valuelen(info, key, &length, &flag);
		MPI_Info_get(info, key, length, value, &flag);
		CHECK(flag && atoi(value + 6) == round * round);
		MPI_Info_dup(info, &copy);
		MPI_Info_get(copy, "key_00", 63, value, &flag);
		CHECK(flag && !strcmp(value, "value 0"));
		MPI_Info_free(&copy);
		if (round == 6)
			MPI_Info_delete(info, "key_03");
		MPI_Comm_set_info(comm, info);
		MPI_Comm_get_info(comm, &used);
		MPI_Info_free(&used);
		MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, comm);
		CHECK(sum == n * mt_size);
	}
	MPI_Info_get(env, "maxprocs", 63, value, &flag);
	CHECK(!flag || atoi(value) > 0);
	MPI_Info_free(&env);
	MPI_Info_free(&info);
	MPI_Comm_free(&comm);
	return mt_end();
}
