// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users and groups that may use the control socket; see access.h.
 *
 * A name that is not known is an error and not left out: a list with a typing mistake must keep
 * nobody out, and let nobody in, without a word.
 */
#include "supervisor/control/access.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GROUPS_MAX	65536	/* NGROUPS_MAX of the kernel */

int access_id(const char *name, enum access_kind kind, id_t *ret_id)
{
	const struct passwd *user;
	const struct group *group;
	unsigned long number;
	char *end;

	if (isdigit((unsigned char)name[0])) {
		errno = 0;
		number = strtoul(name, &end, 10);
		if (errno || *end || number >= UINT32_MAX)
			return -EINVAL;
		*ret_id = (id_t)number;
		return 0;
	}
	user = kind == ACCESS_USERS ? getpwnam(name) : NULL;
	group = kind == ACCESS_GROUPS ? getgrnam(name) : NULL;
	if (!user && !group)
		return -EINVAL;
	*ret_id = user ? user->pw_uid : group->gr_gid;
	return 0;
}

static int access_add(struct access_list *list, const char *name, enum access_kind kind)
{
	id_t *ids = reallocarray(list->ids, list->nr + 1, sizeof(*ids));
	int err;

	if (!ids)
		return -ENOMEM;
	list->ids = ids;
	err = access_id(name, kind, &ids[list->nr]);
	if (!err)
		list->nr++;
	return err;
}

int access_parse(const char *text, enum access_kind kind, struct access_list *ret_list)
{
	_cleanup_free_ char *copy = text ? strdup(text) : NULL;
	struct access_list list = { .all = text && !strcmp(text, "*") };
	char *rest = copy, *item, *end;
	int err = text && !copy ? -ENOMEM : 0;

	while (!err && !list.all && (item = strsep(&rest, ","))) {
		item += strspn(item, " \t");
		end = item + strlen(item);
		while (end > item && strchr(" \t", end[-1]))
			*--end = '\0';
		err = access_add(&list, item, kind);
	}
	if (err)
		access_done(&list);
	else
		*ret_list = list;
	return err;
}

void access_done(struct access_list *list)
{
	free(list->ids);
	*list = (struct access_list) { 0 };
}

bool access_has(const struct access_list *list, const id_t *ids, size_t nr)
{
	size_t i, k;

	if (list->all)
		return true;
	for (i = 0; i < list->nr; i++) {
		for (k = 0; k < nr; k++) {
			if (list->ids[i] == ids[k])
				return true;
		}
	}
	return false;
}

int access_open(struct access *access, const char *users, const char *groups)
{
	int err = access_parse(users, ACCESS_USERS, &access->users);

	if (!err)
		err = access_parse(groups, ACCESS_GROUPS, &access->groups);
	if (!users && !groups)
		access->users.all = true;
	return err;
}

void access_close(struct access *access)
{
	access_done(&access->users);
	access_done(&access->groups);
}

static bool access_has_groups_of(const struct access_list *list, int sock)
{
	socklen_t len = GROUPS_MAX * sizeof(gid_t);
	_cleanup_free_ gid_t *groups = malloc(len);

	_Static_assert(sizeof(gid_t) == sizeof(id_t), "one array for both");
	return groups && !getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, groups, &len) &&
	       access_has(list, groups, len / sizeof(gid_t));
}

bool access_allows(const struct access *access, const struct ucred *peer, int sock)
{
	return !peer->uid || access_has(&access->users, &peer->uid, 1) ||
	       access_has(&access->groups, &peer->gid, 1) ||
	       (access->groups.nr && access_has_groups_of(&access->groups, sock));
}
