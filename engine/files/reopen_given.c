// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that another node of the job puts back, or takes away.
 *
 * A rank here first changed a file after the checkpoint. If a rank of another node had changed and
 * closed the file before the checkpoint, this node's image has not its content, the other one's
 * has. If a rank of another node made the file after the checkpoint, there is no content: that
 * node's journal says so, and when. Both is found out by the dry run that precedes a restart over
 * nodes: each node tells what it wants, then which of the files that any node wants it keeps or
 * made; the restart is told what is wanted and given. When all nodes have put their files back, and
 * before any rank runs, each looks at the files that it wants.
 *
 * A hash that is wrong by accident makes the last look fail, and no more.
 */
#include "base/error.h"
#include "engine/files/reopen_find.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "engine/core/write_log.h"

/* The same on all nodes, and never negative, as JSON's integers have a sign. */
static int64_t given_hash(const char *path, uint64_t bytes, uint64_t mtime_ns)
{
	return (int64_t)(XXH64(path, strlen(path), bytes ^ XXH64(&mtime_ns, sizeof(mtime_ns), 0)) >>
			 1);
}

static int64_t given_path(const char *path)
{
	return (int64_t)(XXH64(path, strlen(path), 0) >> 1);
}

static int given_compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static bool given_has(const struct engine_given *given, int64_t hash)
{
	return given->nr && bsearch(&hash, given->hashes, given->nr, sizeof(hash), given_compare);
}

static bool given_is_wanted(const struct engine_given *given, int64_t hash)
{
	return given->nr_wanted &&
	       bsearch(&hash, given->wanted, given->nr_wanted, sizeof(hash), given_compare);
}

static void given_tell(const struct reopen *r, const struct engine_given_file *file)
{
	r->options->tell_given(file, r->options->note_arg);
}

enum reopen_given reopen_given(const struct reopen *r, const struct write_log_name *name)
{
	const struct engine_given *given = r->options->given;
	const struct engine_given_file file = {
		.kind = ENGINE_GIVEN_WANTED, .time_ns = (int64_t)name->mtime_ns,
		.hash = given_hash(name->path, name->bytes, name->mtime_ns),
		.path = given_path(name->path),
	};

	if (!given || !reopen_is_of_nodes(r) || !(name->flags & CKPT_WRITE_STATE) ||
	    name->flags & CKPT_WRITE_DIR)
		return REOPEN_GIVEN_NOT;
	if (given_has(given, file.hash))
		return REOPEN_GIVEN_BACK;
	if (given_has(given, file.hash ^ ENGINE_GIVEN_FREED))
		return REOPEN_GIVEN_AWAY;
	if (!given->ask)
		return REOPEN_GIVEN_NOT;
	given_tell(r, &file);
	return REOPEN_GIVEN_PERHAPS;
}

static bool given_asks(const struct reopen *r)
{
	return r->options->given && r->options->given->ask && reopen_is_of_nodes(r);
}

void reopen_given_made(const struct reopen *r, const struct write_log_name *name)
{
	const struct engine_given_file file = {
		.kind = ENGINE_GIVEN_MADE, .path = given_path(name->path),
		.time_ns = (int64_t)name->mtime_ns,
	};

	if (given_asks(r) && name->flags & CKPT_WRITE_STATE && !(name->flags & CKPT_WRITE_DIR) &&
	    given_is_wanted(r->options->given, file.path))
		given_tell(r, &file);
}

static void given_keeps(const struct reopen *r, const char *path, uint64_t bytes,
			uint64_t mtime_ns)
{
	const struct engine_given_file file = {
		.kind = ENGINE_GIVEN_KEPT, .hash = given_hash(path, bytes, mtime_ns),
	};

	if (given_is_wanted(r->options->given, file.hash))
		given_tell(r, &file);
}

void reopen_given_keeps(const struct reopen *r)
{
	const struct state *state = r->state;

	if (!given_asks(r) || r->options->files == ENGINE_FILES_IGNORE)
		return;
	for (unsigned int i = 0; i < state->nr_closed; i++) {
		const struct state_closed *c = &state->closed[i];

		if (c->rec->flags == ENGINE_CLOSED_KEPT)
			given_keeps(r, c->path, c->rec->size, c->rec->mtime_ns);
	}
	for (unsigned int i = 0; i < state->nr_files; i++) {
		const struct state_file *file = &state->files[i];

		if (file->path && file->blob && file->blob->kind == ENGINE_BLOB_FILE)
			given_keeps(r, file->path, file->blob->size, file->blob->mtime_ns);
	}
}
