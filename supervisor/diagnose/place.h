/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places in the programs of a job: a program counter as module, function and offset.
 *
 * All is read from the process's own memory, or from that in an image: its list of mappings, the
 * build-id of the module, and the table by which an exception finds the function of a program
 * counter (.eh_frame_hdr). No file that the job owns is opened here, and names are looked up later,
 * by whoever asks.
 */
#ifndef STILLPOINT_DIAGNOSE_PLACE_H
#define STILLPOINT_DIAGNOSE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLACE_PATH_MAX	512
#define PLACE_ID_MAX	41	/* bytes of a build-id as text */

/**
 * struct place
 * @path: of the module, as the process sees it; "[vdso]", ...; empty: no file is mapped there
 * @build_id: hexadecimal; empty: none
 * @address: as in the module's symbols, if @path is a file; else as in the process
 * @function: where its function begins, likewise; 0: not known
 * @main: the module is the process's program
 */
struct place {
	char path[PLACE_PATH_MAX];
	char build_id[PLACE_ID_MAX];
	uint64_t address;
	uint64_t function;
	bool main;
};

struct places;	/* of one process */

/* Read memory of the process; false: not all of it is there. */
typedef bool (*place_read_fn)(void *arg, uint64_t at, void *buf, size_t size);

/* The places of a running process. */
int places_open(pid_t pid, struct places **ret_places);
/*
 * The places of any other process. @arg lives until places_close(); mappings come from
 * places_map(), ascending.
 */
int places_new(place_read_fn read, void *arg, const char *program, struct places **ret_places);
int places_map(struct places *p, uint64_t start, uint64_t end, uint64_t offset, const char *path);
void places_close(struct places *places);	/* NULL is fine */
size_t places_size(const struct places *places);	/* bytes of memory */
/* Read the process's memory; false: not all of it is there. */
bool places_read(const struct places *places, uint64_t at, void *buf, size_t size);
/* False: nothing is mapped there. */
bool places_find(struct places *places, uint64_t ip, struct place *ret_place);
/* Tell what is added to the addresses of the ELF module whose first byte is mapped at @base. */
bool places_module(const struct places *p, uint64_t base, uint64_t *ret_bias);

#endif /* STILLPOINT_DIAGNOSE_PLACE_H */
