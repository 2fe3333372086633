/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Users and groups that may use the control socket: the settings allow_users and allow_groups.
 *
 * A list has names or numbers with commas between them, or "*" alone: everybody. Names are looked
 * up once, when the list is parsed. Root is never asked.
 */
#ifndef STILLPOINT_ACCESS_H
#define STILLPOINT_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

enum access_kind {
	ACCESS_USERS, ACCESS_GROUPS,
};

struct access_list {
	bool all;
	size_t nr;
	id_t *ids;
};

/*
 * access_parse() - the numbers of a list
 * @text: NULL: nobody
 *
 * Return: 0; -EINVAL: an item is no number and no name that this machine knows; -ENOMEM.
 */
int access_parse(const char *text, enum access_kind kind, struct access_list *ret_list);
void access_done(struct access_list *list);

/* The number of one user or group; -EINVAL: neither a number nor a known name. */
int access_id(const char *name, enum access_kind kind, id_t *ret_id);

/* The two lists together. */
struct access {
	struct access_list users, groups;
};

/* The lists as of access_parse(); both NULL: everybody may connect. */
int access_open(struct access *access, const char *users, const char *groups);
void access_close(struct access *access);

/* May the peer of @sock connect? Looks at the groups that the peer had when it connected. */
bool access_allows(const struct access *access, const struct ucred *peer, int sock);

/* Does the list have everybody, or one of these numbers? */
bool access_has(const struct access_list *list, const id_t *ids, size_t nr);

#endif /* STILLPOINT_ACCESS_H */
