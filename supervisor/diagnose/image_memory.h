/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a process in an image, for unwinding: pages that the image holds, zeros where the
 * process never wrote, and for the rest the files that were mapped, if they are still the same.
 *
 * Files are opened as soon as they are needed, with the rights of the caller, who must have given
 * up root's: their paths are the job's choice. A program or library counts as the same if it has
 * the build-id that the image recorded; a file without one if size and time are as they were.
 */
#ifndef STILLPOINT_DIAGNOSE_IMAGE_MEMORY_H
#define STILLPOINT_DIAGNOSE_IMAGE_MEMORY_H

#include "engine/core/state.h"
#include "image/reader.h"
#include "supervisor/diagnose/place.h"

struct Dwfl;
struct image_files;	/* mapped files of an image */
struct image_memory;	/* of one process */

int image_files_new(const struct state *state, struct image_files **ret_files);
void image_files_free(struct image_files *files);	/* NULL is fine */
/* Call @fn with the path of each file that was needed, and is missing or is not the same. */
void image_files_bad(const struct image_files *files, void (*fn)(const char *path, void *arg),
		     void *arg);

/* Reader, state and files stay the caller's, and outlive the memory. */
int image_memory_open(struct image_reader *reader, const struct state_mm *mm,
		      struct image_files *files, struct image_memory **ret_memory);
void image_memory_close(struct image_memory *memory);	/* NULL is fine */
/* Its mappings; lives as long as the memory. */
struct places *image_memory_places(struct image_memory *memory);
/* As places_find(); a place in a file that is not the same has its recorded build-id alone. */
bool image_memory_find(struct image_memory *memory, uint64_t ip, struct place *ret_place);
/* As in struct stack_source; @arg is a struct image_memory. */
int image_memory_report(struct Dwfl *dwfl, void *arg);

#endif /* STILLPOINT_DIAGNOSE_IMAGE_MEMORY_H */
