// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looking up kinds of state in the table of engine/kinds/; see state_kind.h.
 *
 * The table is short, and a search of it costs less than the record that is looked at.  A file
 * kind or record type is found once: the first kind that lists it has it.
 */
#include "engine/core/state_kind.h"

#include <stddef.h>

const struct state_kind *state_kind_of_file(uint32_t file_kind)
{
	for (unsigned int i = 0; state_kinds[i]; i++)
		for (unsigned int k = 0; k < STATE_KIND_FILES && state_kinds[i]->files[k]; k++)
			if (state_kinds[i]->files[k] == file_kind)
				return state_kinds[i];
	return NULL;
}

static const struct state_kind *state_kind_find(uint16_t type,
						const struct state_kind_record **ret_record)
{
	for (unsigned int i = 0; state_kinds[i]; i++)
		for (unsigned int k = 0;
		     k < STATE_KIND_RECORDS && state_kinds[i]->records[k].type; k++)
			if (state_kinds[i]->records[k].type == type) {
				*ret_record = &state_kinds[i]->records[k];
				return state_kinds[i];
			}
	*ret_record = NULL;
	return NULL;
}

const struct state_kind_record *state_kind_record(uint16_t type)
{
	const struct state_kind_record *record;

	state_kind_find(type, &record);
	return record;
}

const struct state_kind *state_kind_of_record(uint16_t type)
{
	const struct state_kind_record *record;

	return state_kind_find(type, &record);
}
