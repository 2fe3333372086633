// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of shared windows: one file of a tmpfs, mapped by all members and unlinked as soon as
 * all have mapped it, so that it is memory of the job like other shared memory, and in its image.
 *
 * Owns the parts and the mapping. Members are on one node if the others find the file, whose name
 * the first member made from random numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "mpi-glue/win.h"
#include "mpi/calls.h"

#define PAGE	4096

/* Message of the first member to the others. */
struct offer {
	uint64_t token;
	int32_t error;		/* errno */
	int32_t apart;		/* each part on pages of its own */
};

static void file_name(uint64_t token, char *buf, size_t size)
{
	snprintf(buf, size, "/dev/shm/stillpoint-win.%016llx", (unsigned long long)token);
}

static int make_file(uint64_t token, size_t size)
{
	char name[64];
	struct statvfs fs;
	int fd, rc = 0;

	file_name(token, name, sizeof(name));
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* room is checked and not allocated: a page belongs where it is used first */
	if (!fstatvfs(fd, &fs) && fs.f_blocks && size / fs.f_frsize > fs.f_bavail)
		rc = -ENOSPC;
	else if (ftruncate(fd, (off_t)size))
		rc = -errno;
	close(fd);
	if (rc)
		unlink(name);
	return rc;
}

static int map_file(struct vwin *win, uint64_t token)
{
	char name[64];
	void *map;
	int fd, rc = 0;

	file_name(token, name, sizeof(name));
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	map = mmap(NULL, win->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		rc = -errno;
	else
		win->map = map;
	close(fd);
	return rc;
}

/* Exchange the size that each member wants. Collective; returns a code of MPI. */
LOWER_TEXT static int gather_parts(struct vwin *win, MPI_Comm comm)
{
	MPI_Datatype bytes = real_dtype(MPI_BYTE);
	struct win_part mine = { .size = win->size, .disp_unit = win->disp_unit };

	win->parts = calloc((size_t)win->nr, sizeof(*win->parts));
	if (!win->parts)
		return MPI_ERR_NO_MEM;
	return lower_MPI_Allgather(&mine, sizeof(mine), bytes, win->parts, sizeof(mine), bytes,
				   comm);
}

static void place_parts(struct vwin *win, bool apart)
{
	MPI_Aint offset = 0;

	for (int i = 0; i < win->nr; i++) {
		win->parts[i].offset = offset;
		offset += win->parts[i].size;
		if (apart)
			offset = (offset + PAGE - 1) / PAGE * PAGE;
	}
	win->map_size = ((size_t)offset + PAGE) / PAGE * PAGE;
}

LOWER_TEXT int win_share(struct vwin *win, MPI_Comm comm, MPI_Info info)
{
	MPI_Datatype bytes = real_dtype(MPI_BYTE), ints = real_dtype(MPI_INT);
	struct offer offer = { .apart = win_info_says(info, "alloc_shared_noncontig") };
	int error, worst = 0, rc;
	char name[64];

	if (win->size < 0)
		return MPI_ERR_SIZE;
	rc = gather_parts(win, comm);
	if (rc)
		return rc;
	if (win->rank == 0) {
		place_parts(win, offer.apart);
		if (getrandom(&offer.token, sizeof(offer.token), 0) != sizeof(offer.token))
			offer.error = -EAGAIN;
		else
			offer.error = make_file(offer.token, win->map_size);
	}
	rc = lower_MPI_Bcast(&offer, sizeof(offer), bytes, 0, comm);
	if (rc)
		return rc;
	if (offer.error)
		return MPI_ERR_NO_MEM;
	place_parts(win, offer.apart);
	error = -map_file(win, offer.token);
	rc = lower_MPI_Allreduce(&error, &worst, 1, ints, real_op(MPI_MAX), comm);
	if (win->rank == 0) {
		file_name(offer.token, name, sizeof(name));
		unlink(name);
	}
	if (!rc && worst)
		rc = MPI_ERR_RMA_SHARED;
	if (!rc && win->size)
		win->base = (char *)win->map + win->parts[win->rank].offset;
	return rc;
}

void win_shared_drop(struct vwin *win)
{
	if (win->map)
		munmap(win->map, win->map_size);
	free(win->parts);
	win->map = NULL;
	win->parts = NULL;
}

int win_shared_part(MPI_Win win, int rank, MPI_Aint *ret_size, int *ret_disp_unit, void **ret_base,
		    unsigned int call)
{
	const struct vwin *desc = win_of(win);
	struct win_part alone, none = { .disp_unit = 1 };
	const struct win_part *parts, *part = &none;

	if (!desc || desc->flavor != MPI_WIN_FLAVOR_SHARED)
		return fail_win(win, desc ? MPI_ERR_RMA_FLAVOR : MPI_ERR_WIN, call);
	if (rank != MPI_PROC_NULL && (rank < 0 || rank >= desc->nr))
		return fail_win(win, MPI_ERR_RANK, call);
	/* without parts: a window of one process, in the library's own memory */
	alone = (struct win_part){ .size = desc->size, .disp_unit = desc->disp_unit };
	parts = desc->parts ? desc->parts : &alone;
	if (rank != MPI_PROC_NULL)
		part = &parts[rank];
	for (int i = 0; i < desc->nr && part == &none; i++)
		if (parts[i].size)
			part = &parts[i];
	*ret_size = part->size;
	*ret_disp_unit = part->disp_unit;
	*ret_base = !part->size ? NULL :
		    desc->map ? (char *)desc->map + part->offset : desc->base;
	return MPI_SUCCESS;
}

int PMPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *baseptr)
{
	return win_shared_part(win, rank, size, disp_unit, baseptr, CALL_MPI_Win_shared_query);
}
MPI_ALIAS(MPI_Win_shared_query);

/*
 * Compare and swap on a shared window without the library: Open MPI 4.1.4's ends the job on memory
 * of one node (btl/vader); its own shared windows are another component's. Other libraries do the
 * call in the lower half.
 */
LOWER_TEXT static int swap_above(const struct vwin *win, const void *origin, const void *compare,
				 void *result, MPI_Datatype dtype, int target, MPI_Aint disp)
{
	void *at = (char *)win->map + win->parts[target].offset +
		   disp * win->parts[target].disp_unit;
	int size, rc = lower_MPI_Type_size(real_dtype(dtype), &size);

#define SWAP(type) { \
	type expected = *(const type *)compare; \
	__atomic_compare_exchange_n((type *)at, &expected, *(const type *)origin, false, \
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	*(type *)result = expected; \
	return 0; \
}
	if (rc)
		return rc;
	switch (size) {
	case 1: SWAP(uint8_t)
	case 2: SWAP(uint16_t)
	case 4: SWAP(uint32_t)
	case 8: SWAP(uint64_t)
	}
	return MPI_ERR_TYPE;
#undef SWAP
}

LOWER_TEXT int PMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr,
				     void *result_addr, MPI_Datatype datatype, int target_rank,
				     MPI_Aint target_disp, MPI_Win win)
{
	GLUE_CALL(MPI_Compare_and_swap);
	const struct vwin *desc = win_of(win);
	int rc;

	if (!win_may(win, target_rank))
		rc = MPI_ERR_RMA_SYNC;
	else if (ABI_SWAPS_ABOVE && desc && desc->map && target_rank >= 0 && target_rank < desc->nr)
		rc = swap_above(desc, origin_addr, compare_addr, result_addr, datatype,
				target_rank, target_disp);
	else
		rc = lower_MPI_Compare_and_swap(origin_addr, compare_addr, result_addr,
						real_dtype(datatype), target_rank,
						win_disp(win, target_rank, target_disp),
						real_win(win));
	return rc ? fail_win(win, rc, CALL_MPI_Compare_and_swap) : rc;
}
MPI_ALIAS(MPI_Compare_and_swap);
