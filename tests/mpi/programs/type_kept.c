// SPDX-License-Identifier: GPL-2.0-only
/* Derived types of all constructors, made once and used in every round. */
#include "mt.h"


#include <stddef.h>

struct particle {
	double x[3];
	char tag;
	int id;
};

#define TYPES 9
#define INTS 64

static void make(MPI_Datatype *t)
{
	int lengths[3] = { 3, 1, 1 }, part[3] = { 1, 2, 1 }, at[3] = { 0, 3, 8 };
	int whole[2] = { 6, 6 }, sub[2] = { 2, 3 }, start[2] = { 1, 2 };
	MPI_Aint bytes[3] = { offsetof(struct particle, x), offsetof(struct particle, tag),
			      offsetof(struct particle, id) }, h[3] = { 0, 12, 40 };
	MPI_Datatype fields[3] = { MPI_DOUBLE, MPI_CHAR, MPI_INT }, raw, vector;

	MPI_Type_create_struct(3, lengths, bytes, fields, &raw);
	MPI_Type_create_resized(raw, 0, sizeof(struct particle), &t[0]);
	MPI_Type_free(&raw);
	MPI_Type_vector(3, 2, 4, MPI_INT, &t[1]);
	MPI_Type_create_hvector(3, 1, 20, MPI_INT, &t[2]);
	MPI_Type_indexed(3, part, at, MPI_INT, &t[3]);
	MPI_Type_create_hindexed(3, part, h, MPI_INT, &t[4]);
	MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &t[5]);
	MPI_Type_create_hindexed_block(3, 1, h, MPI_INT, &t[6]);
	MPI_Type_create_subarray(2, whole, sub, start, MPI_ORDER_FORTRAN, MPI_INT, &t[7]);
	/* of types that are freed at once, and a copy of what remains */
	MPI_Type_contiguous(2, MPI_INT, &raw);
	MPI_Type_vector(2, 1, 3, raw, &vector);
	MPI_Type_dup(vector, &t[8]);
	MPI_Type_free(&raw);
	MPI_Type_free(&vector);
	for (int i = 0; i < TYPES; i++)
		MPI_Type_commit(&t[i]);
	MPI_Type_set_name(t[0], "particle");
}

int main(int argc, char **argv)
{
	static const int sizes[TYPES] = { 29, 24, 12, 16, 16, 24, 12, 24, 16 };
	struct particle out[5], in[5];
	int a[INTS], b[INTS], size, n;
	MPI_Request request[2];
	MPI_Datatype t[TYPES];
	MPI_Aint lb, extent;
	MPI_Status status;

	mt_begin(&argc, &argv);
	make(t);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 5; i++)
			out[i] = (struct particle){ { mt_rank, i, round }, 'p', 10 * round + i };
		memset(in, 0, sizeof(in));
		MPI_Irecv(in, 5, t[0], LEFT, 1, MPI_COMM_WORLD, &request[0]);
		mt_value(round);
		MPI_Isend(out, 5, t[0], RIGHT, 1, MPI_COMM_WORLD, &request[1]);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		CHECK(in[4].x[0] == LEFT && in[4].x[2] == round && in[3].id == 10 * round + 3);
		for (int i = 1; i < TYPES; i++) {
			for (int j = 0; j < INTS; j++) {
				a[j] = mt_rank * 100 + j;
				b[j] = -1;
			}
			MPI_Irecv(b, 1, t[i], LEFT, i, MPI_COMM_WORLD, &request[0]);
			mt_value(i);
			MPI_Send(a, 1, t[i], RIGHT, i, MPI_COMM_WORLD);
			MPI_Wait(&request[0], &status);
			MPI_Get_elements(&status, t[i], &n);
			MPI_Type_size(t[i], &size);
			CHECK(size == sizes[i] && n == size / 4);
			for (int j = 0; j < INTS; j++) {
				n -= b[j] == LEFT * 100 + j;
				n += b[j] != LEFT * 100 + j && b[j] != -1;
			}
			CHECK(n == 0);
			MPI_Type_get_extent(t[i], &lb, &extent);
			mt_value((long)extent);
		}
	}
	for (int i = 0; i < TYPES; i++)
		MPI_Type_free(&t[i]);
	return mt_end();
}
