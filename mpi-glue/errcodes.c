// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error classes, codes and texts that the program adds. They live in the library, which hands out
 * the numbers; each addition is noted in the order it was made, and made again in a new library,
 * which has to give the same numbers, as the program has them in variables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

struct error_added {
	struct error_added *next;
	unsigned int call;
	int class;		/* of a code */
	int code;		/* what was made, or has the text */
	char text[];
};

static int note(unsigned int call, int class, int code, const char *text)
{
	struct error_added *added = malloc(sizeof(*added) + strlen(text) + 1), **at;

	if (!added)
		return fail_world(MPI_ERR_NO_MEM, call);
	*added = (struct error_added) { .call = call, .class = class, .code = code };
	memcpy(added->text, text, strlen(text) + 1);
	glue_lock(&glue.lock);
	for (at = &glue.errors; *at;)
		at = &(*at)->next;
	*at = added;
	glue_unlock(&glue.lock);
	return MPI_SUCCESS;
}

LOWER_TEXT int PMPI_Add_error_class(int *errorclass)
{
	GLUE_CALL(MPI_Add_error_class);
	int rc;

	if (unlikely(!glue.lower))
		glue_load();
	rc = lower_MPI_Add_error_class(errorclass);
	return rc ? fail_world(rc, CALL_MPI_Add_error_class) :
	       note(CALL_MPI_Add_error_class, 0, *errorclass, "");
}
MPI_ALIAS(MPI_Add_error_class);

LOWER_TEXT int PMPI_Add_error_code(int errorclass, int *errorcode)
{
	GLUE_CALL(MPI_Add_error_code);
	int rc;

	if (unlikely(!glue.lower))
		glue_load();
	rc = lower_MPI_Add_error_code(errorclass, errorcode);
	return rc ? fail_world(rc, CALL_MPI_Add_error_code) :
	       note(CALL_MPI_Add_error_code, errorclass, *errorcode, "");
}
MPI_ALIAS(MPI_Add_error_code);

LOWER_TEXT int PMPI_Add_error_string(int errorcode, const char *string)
{
	GLUE_CALL(MPI_Add_error_string);
	int rc;

	if (unlikely(!glue.lower))
		glue_load();
	rc = lower_MPI_Add_error_string(errorcode, string);
	return rc ? fail_world(rc, CALL_MPI_Add_error_string) :
	       note(CALL_MPI_Add_error_string, 0, errorcode, string);
}
MPI_ALIAS(MPI_Add_error_string);

LOWER_TEXT int rebuild_errors(char *ret_why, size_t size)
{
	const struct error_added *added;

	for (added = glue.errors; added; added = added->next) {
		int code = added->code, rc;

		if (added->call == CALL_MPI_Add_error_class)
			rc = lower_MPI_Add_error_class(&code);
		else if (added->call == CALL_MPI_Add_error_code)
			rc = lower_MPI_Add_error_code(added->class, &code);
		else
			rc = lower_MPI_Add_error_string(code, added->text);
		if (!rc && code == added->code)
			continue;
		snprintf(ret_why, size, "the new library failed in %s: code %d, number %d for %d",
			 call_symbol[added->call] + 1, rc, code, added->code);
		return -EIO;
	}
	return 0;
}
