/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Texts of /proc that say what confines a process: /proc/PID/status, /proc/PID/cgroup, and
 * /proc/self/mountinfo for the directories of control groups. Parsing only, no I/O.
 */
#ifndef STILLPOINT_CONFINES_PARSE_H
#define STILLPOINT_CONFINES_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONFINES_HIERARCHIES	32	/* of control groups: one of v2, and each of v1 */

/**
 * struct confines_status - fields of /proc/PID/status
 * @uid: effective user id
 * @no_new_privs: no_new_privs is set
 * @seccomp: mode: 0: none, 1: strict, 2: filters
 * @filters: number of seccomp filters; -1: the kernel does not tell
 * @bounding: capability bounding set
 */
struct confines_status {
	uid_t uid;
	bool no_new_privs;
	unsigned int seccomp;
	int filters;
	uint64_t bounding;
};

/* -EINVAL: a field is missing that every supported kernel has. */
int confines_parse_status(const char *text, struct confines_status *ret_status);

/**
 * struct confines_cgroup - a line of /proc/PID/cgroup
 * @controllers: "cpu,cpuacct" or "name=systemd" of v1; "": v2
 * @path: from the root of the reader's cgroup namespace, with a leading /
 */
struct confines_cgroup {
	const char *controllers;
	const char *path;
};

/*
 * confines_parse_cgroups() - the lines of /proc/PID/cgroup
 * @text: is cut into strings, to which @ret_cgroups points
 *
 * Return: their number; -EINVAL: bad text; -E2BIG: more than CONFINES_HIERARCHIES.
 */
int confines_parse_cgroups(char *text, struct confines_cgroup ret_cgroups[CONFINES_HIERARCHIES]);

/* The path of the hierarchy with these @controllers; NULL: none. */
const char *confines_cgroup_path(const struct confines_cgroup *cgroups, int nr,
				 const char *controllers);

/*
 * confines_cgroup_dir() - the directory of a control group
 * @mountinfo: of the reader
 *
 * -ENOENT: no mount shows the control group; -ENAMETOOLONG.
 */
int confines_cgroup_dir(const char *mountinfo, const struct confines_cgroup *cgroup, char *ret_dir,
			size_t size);

/* Cut a text of /proc/PID/attr/apparmor/current to the profile's name, without its mode. */
void confines_parse_profile(char *text);

#endif /* STILLPOINT_CONFINES_PARSE_H */
