// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generations of jobs over several nodes, with one image for each node, and the removal of
 * any generation; see catalog.h.
 *
 * parts.json makes such a generation: it is written after all images are durable, and is
 * durably removed before the first image is. Several nodes may do this at the same time.
 */
#include "supervisor/catalog/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/writer.h"
#include "supervisor/catalog/seal.h"
#include "supervisor/catalog/trust.h"

static void parts_purpose(int64_t job, int64_t generation, char *buf, size_t size)
{
	snprintf(buf, size, "job %lld generation %lld", (long long)job, (long long)generation);
}

int catalog_generation_commit(const struct catalog *catalog, int64_t job, int64_t generation,
			      const json_t *parts, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_image_dir(catalog, job, generation);
	char purpose[80];

	if (!dir)
		return -ENOMEM;
	parts_purpose(job, generation, purpose, sizeof(purpose));
	return seal_write(dir, CATALOG_PARTS, purpose, catalog->key, parts, error);
}

void catalog_generation_uncommit(const struct catalog *catalog, int64_t job,
				 int64_t generation)
{
	_cleanup_free_ char *path = catalog_image_dir(catalog, job, generation);
	_cleanup_fd_ int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	/* Durably removed first: a power cut must not leave a generation without images. */
	if (dir >= 0 && !unlinkat(dir, CATALOG_PARTS, 0))
		fsync(dir);
}

int catalog_generation_parts(const struct catalog *catalog, int64_t job, int64_t generation,
			     json_t **ret_parts, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_image_dir(catalog, job, generation);
	char purpose[80];

	if (!dir)
		return -ENOMEM;
	parts_purpose(job, generation, purpose, sizeof(purpose));
	return seal_read(dir, CATALOG_PARTS, purpose, catalog->key, ret_parts, error);
}

int catalog_part_drop(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part)
{
	_cleanup_free_ char *image = catalog_part_dir(catalog, job, generation, part);
	_cleanup_free_ char *dir = catalog_image_dir(catalog, job, generation);
	struct ckpt_error error = {};
	char path[PATH_MAX];
	int err;

	if (!image || !dir)
		return -ENOMEM;
	err = image_remove(image, &error);
	snprintf(path, sizeof(path), "%s/node-%u", dir, part);
	/*
	 * Remove the directory if this was the last image; other nodes' images may still be
	 * there.
	 */
	if (!rmdir(path)) {
		rmdir(dir);
		return 0;
	}
	if (errno == ENOENT)
		return 0;
	return err && err != -ENOENT ? err : -errno;
}

/* --------------------------------------------------------------- removal */

/* Remove all images that can be removed; returns the first error, with @error naming what stays. */
static int drop_parts(const struct catalog *catalog, int64_t job, int64_t generation,
		      struct ckpt_error *error)
{
	_cleanup_free_ char *path = catalog_image_dir(catalog, job, generation);
	_cleanup_dir_ DIR *nodes = path ? opendir(path) : NULL;
	struct dirent *entry;
	char node[PATH_MAX];
	unsigned int part;
	int err, first = 0;

	if (!nodes) {
		err = path ? -errno : -ENOMEM;
		error_set(error, err, "it is no generation any more, but its images stay: %s",
			  strerror(-err));
		return err;
	}
	while ((entry = readdir(nodes))) {
		if (sscanf(entry->d_name, "node-%u", &part) != 1)
			continue;
		snprintf(node, sizeof(node), "%s/%s", path, entry->d_name);
		image_sweep(node, NULL);
		err = catalog_part_drop(catalog, job, generation, part);
		if (err && !first) {
			first = err;
			error_set(error, err,
				  "it is no generation any more, but its image stays: %s: %s",
				  node, strerror(-err));
		}
	}
	rmdir(path);
	return first;
}

int catalog_generation_sweep(const struct catalog *catalog, int64_t job, int64_t generation)
{
	_cleanup_free_ char *path = catalog_image_dir(catalog, job, generation);
	_cleanup_dir_ DIR *nodes = path ? opendir(path) : NULL;
	struct dirent *entry;
	unsigned int part;
	char node[PATH_MAX];

	if (!nodes)
		return path ? -errno : -ENOMEM;
	/* The caller may only have been unable to see that it is committed. */
	if (catalog_has(catalog, job, generation))
		return -EEXIST;
	unlinkat(dirfd(nodes), "." CATALOG_PARTS ".new", 0);
	while ((entry = readdir(nodes))) {
		if (sscanf(entry->d_name, "node-%u", &part) != 1)
			continue;
		snprintf(node, sizeof(node), "%s/%s", path, entry->d_name);
		image_sweep(node, NULL);
		if (!rmdir(node))
			continue;
		snprintf(node, sizeof(node), "%s/%s/.tmp-image", path, entry->d_name);
		if (image_in_use(node))
			return -EBUSY;
		snprintf(node, sizeof(node), "%s/%s/image", path, entry->d_name);
		rmdir(node);	/* if it is empty */
		catalog_part_drop(catalog, job, generation, part);
	}
	return rmdir(path) && errno != ENOENT ? -errno : 0;
}

/* True if the image, or any node's image, is in use. */
bool catalog_generation_in_use(const struct catalog *catalog, int64_t job, int64_t generation)
{
	_cleanup_free_ char *path = catalog_image_dir(catalog, job, generation);
	_cleanup_dir_ DIR *nodes = path ? opendir(path) : NULL;
	struct dirent *entry;
	char image[PATH_MAX];

	if (path && image_in_use(path))
		return true;
	while (nodes && (entry = readdir(nodes))) {
		snprintf(image, sizeof(image), "%s/%s/image", path, entry->d_name);
		if (!strncmp(entry->d_name, "node-", 5) && image_in_use(image))
			return true;
	}
	return false;
}

/*
 * Uncommit and remove the parts. -ENOENT: the generation is one image. Without parts.json
 * it is no generation, whatever is left; but its images stay as long as a power cut could
 * bring parts.json back.
 */
static int remove_parts(const struct catalog *catalog, int64_t job, int64_t generation,
			const char *dir_path, struct ckpt_error *error)
{
	_cleanup_fd_ int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	if (dir < 0 || unlinkat(dir, CATALOG_PARTS, 0))
		err = errno == ENOTDIR ? -ENOENT : -errno;
	else if (fsync(dir))
		err = -errno;
	if (!err)
		return drop_parts(catalog, job, generation, error);
	error_set(error, err, "%s: %s", dir_path, strerror(-err));
	return err;
}

int catalog_generation_remove(const struct catalog *catalog, int64_t job,
			      int64_t generation, struct ckpt_error *error)
{
	_cleanup_free_ char *image = catalog_image_dir(catalog, job, generation);
	int err;

	if (!image)
		return -ENOMEM;
	if (catalog_generation_in_use(catalog, job, generation))
		return error_set(error, -EBUSY, "%s: in use", image);
	err = remove_parts(catalog, job, generation, image, error);
	if (err == -ENOENT)
		err = image_remove(image, error);
	if (err && err != -ENOENT)
		return err;
	trust_clear(catalog, job, generation);
	return 0;
}
