// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of images on levels; see image_name.h.
 *
 * Names are only read and written here; whether there is such an image is the level's business.
 * Parsing accepts exactly what level_image_name() writes, so that a name has one spelling.
 */
#include "supervisor/storage/image_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/catalog/catalog.h"

int level_image_name(const char *label, int64_t generation, int part,
		    char ret_name[LEVEL_NAME_MAX + 1])
{
	int err = level_name(label, (uint64_t)generation, ret_name);
	size_t len;

	if (err || part < 0)
		return err;
	len = strlen(ret_name);
	return (size_t)snprintf(ret_name + len, LEVEL_NAME_MAX + 1 - len, ".node-%d", part) >=
	       LEVEL_NAME_MAX + 1 - len ? -ENAMETOOLONG : 0;
}

bool level_image_parse(const char *name, char *label, size_t size, int64_t *ret_generation,
		      int *ret_part)
{
	const char *at = strstr(name, ".gen-");
	char again[LEVEL_NAME_MAX + 1];
	long long generation = 0;
	int part = -1;

	if (!at || (size_t)(at - name) >= size)
		return false;
	if (sscanf(at, ".gen-%lld.node-%d", &generation, &part) < 1 || generation < 1 ||
	    generation >= CATALOG_NUMBERS)
		return false;
	snprintf(label, size, "%.*s", (int)(at - name), name);
	if (level_image_name(label, generation, part, again) || strcmp(again, name))
		return false;
	*ret_generation = generation;
	*ret_part = part;
	return true;
}
