// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds connections without acknowledgement in /proc/PID/net/tcp and tcp6; see resent.h. Owns
 * nothing beyond a call. Descriptors of processes are read only if there is such a connection at
 * all. Must not wait for a process: these files are answered by the kernel alone.
 */
#include "supervisor/diagnose/resent.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define RESENT_MAX	256	/* connections that are looked at; the others are like them */
#define RESENT_LINES	262144
#define TCP_IS_OPEN	1	/* TCP_ESTABLISHED */
#define TCP_CONNECTS	2	/* TCP_SYN_SENT */

struct resent {
	char peer[INET6_ADDRSTRLEN];
	unsigned int attempts;
	unsigned long inode;
	bool ours;
};

struct resents {
	struct resent one[RESENT_MAX];
	size_t nr;
};

/* The address of /proc/net/tcp, words as this machine has them in memory, as text. */
static bool resent_address(const char *hex, char *buf)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	const size_t len = strlen(hex);
	unsigned char bytes[16];
	char word[9] = "";

	if (len != 8 && len != 32)
		return false;
	for (size_t i = 0; i < len / 8; i++) {
		uint32_t value;

		memcpy(word, hex + 8 * i, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(bytes + 4 * i, &value, 4);
	}
	if (len == 32 && !memcmp(bytes, mapped, sizeof(mapped)))
		return inet_ntop(AF_INET, bytes + 12, buf, INET6_ADDRSTRLEN);
	return inet_ntop(len == 8 ? AF_INET : AF_INET6, bytes, buf, INET6_ADDRSTRLEN);
}

static void resent_line(struct resents *all, const char *line)
{
	struct resent *r = &all->one[all->nr];
	unsigned int state, attempts;
	unsigned long inode;
	char hex[33];

	if (sscanf(line, " %*u: %*32[0-9A-Fa-f]:%*x %32[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %x %*u "
		   "%*u %lu", hex, &state, &attempts, &inode) != 4 ||
	    (state != TCP_IS_OPEN && state != TCP_CONNECTS) || attempts < RESENT_MIN ||
	    !resent_address(hex, r->peer))
		return;
	r->attempts = attempts;
	r->inode = inode;
	r->ours = false;
	all->nr++;
}

static void resent_read(struct resents *all, const char *root, pid_t pid, const char *name)
{
	char path[512], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%d/net/%s", root, (int)pid, name);
	f = fopen(path, "re");
	for (int i = 0; f && i < RESENT_LINES && all->nr < RESENT_MAX &&
	     fgets(line, sizeof(line), f); i++)
		resent_line(all, line);
	if (f)
		fclose(f);
}

/* Mark connections of which the process has a descriptor. */
static void resent_claim(struct resents *all, const char *root, pid_t pid)
{
	char path[512], target[64];
	_cleanup_dir_ DIR *dir = NULL;
	struct dirent *entry;
	unsigned long inode;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/%d/fd", root, (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%lu]", &inode) != 1)
			continue;
		for (size_t i = 0; i < all->nr; i++)
			all->one[i].ours = all->one[i].ours || all->one[i].inode == inode;
	}
}

/* The sign of all connections to one address; *@done: those that earlier signs have told of. */
static json_t *resent_sign(const struct resents *all, size_t first, bool *done)
{
	const char *peer = all->one[first].peer;
	unsigned int attempts = 0, nr = 0;
	char text[256];

	for (size_t i = first; i < all->nr; i++) {
		if (!all->one[i].ours || strcmp(all->one[i].peer, peer))
			continue;
		done[i] = true;
		nr++;
		if (all->one[i].attempts > attempts)
			attempts = all->one[i].attempts;
	}
	snprintf(text, sizeof(text), "%u connections of the job to %s get no acknowledgement, "
		 "after up to %u attempts: packets are lost", nr, peer, attempts);
	return json_pack("{s:s, s:s, s:I, s:I, s:s}", "kind", "lost_packets", "object", peer,
			 "connections", (json_int_t)nr, "count", (json_int_t)attempts, "text",
			 text);
}

json_t *resent_signs(const char *root, const pid_t *pids, size_t nr)
{
	struct resents *all = calloc(1, sizeof(*all));
	bool done[RESENT_MAX] = { false };
	json_t *signs = json_array();

	if (all && nr) {
		resent_read(all, root, pids[0], "tcp");
		resent_read(all, root, pids[0], "tcp6");
	}
	for (size_t i = 0; all && all->nr && i < nr; i++)
		resent_claim(all, root, pids[i]);
	for (size_t i = 0; all && i < all->nr; i++) {
		if (all->one[i].ours && !done[i])
			json_array_append_new(signs, resent_sign(all, i, done));
	}
	free(all);
	return signs;
}
