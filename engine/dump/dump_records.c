// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's own records: collected during the dump, appended to the state
 * stream after the kernel's.
 *
 * Owns the collection (dump->records).  A record's address is valid until the
 * next is added.
 */
#include "base/clock.h"
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *dump_record_add(struct dump *d, uint16_t type, size_t size, const void *tail,
		      size_t tail_len)
{
	size_t len = (size + tail_len + 7) & ~(size_t)7;
	struct ckpt_rec_hdr *hdr;

	if (d->records_len + len > d->records_room) {
		size_t room = (d->records_len + len) * 2;
		char *more = realloc(d->records, room);

		if (!more)
			return NULL;
		d->records = more;
		d->records_room = room;
	}
	hdr = (void *)(d->records + d->records_len);
	memset(hdr, 0, len);
	hdr->type = type;
	hdr->version = 1;
	hdr->len = (uint32_t)len;
	if (tail_len)
		memcpy((char *)hdr + size, tail, tail_len);
	d->records_len += len;
	return hdr;
}

static void read_line(const char *path, char *buf, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n < 0 ? 0 : n] = 0;
	buf[strcspn(buf, "\n")] = 0;
}

int dump_record_tree(struct dump *d)
{
	const struct dump_options *o = d->options;
	unsigned int nr = 0;
	struct engine_rec_tree *tree;
	struct state_proc *proc;
	int32_t *roots;

	for (proc = d->cap.state->roots; proc; proc = proc->sibling)
		nr++;
	roots = calloc(nr + 1, sizeof(*roots));
	if (!roots)
		return error_fail(d->error, -ENOMEM, "out of memory");
	nr = 0;
	for (proc = d->cap.state->roots; proc; proc = proc->sibling)
		roots[nr++] = proc->rec->pid;
	tree = dump_record_add(d, ENGINE_REC_TREE, sizeof(*tree), roots, nr * sizeof(*roots));
	if (tree) {
		tree->flags = (o->kill ? ENGINE_TREE_KILLED : 0) |
			      (o->stop_and_copy ? ENGINE_TREE_STOP_AND_COPY : 0) |
			      (o->shm_dir ? ENGINE_TREE_SHM_DIR : 0);
		tree->files = o->files;
		tree->generation = o->generation;
		tree->realtime_ns = clock_realtime_ns();
		read_line("/proc/sys/kernel/random/boot_id", tree->boot_id,
			  sizeof(tree->boot_id));
		gethostname(tree->hostname, sizeof(tree->hostname) - 1);
		if (o->job)
			strncpy(tree->job, o->job, sizeof(tree->job) - 1);
		tree->nr_roots = nr;
		image_set_roots(d->img, roots, nr);
	}
	free(roots);
	return tree ? 0 : error_fail(d->error, -ENOMEM, "out of memory");
}

int dump_records_externals(struct dump *d)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_files; i++) {
		const char *name = dump_external_name(d, &state->files[i]);
		struct engine_rec_external *rec;

		if (!name)
			continue;
		rec = dump_record_add(d, ENGINE_REC_EXTERNAL, sizeof(*rec), NULL, 0);
		if (!rec)
			return error_fail(d->error, -ENOMEM, "out of memory");
		rec->file_id = state->files[i].rec->id;
		rec->kind = state->files[i].rec->kind;
		rec->object = state->files[i].rec->object;
		strncpy(rec->name, name, sizeof(rec->name) - 1);
	}
	return 0;
}

int dump_records_check(const struct dump *d)
{
	size_t len = d->cap.records_len + d->records_len;
	_cleanup_free_ char *both = malloc(len + 1);
	struct state_error why = { 0 };
	struct state *state = NULL;
	int ret;

	if (!both)
		return error_fail(d->error, -ENOMEM, "out of memory");
	memcpy(both, d->cap.records, d->cap.records_len);
	if (d->records_len)
		memcpy(both + d->cap.records_len, d->records, d->records_len);
	ret = state_parse(both, len, &state, &why);
	state_free(state);
	return ret ? error_fail(d->error, ret, "no restart could read the image: at %zu: %s; "
				"this is a bug, please report it", why.offset, why.text) : 0;
}
