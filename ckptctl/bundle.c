// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the files of a bundle; see bundle.h. Owns the directory that it made, which stays if a
 * file could not be written. Must not write over anything: the directory is new, and files are
 * opened through its descriptor.
 */
#include "ckptctl/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int bundle_open(int dir, const char *name, FILE **ret_file)
{
	_cleanup_fd_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*ret_file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!*ret_file)
		return -errno;
	fd = -1;
	return 0;
}

static int bundle_close(FILE *file)
{
	int err = ferror(file) ? -EIO : 0;

	return fclose(file) && !err ? -errno : err;
}

static int bundle_report(int dir, const json_t *report)
{
	FILE *file;
	int err = bundle_open(dir, "report.json", &file);

	if (err)
		return err;
	err = json_dumpf(report, file, JSON_INDENT(2)) ? -EIO : 0;
	return bundle_close(file) ?: err;
}

static int bundle_text(int dir, const json_t *report)
{
	const json_t *line;
	FILE *file;
	size_t i;
	int err = bundle_open(dir, "verdict.txt", &file);

	if (err)
		return err;
	fprintf(file, "%s (%s)\n", json_string_value(json_object_get(report, "verdict")) ?: "?",
		json_string_value(json_object_get(report, "cause")) ?: "?");
	json_array_foreach(json_object_get(report, "text"), i, line)
		fprintf(file, "%s\n", json_string_value(line) ?: "");
	return bundle_close(file);
}

static int bundle_stacks(int dir, const char *name, struct stack_tree *stacks,
			 enum stack_format format)
{
	FILE *file;
	int err = bundle_open(dir, name, &file);

	if (err)
		return err;
	stack_tree_print(stacks, format, file);
	return bundle_close(file);
}

int bundle_write(const char *path, const json_t *report, struct stack_tree *stacks)
{
	_cleanup_fd_ int dir = -1;
	int err;

	if (mkdir(path, 0700))
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	err = bundle_report(dir, report) ?: bundle_text(dir, report);
	if (!err && stacks)
		err = bundle_stacks(dir, "stacks.txt", stacks, STACK_TREE) ?:
		      bundle_stacks(dir, "stacks.folded", stacks, STACK_FOLDED);
	return err;
}
