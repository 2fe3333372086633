// SPDX-License-Identifier: GPL-2.0-only
/*
 * Texts of /proc that say what confines a process; see confines_parse.h.
 *
 * A user chooses names of control groups and mount points, so every text is checked as if it
 * lied: no length is trusted, and a path with ".." is none.
 */
#include "supervisor/control/confines_parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of field @name, in /proc/PID/status; NULL: none. */
static const char *status_field(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text) {
		if (!strncmp(text, name, len) && text[len] == ':')
			return text + len + 1;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

int confines_parse_status(const char *text, struct confines_status *ret_status)
{
	const char *uid = status_field(text, "Uid"), *nnp = status_field(text, "NoNewPrivs");
	const char *seccomp = status_field(text, "Seccomp"), *bounding;
	const char *filters = status_field(text, "Seccomp_filters");
	unsigned int real, effective;

	bounding = status_field(text, "CapBnd");
	if (!uid || sscanf(uid, "%u %u", &real, &effective) != 2 || !nnp || !bounding)
		return -EINVAL;
	*ret_status = (struct confines_status) {
		.uid = effective,
		.no_new_privs = strtoul(nnp, NULL, 10) != 0,
		/* Without CONFIG_SECCOMP there is no such line. */
		.seccomp = seccomp ? (unsigned int)strtoul(seccomp, NULL, 10) : 0,
		.filters = filters ? (int)strtol(filters, NULL, 10) : -1,
		.bounding = strtoull(bounding, NULL, 16),
	};
	return 0;
}

int confines_parse_cgroups(char *text, struct confines_cgroup ret_cgroups[CONFINES_HIERARCHIES])
{
	char *line, *end, *controllers, *path;
	int nr = 0;

	for (line = text; *line; line = end + 1) {
		end = strchr(line, '\n');
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!end || !path || path > end || path[1] != '/')
			return -EINVAL;
		if (nr == CONFINES_HIERARCHIES)
			return -E2BIG;
		*path = *end = '\0';
		ret_cgroups[nr++] = (struct confines_cgroup) { controllers + 1, path + 1 };
	}
	return nr;
}

const char *confines_cgroup_path(const struct confines_cgroup *cgroups, int nr,
				 const char *controllers)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(cgroups[i].controllers, controllers))
			return cgroups[i].path;
	}
	return NULL;
}

/* ------------------------------------------------------------- mountinfo */

struct mountinfo_line {
	char root[PATH_MAX];
	char point[PATH_MAX];
	char type[64];
	char options[1024];	/* of the super block */
};

/* Undo the octal escapes of blanks and backslashes, in place. */
static void mountinfo_unescape(char *text)
{
	char *to = text;

	while (*text) {
		unsigned int c;

		if (text[0] == '\\' && strlen(text) >= 4 && sscanf(text + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static bool mountinfo_parse(const char *line, size_t len, struct mountinfo_line *ret)
{
	_Static_assert(PATH_MAX == 4096, "lengths in the format");
	char text[2 * PATH_MAX + 2048];
	const char *rest;

	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	/* Optional fields end with a dash; no earlier field is a dash alone. */
	rest = strstr(text, " - ");
	if (!rest || sscanf(text, "%*s %*s %*s %4095s %4095s", ret->root, ret->point) != 2 ||
	    sscanf(rest, " - %63s %*s %1023s", ret->type, ret->options) != 2)
		return false;
	mountinfo_unescape(ret->root);
	mountinfo_unescape(ret->point);
	return true;
}

/* Does the list @options, with commas, have the first item of the list @items? */
static bool mountinfo_has_option(const char *options, const char *items)
{
	size_t len = strcspn(items, ",");

	while (options) {
		if (strcspn(options, ",") == len && !strncmp(options, items, len))
			return true;
		options = strchr(options, ',');
		options = options ? options + 1 : NULL;
	}
	return false;
}

/* The part of @path below the mount's root; NULL: the mount does not show @path. */
static const char *mountinfo_below(const char *root, const char *path)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(path, root, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

static bool mountinfo_is_of(const struct mountinfo_line *mount, const char *controllers)
{
	if (!controllers[0])
		return !strcmp(mount->type, "cgroup2");
	/* A controller belongs to one hierarchy of v1 only. */
	return !strcmp(mount->type, "cgroup") && mountinfo_has_option(mount->options, controllers);
}

int confines_cgroup_dir(const char *mountinfo, const struct confines_cgroup *cgroup, char *ret_dir,
			size_t size)
{
	struct mountinfo_line mount;
	const char *end, *below;

	/* The reader's cgroup namespace does not have the control group. */
	if (!strncmp(cgroup->path, "/..", 3) && (!cgroup->path[3] || cgroup->path[3] == '/'))
		return -ENOENT;
	for (; *mountinfo; mountinfo = *end ? end + 1 : end) {
		end = strchrnul(mountinfo, '\n');
		if (!mountinfo_parse(mountinfo, (size_t)(end - mountinfo), &mount) ||
		    !mountinfo_is_of(&mount, cgroup->controllers))
			continue;
		below = mountinfo_below(mount.root, cgroup->path);
		if (below)
			return snprintf(ret_dir, size, "%s%s", mount.point, below) < (int)size ?
			       0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

void confines_parse_profile(char *text)
{
	char *mode;

	text[strcspn(text, "\n")] = '\0';
	mode = strrchr(text, '(');
	if (mode && mode > text + 1 && mode[-1] == ' ' && text[strlen(text) - 1] == ')')
		mode[-1] = '\0';
}
