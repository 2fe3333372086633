// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mounts by mountinfo; see mount_table.h.
 *
 * Reads that one file, and looks at no mount: a stat below one may never return. Lines that are
 * none are left out.
 */
#include "supervisor/devices/mount_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool mount_is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

void mount_unescape(char *text)
{
	char *to = text;

	while (*text) {
		/* no path has a zero byte */
		if (*text == '\\' && mount_is_octal(text + 1) && strncmp(text + 1, "000", 3)) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static void mount_entry_free(struct mount_entry *entry)
{
	free(entry->dir);
	free(entry->type);
	free(entry->source);
}

/* One line; 0, -EBADMSG, -ENOMEM. */
static int mount_entry_parse(char *line, struct mount_entry *ret_entry)
{
	struct mount_entry e = {};
	char *rest = strstr(line, " - ");
	int n;

	if (!rest)
		return -EBADMSG;
	*rest = '\0';
	if (sscanf(line, "%*d %*d %u:%u %*s %n", &e.major, &e.minor, &n) != 2)
		return -EBADMSG;
	line += n;
	line[strcspn(line, " \n")] = '\0';
	rest += 3;
	e.dir = strdup(line);
	e.type = strndup(rest, strcspn(rest, " \n"));
	rest += strcspn(rest, " \n");
	rest += strspn(rest, " ");
	e.source = strndup(rest, strcspn(rest, " \n"));
	if (!e.dir || !e.type || !e.source || *e.dir != '/') {
		const int err = e.dir && e.type && e.source ? -EBADMSG : -ENOMEM;

		mount_entry_free(&e);
		return err;
	}
	mount_unescape(e.dir);
	mount_unescape(e.type);
	mount_unescape(e.source);
	*ret_entry = e;
	return 0;
}

static int mount_table_add(struct mount_table *table, const struct mount_entry *entry)
{
	struct mount_entry *more = table->entries;

	if (!(table->nr & (table->nr - 1)))
		more = realloc(more, (table->nr ? 2 * table->nr : 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	table->entries = more;
	more[table->nr++] = *entry;
	return 0;
}

int mount_table_parse(FILE *f, struct mount_table *ret_table)
{
	struct mount_table table = {};
	struct mount_entry entry;
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && table.nr < MOUNT_TABLE_MAX && getline(&line, &size, f) > 0) {
		err = mount_entry_parse(line, &entry);
		if (err == -EBADMSG) {
			err = 0;
		} else if (!err) {
			err = mount_table_add(&table, &entry);
			if (err)
				mount_entry_free(&entry);
		}
	}
	free(line);
	if (err)
		mount_table_free(&table);
	else
		*ret_table = table;
	return err;
}

int mount_table_read(struct mount_table *ret_table)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	int err = f ? mount_table_parse(f, ret_table) : -errno;

	if (f)
		fclose(f);
	return err;
}

void mount_table_free(struct mount_table *table)
{
	size_t i;

	for (i = 0; i < table->nr; i++)
		mount_entry_free(&table->entries[i]);
	free(table->entries);
	*table = (struct mount_table){};
}

static bool mount_path_is_plain(const char *path)
{
	const char *s = path;

	for (s = strstr(s, "/.."); s; s = strstr(s + 1, "/..")) {
		if (s[3] == '/' || !s[3])
			return false;
	}
	return *path == '/';
}

/* Whether @path is @dir or below it. */
static bool mount_is_below(const char *path, const char *dir, size_t n)
{
	return n == 1 || (!strncmp(path, dir, n) && (path[n] == '/' || !path[n]));
}

const struct mount_entry *mount_table_at(const struct mount_table *table, const char *path)
{
	const struct mount_entry *found = NULL;
	size_t longest = 0, i;

	if (!mount_path_is_plain(path))
		return NULL;
	for (i = 0; i < table->nr; i++) {
		const size_t n = strlen(table->entries[i].dir);

		if (n >= longest && mount_is_below(path, table->entries[i].dir, n)) {
			longest = n;
			found = &table->entries[i];
		}
	}
	return found;
}

const struct mount_entry *mount_table_of(const struct mount_table *table, unsigned int major,
					 unsigned int minor)
{
	size_t i;

	for (i = 0; i < table->nr; i++) {
		if (table->entries[i].major == major && table->entries[i].minor == minor)
			return &table->entries[i];
	}
	return NULL;
}

bool mount_entry_is_served(const struct mount_entry *entry)
{
	return !strcmp(entry->type, "nfs") || !strcmp(entry->type, "nfs4") ||
	       !strcmp(entry->type, "lustre");
}
