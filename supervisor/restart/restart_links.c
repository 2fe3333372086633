// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where both ends of each connection between the nodes of a job are; see restart_links.h.
 *
 * Each part tells its end by the number that the connection got at the checkpoint, and its address
 * on the node of now. The token is new for each restart. Nothing here asks a node.
 */
#include "supervisor/restart/restart_links.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>

#include "base/outcome.h"
#include "engine/core/sock_link.h"

static void links_token(char token[SOCK_LINK_TOKEN + 1])
{
	uint8_t random[SOCK_LINK_TOKEN / 2];

	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(token, SOCK_LINK_TOKEN + 1, random, sizeof(random));
}

/* By number: {"7": [7, address of the end that listens, address of the other]}; null: not told. */
static json_t *links_by_number(const json_t *told)
{
	json_t *links = json_object(), *end, *place;
	char key[24];
	size_t i;

	json_array_foreach(told, i, end) {
		json_int_t role = json_integer_value(json_array_get(end, 1));

		snprintf(key, sizeof(key), "%lld",
			 (long long)json_integer_value(json_array_get(end, 0)));
		place = json_object_get(links, key);
		if (!place) {
			place = json_pack("[O, n, n]", json_array_get(end, 0));
			json_object_set_new(links, key, place);
		}
		json_array_set(place, role == SOCK_LINK_LISTENS ? 1 : 2, json_array_get(end, 2));
	}
	return links;
}

json_t *restart_links(json_t *tried, json_t **ret_links)
{
	json_t *links = links_by_number(json_object_get(tried, "links")), *places, *place;
	char token[SOCK_LINK_TOKEN + 1];
	json_t *outcome = NULL;
	const char *key;

	*ret_links = NULL;
	json_object_del(tried, "links");
	places = json_array();
	json_object_foreach(links, key, place) {
		if (!json_is_string(json_array_get(place, 1)) ||
		    !json_is_string(json_array_get(place, 2)))
			outcome = outcome ?: outcome_error(-EOPNOTSUPP,
				"connection %s between the nodes of the job has one end only in "
				"the images of this generation: choose another one", key);
		json_array_append(places, place);
	}
	if (!outcome && json_array_size(places)) {
		links_token(token);
		*ret_links = json_pack("{s:s, s:O}", "token", token, "places", places);
	}
	json_decref(places);
	json_decref(links);
	return outcome;
}
