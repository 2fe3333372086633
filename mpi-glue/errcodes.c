// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error classes, codes and texts that the program adds. They live in the library, which hands out
 * the numbers. This file notes each addition and makes it again in a new library, which has to
 * give the same numbers, as the program has them in variables.
 *
 * A library counts upwards, so a new one reaches every number if additions are made in the order
 * of the numbers, also numbers beyond a deleted one (MPICH), and deleted numbers that were used
 * again. The numbers in between are added, too, and deleted at the end.
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
	int class;		/* class of an added code */
	int code;		/* the added class or code, or the code that has the text */
	char text[];
};

static int errcodes_note(unsigned int call, int class, int code, const char *text)
{
	struct error_added *added = malloc(sizeof(*added) + strlen(text) + 1);

	if (!added)
		return fail_world(MPI_ERR_NO_MEM, call);
	*added = (struct error_added) { .call = call, .class = class, .code = code };
	memcpy(added->text, text, strlen(text) + 1);
	glue_lock(&glue.lock);
	added->next = glue.errors;
	glue.errors = added;
	glue_unlock(&glue.lock);
	return MPI_SUCCESS;
}

void errors_forget(unsigned int call, int code)
{
	struct error_added **at, *gone;

	glue_lock(&glue.lock);
	for (at = &glue.errors; *at;) {
		gone = *at;
		/* a deleted number loses its text, too: the number may be used again */
		if (gone->code != code ||
		    (gone->call != call && gone->call != CALL_MPI_Add_error_string)) {
			at = &gone->next;
			continue;
		}
		*at = gone->next;
		free(gone);
	}
	glue_unlock(&glue.lock);
}

LOWER_TEXT int PMPI_Add_error_class(int *errorclass)
{
	GLUE_CALL(MPI_Add_error_class);
	int rc;

	if (unlikely(!glue.lower))
		glue_load();
	rc = lower_MPI_Add_error_class(errorclass);
	return rc ? fail_world(rc, CALL_MPI_Add_error_class) :
	       errcodes_note(CALL_MPI_Add_error_class, 0, *errorclass, "");
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
	       errcodes_note(CALL_MPI_Add_error_code, errorclass, *errorcode, "");
}
MPI_ALIAS(MPI_Add_error_code);

LOWER_TEXT int PMPI_Add_error_string(int errorcode, const char *string)
{
	GLUE_CALL(MPI_Add_error_string);
	int rc;

	if (unlikely(!glue.lower))
		glue_load();
	rc = lower_MPI_Add_error_string(errorcode, string);
	if (rc)
		return fail_world(rc, CALL_MPI_Add_error_string);
	errors_forget(CALL_MPI_Add_error_string, errorcode);	/* the previous text */
	return errcodes_note(CALL_MPI_Add_error_string, 0, errorcode, string);
}
MPI_ALIAS(MPI_Add_error_string);

/*
 * MPICH's numbers are class | count of codes << 8, with a bit for added classes and their codes.
 * Without that bit the numbers are in the order in which the library counts.
 */
static int place_of(const struct error_added *added)
{
	return added->code & ~0x40000000;
}

static int by_number(const void *a, const void *b)
{
	int x = place_of(*(struct error_added *const *)a);
	int y = place_of(*(struct error_added *const *)b);

	return (x > y) - (x < y);
}

/* An array, to be freed: classes and codes by their numbers, then texts, the oldest first. */
static struct error_added **in_order(unsigned int *ret_nr)
{
	struct error_added *added, **list;
	unsigned int nr = 0, texts = 0, n = 0, end;

	for (added = glue.errors; added; added = added->next) {
		nr++;
		texts += added->call == CALL_MPI_Add_error_string;
	}
	list = calloc(nr + 1, sizeof(struct error_added *));
	*ret_nr = end = nr;
	if (!list)
		return NULL;
	for (added = glue.errors; added; added = added->next)
		list[added->call == CALL_MPI_Add_error_string ? --end : n++] = added;
	qsort(list, nr - texts, sizeof(struct error_added *), by_number);
	return list;
}

LOWER_TEXT static int add_again(const struct error_added *added, int *ret_code)
{
	*ret_code = added->code;
	if (added->call == CALL_MPI_Add_error_class)
		return lower_MPI_Add_error_class(ret_code);
	if (added->call == CALL_MPI_Add_error_code)
		return lower_MPI_Add_error_code(added->class, ret_code);
	return lower_MPI_Add_error_string(added->code, added->text);
}

/*
 * Add again until the library hands out @added's number. The program had deleted the lower numbers:
 * they go to *@surplus, to be deleted when all additions are made.
 */
static int add_up_to(const struct error_added *added, struct error_added **surplus, int *ret_code)
{
	struct error_added *less;
	int rc = add_again(added, ret_code);

	while (!rc && *ret_code < added->code) {
		less = malloc(sizeof(*less));
		if (!less)
			return MPI_ERR_NO_MEM;
		*less = (struct error_added) { .next = *surplus, .call = added->call,
			.code = *ret_code };
		*surplus = less;
		rc = add_again(added, ret_code);
	}
	return rc;
}

LOWER_TEXT static int delete_surplus(struct error_added *surplus)
{
	struct error_added *next;
	int rc = MPI_SUCCESS;

	for (; surplus; surplus = next) {
		next = surplus->next;
		if (!rc)
			rc = abi_delete_error(surplus->call == CALL_MPI_Add_error_class,
					      surplus->code);
		free(surplus);
	}
	return rc;
}

int rebuild_errors(char *ret_why, size_t size)
{
	struct error_added *surplus = NULL, **list;
	int rc = MPI_SUCCESS, code = 0, last;
	unsigned int nr, i;

	list = in_order(&nr);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < nr && !rc; i++) {
		rc = add_up_to(list[i], &surplus, &code);
		if (rc || code != list[i]->code)
			break;
	}
	last = delete_surplus(surplus);
	if (i < nr)
		snprintf(ret_why, size, "the new library failed in %s: code %d, number %d for %d",
			 call_symbol[list[i]->call] + 1, rc, code, list[i]->code);
	else if (last)
		snprintf(ret_why, size,
			 "the new library cannot delete an error class or code: code %d", last);
	free(list);
	return i < nr || last ? -EIO : 0;
}
