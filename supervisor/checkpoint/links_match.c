// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of connections of the nodes of a job; see links_match.h.
 *
 * The nodes' words are compared, and nothing else: no node is asked, and no socket is looked at. In
 * doubt a connection is no pair, and its node refuses it as one to a stranger, or, if the remote
 * address is another node's, as one that no rule may cut.
 */
#include "supervisor/checkpoint/links_match.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ckpt.h>

#include "engine/core/sock_link.h"

/* One connection as its node told it, and the place of the answer. */
struct links_end {
	const char *own, *remote;
	int accepted;
	json_int_t got, end;
};

static bool links_end_read(const json_t *told, struct links_end *ret)
{
	return !json_unpack((json_t *)told, "[s, s, i, I, I !]", &ret->own, &ret->remote,
			    &ret->accepted, &ret->got, &ret->end) &&
	       strlen(ret->own) < SOCK_LINK_ADDR && strlen(ret->remote) < SOCK_LINK_ADDR;
}

static const char *links_key(const char *from, const char *to, char key[2 * SOCK_LINK_ADDR + 2])
{
	snprintf(key, 2 * SOCK_LINK_ADDR + 2, "%s %s", from, to);
	return key;
}

/*
 * Find who has told each pair of addresses: {"own remote": [node, index]}; null: several have.
 * NULL: @told is not well formed.
 */
static json_t *links_index(const json_t *told)
{
	char key[2 * SOCK_LINK_ADDR + 2];
	json_t *index = json_object();
	const json_t *list, *one;
	struct links_end end;
	size_t node, i;

	json_array_foreach(told, node, list) {
		json_array_foreach(list, i, one) {
			if (!links_end_read(one, &end)) {
				json_decref(index);
				return NULL;
			}
			links_key(end.own, end.remote, key);
			json_object_set_new(index, key, json_object_get(index, key) ? json_null() :
					    json_pack("[I, I]", (json_int_t)node, (json_int_t)i));
		}
	}
	return index;
}

/* Find the node that has told each address as its own: {"own": node}; null: several have. */
static json_t *links_owners(const json_t *told)
{
	json_t *owners = json_object(), *known;
	const json_t *list, *one;
	struct links_end end;
	size_t node, i;

	json_array_foreach(told, node, list) {
		json_array_foreach(list, i, one) {
			links_end_read(one, &end);
			known = json_object_get(owners, end.own);
			if (!known)
				json_object_set_new(owners, end.own,
						    json_integer((json_int_t)node));
			else if (json_integer_value(known) != (json_int_t)node)
				json_object_set_new(owners, end.own, json_null());
		}
	}
	return owners;
}

/* Has @owner told it? Not @node itself; in doubt somebody else has. */
static bool links_is_others(const json_t *owner, size_t node)
{
	return owner && (!json_is_integer(owner) ||
			 json_integer_value(owner) != (json_int_t)node);
}

/* Tell whose the remote address is: nobody's here, another node's, or the tree's there. */
static enum sock_link_role links_look(const json_t *owners, size_t node,
				      const struct links_end *end)
{
	const char *port = strrchr(end->remote, ':');
	char text[SOCK_LINK_ADDR + 8];

	if (links_is_others(json_object_get(owners, end->remote), node))
		return SOCK_LINK_UNPAIRED;
	if (!port)
		return SOCK_LINK_NONE;
	snprintf(text, sizeof(text), "%.*s:0", (int)(port - end->remote), end->remote);
	if (!links_is_others(json_object_get(owners, text), node))
		return SOCK_LINK_NONE;
	snprintf(text, sizeof(text), SOCK_LINK_ANY "%s", port);
	return links_is_others(json_object_get(owners, text), node) ? SOCK_LINK_UNPAIRED :
								      SOCK_LINK_NEAR;
}

/* Mark the connections to addresses of the job and its nodes that have no other end. */
static void links_mark_unpaired(const json_t *told, json_t *answer)
{
	json_t *owners = links_owners(told);
	const json_t *list, *one;
	struct links_end end;
	size_t node, i;

	json_array_foreach(told, node, list) {
		json_array_foreach(list, i, one) {
			json_t *pair = json_array_get(json_array_get(answer, node), i);

			links_end_read(one, &end);
			if (!json_integer_value(json_array_get(pair, 0)))
				json_array_set_new(pair, 1, json_integer(links_look(owners, node,
										    &end)));
		}
	}
	json_decref(owners);
}

/*
 * Has @from sent what @to waits for? All bytes on the way are in queues, whose length is bounded;
 * the numbers of two connections do not fit by chance.
 */
static bool links_fits(const struct links_end *from, const struct links_end *to)
{
	uint32_t left = (uint32_t)from->end - (uint32_t)to->got;

	return left <= 2 * CKPT_SOCK_QUEUE_MAX;
}

static unsigned long links_port(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

/*
 * Does @a listen in a restart? Where nobody knows which end was accepted, the lower port: those of
 * clients, which the kernel has chosen, are high.
 */
static bool links_listens(const struct links_end *a, const struct links_end *b)
{
	if (!a->accepted != !b->accepted)
		return a->accepted;
	if (links_port(a->own) != links_port(b->own))
		return links_port(a->own) < links_port(b->own);
	return strcmp(a->own, b->own) < 0;
}

static void links_answer(json_t *answer, json_int_t node, json_int_t i, json_int_t link,
			 bool listens)
{
	json_array_set_new(json_array_get(answer, (size_t)node), (size_t)i,
			   json_pack("[I, i]", link, listens ? SOCK_LINK_LISTENS :
							       SOCK_LINK_CONNECTS));
}

/* Give the connection @i of @node and its other end, if that is known, a number. */
static void links_pair(const json_t *told, const json_t *index, json_t *answer, json_int_t node,
		       json_int_t i, json_int_t *link)
{
	char key[2 * SOCK_LINK_ADDR + 2];
	struct links_end a, b;
	const json_t *other;
	json_int_t its_node, its;

	links_end_read(json_array_get(json_array_get(told, (size_t)node), (size_t)i), &a);
	if (!json_is_array(json_object_get(index, links_key(a.own, a.remote, key))))
		return;
	other = json_object_get(index, links_key(a.remote, a.own, key));
	if (!json_is_array(other))
		return;
	its_node = json_integer_value(json_array_get(other, 0));
	its = json_integer_value(json_array_get(other, 1));
	links_end_read(json_array_get(json_array_get(told, (size_t)its_node), (size_t)its), &b);
	if (its_node <= node || !links_fits(&a, &b) || !links_fits(&b, &a))
		return;
	++*link;
	links_answer(answer, node, i, *link, links_listens(&a, &b));
	links_answer(answer, its_node, its, *link, !links_listens(&a, &b));
}

json_t *links_match(const json_t *told)
{
	json_t *index = links_index(told), *answer, *one;
	const json_t *list;
	json_int_t link = 0;
	size_t node, i;

	if (!index)
		return NULL;
	answer = json_array();
	json_array_foreach(told, node, list) {
		one = json_array();
		for (i = 0; i < json_array_size(list); i++)
			json_array_append_new(one, json_pack("[i, i]", 0, SOCK_LINK_NONE));
		json_array_append_new(answer, one);
	}
	json_array_foreach(told, node, list)
		for (i = 0; i < json_array_size(list); i++)
			links_pair(told, index, answer, (json_int_t)node, (json_int_t)i, &link);
	json_decref(index);
	links_mark_unpaired(told, answer);
	return answer;
}
