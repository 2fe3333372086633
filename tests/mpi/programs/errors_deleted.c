// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error classes, codes and texts that are added and deleted (MPICH), many times, so that
 * numbers lie far apart and some are taken again: what is left is known by its numbers
 * afterwards, also in a new library, and so is what is added then.
 */
#include "mt.h"

#include <unistd.h>

#ifdef MPICH
#define DELETE(what, number)	(bad += MPIX_Delete_error_##what(number) != MPI_SUCCESS)
#define ROUNDS	2000
#else
#define DELETE(what, number)	((void)(number))
#define ROUNDS	0
#endif

#define CLASSES	6
#define CODES	3

static int classes[CLASSES], codes[CLASSES][CODES], of_io[2], bad;

static void add(int i)
{
	char text[64];

	bad += MPI_Add_error_class(&classes[i]) != MPI_SUCCESS;
	for (int j = 0; j < CODES; j++) {
		snprintf(text, sizeof(text), "code %d of class %d", j, i);
		bad += MPI_Add_error_code(classes[i], &codes[i][j]) != MPI_SUCCESS;
		bad += MPI_Add_error_string(codes[i][j], "another text") != MPI_SUCCESS;
		bad += MPI_Add_error_string(codes[i][j], text) != MPI_SUCCESS;
	}
}

static void delete(int i)
{
	for (int j = 0; j < CODES; j++) {
		DELETE(string, codes[i][j]);
		DELETE(code, codes[i][j]);
	}
	DELETE(class, classes[i]);
}

/* Of a class that was there; MPICH tells no text of such. */
static void look_at_io(int i)
{
	int class;

	CHECK(!MPI_Error_class(of_io[i], &class) && class == MPI_ERR_IO);
}

static void look(int i)
{
	char text[64], found[MPI_MAX_ERROR_STRING];
	int class, len;

	/* Open MPI has no class of a class that was added */
	CHECK(!ROUNDS || (!MPI_Error_class(classes[i], &class) && class == classes[i]));
	for (int j = 0; j < CODES; j++) {
		snprintf(text, sizeof(text), "code %d of class %d", j, i);
		CHECK(!MPI_Error_class(codes[i][j], &class) && class == classes[i]);
		CHECK(!MPI_Error_string(codes[i][j], found, &len) && !strcmp(found, text));
	}
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	for (int i = 0; i < CLASSES; i++)
		add(i);
	/* from either end: numbers go, and are taken again in another order */
	for (int r = 0; r < ROUNDS; r++) {
		delete(r % 2 ? 1 : 4);
		delete(r % 2 ? 3 : 0);
		add(r % 2 ? 3 : 0);
		add(r % 2 ? 1 : 4);
	}
	bad += MPI_Add_error_code(MPI_ERR_IO, &of_io[0]) != MPI_SUCCESS;
	if (ROUNDS)
		delete(2);
	bad += MPI_Add_error_code(MPI_ERR_IO, &of_io[1]) != MPI_SUCCESS;
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < CLASSES; i++)
			if (i != 2 || !ROUNDS)
				look(i);
		look_at_io(0);
		look_at_io(1);
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(40000);	/* there is time for a checkpoint */
	}
	if (ROUNDS)
		add(2);
	for (int i = 0; i < CLASSES; i++)
		look(i);
	CHECK(!bad);
	return mt_end();
}
