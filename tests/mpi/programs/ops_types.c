// SPDX-License-Identifier: GPL-2.0-only
/* Every predefined operation on the basic types it is defined for. */
#include "mt.h"


#include <complex.h>
#include <stdint.h>

static long rounds;

#define REDUCE(type, mpi, op, expect) do {					\
	type x_ = (type)(mt_rank + 1), y_ = 0;					\
	MPI_Allreduce(&x_, &y_, 1, mpi, op, MPI_COMM_WORLD);			\
	CHECK(y_ == (type)(expect));						\
	rounds++;								\
} while (0)

#define ARITHMETIC(type, mpi) do {						\
	REDUCE(type, mpi, MPI_SUM, mt_size * (mt_size + 1) / 2);		\
	REDUCE(type, mpi, MPI_PROD, factorial);					\
	REDUCE(type, mpi, MPI_MAX, mt_size);					\
	REDUCE(type, mpi, MPI_MIN, 1);						\
} while (0)

#define INTEGER(type, mpi) do {							\
	ARITHMETIC(type, mpi);							\
	REDUCE(type, mpi, MPI_LAND, 1);						\
	REDUCE(type, mpi, MPI_LOR, 1);						\
	REDUCE(type, mpi, MPI_LXOR, mt_size & 1);				\
	REDUCE(type, mpi, MPI_BAND, and);					\
	REDUCE(type, mpi, MPI_BOR, or);						\
	REDUCE(type, mpi, MPI_BXOR, xor);					\
} while (0)

#define PAIR(type, mpi) do {							\
	struct { type value; int index; } x_ = { (type)(mt_rank * 2), mt_rank }, y_;	\
	MPI_Allreduce(&x_, &y_, 1, mpi, MPI_MAXLOC, MPI_COMM_WORLD);		\
	CHECK(y_.value == (type)(2 * mt_size - 2) && y_.index == mt_size - 1);	\
	MPI_Allreduce(&x_, &y_, 1, mpi, MPI_MINLOC, MPI_COMM_WORLD);		\
	CHECK(y_.value == 0 && y_.index == 0);					\
} while (0)

int main(int argc, char **argv)
{
	long factorial = 1, and = -1, or = 0, xor = 0;
	double complex z, sum;

	mt_begin(&argc, &argv);
	for (long i = 1; i <= mt_size; i++) {
		factorial *= i;
		and &= i;
		or |= i;
		xor ^= i;
	}
	INTEGER(signed char, MPI_SIGNED_CHAR);
	INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
	INTEGER(short, MPI_SHORT);
	INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
	INTEGER(int, MPI_INT);
	INTEGER(unsigned int, MPI_UNSIGNED);
	INTEGER(long, MPI_LONG);
	INTEGER(unsigned long, MPI_UNSIGNED_LONG);
	INTEGER(long long, MPI_LONG_LONG);
	INTEGER(int8_t, MPI_INT8_T);
	INTEGER(uint16_t, MPI_UINT16_T);
	INTEGER(int32_t, MPI_INT32_T);
	INTEGER(uint64_t, MPI_UINT64_T);
	INTEGER(MPI_Aint, MPI_AINT);
	ARITHMETIC(float, MPI_FLOAT);
	ARITHMETIC(double, MPI_DOUBLE);
	ARITHMETIC(long double, MPI_LONG_DOUBLE);
	REDUCE(_Bool, MPI_C_BOOL, MPI_LAND, 1);
	REDUCE(unsigned char, MPI_BYTE, MPI_BXOR, xor);
	PAIR(int, MPI_2INT);
	PAIR(float, MPI_FLOAT_INT);
	PAIR(double, MPI_DOUBLE_INT);
	PAIR(long, MPI_LONG_INT);
	PAIR(short, MPI_SHORT_INT);
	z = mt_rank + 2.0 * I;
	MPI_Allreduce(&z, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
	CHECK(creal(sum) == mt_size * (mt_size - 1) / 2 && cimag(sum) == 2 * mt_size);
	mt_value(rounds);
	return mt_end();
}
