// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a page of an image is; see place.h.
 *
 * Owns the names that a vote gives to mappings. Reads records, whose texts come from an image, and
 * must not read memory or decide anything.
 */
#include "supervisor/vote/place.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "image/describe.h"

struct place_found {
	uint64_t heap, heap_end;	/* of the memory map */
	uint32_t kind;			/* of the mapping; 0: not found */
	uint64_t flags;
	int32_t file;
};

static int place_rank(struct image_reader *r, int32_t pid)
{
	json_t *note = json_loads(image_get(r, "note") ?: "", 0, NULL), *value;
	int rank = -1;
	size_t i;

	json_array_foreach(json_object_get(note, "pids"), i, value)
		if (json_integer_value(value) == pid)
			rank = (int)i;
	json_decref(note);
	return rank;
}

static void place_map(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		      struct place_found *found, struct place *place)
{
	struct image_record rec;

	image_state_rewind(r);
	while (image_state_next(r, &rec) == 1) {
		const struct ckpt_rec_mm *mm = describe_as(&rec, CKPT_REC_MM, struct ckpt_rec_mm);
		const struct ckpt_rec_vma *vma = describe_as(&rec, CKPT_REC_VMA,
							     struct ckpt_rec_vma);

		if (mm && mm->mm_id == mm_id) {
			found->heap = mm->start_brk;
			found->heap_end = mm->brk;
		}
		if (!vma || vma->mm_id != mm_id || addr < vma->start || addr >= vma->end)
			continue;
		found->kind = vma->kind;
		found->flags = vma->flags;
		found->file = vma->file;
		place->start = vma->start;
		place->end = vma->end;
	}
}

/* The end of the path of the file with this number. */
static void place_path(struct image_reader *r, int32_t file, struct place *place)
{
	struct image_record rec;
	size_t room, len;
	const char *path;

	image_state_rewind(r);
	while (image_state_next(r, &rec) == 1) {
		const struct ckpt_rec_file *f = describe_as(&rec, CKPT_REC_FILE,
							    struct ckpt_rec_file);

		if (!f || (int32_t)f->id != file)
			continue;
		room = rec.len - sizeof(*f);
		path = (const char *)(f + 1);
		len = strnlen(path, f->path_len < room ? f->path_len : room);
		room = sizeof(place->mapping) - 1;
		snprintf(place->mapping, sizeof(place->mapping), "%.*s",
			 (int)(len < room ? len : room), path + (len > room ? len - room : 0));
	}
}

void place_find(struct image_reader *r, uint64_t mm_id, int32_t pid, uint64_t addr,
		struct place *ret_place)
{
	struct place_found found = { 0 };

	*ret_place = (struct place) { .rank = place_rank(r, pid) };
	place_map(r, mm_id, addr, &found, ret_place);
	if (!found.kind)
		return;
	snprintf(ret_place->mapping, sizeof(ret_place->mapping), "%s",
		 found.flags & CKPT_VM_GROWSDOWN ? "stack" :
		 ret_place->start < found.heap_end && ret_place->end > found.heap ? "heap" :
		 "anonymous");
	if (found.file > 0)
		place_path(r, found.file, ret_place);
}
