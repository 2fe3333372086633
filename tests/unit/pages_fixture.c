// SPDX-License-Identifier: GPL-2.0-only
/*
 * Status pages of ranks that are played: a directory with a file for each, as the shim makes
 * it, mapped here as a rank maps its own, and opened as the shim opens it.
 */
#include "tests/unit/pages_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct status_page *make_page(struct world *w, int dir, unsigned int rank)
{
	size_t size = status_size(SIZE, COMMS);
	struct status_page *page;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%u", rank);
	fd = openat(dir, name, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	close(fd);
	page->magic = STATUS_MAGIC;
	page->version = STATUS_VERSION;
	page->nr_ranks = SIZE;
	page->max_comms = COMMS;
	page->order.run = 1;
	page->answer.state = STATUS_RUNNING;
	return page;
}

int pages_begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int dir;

	strcpy(w->dir, "/tmp/pages.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	dir = open(w->dir, O_RDONLY | O_DIRECTORY);
	for (unsigned int r = 0; r < SIZE; r++)
		w->node_of[r] = r == 1 || r == 2;
	w->here[0] = 1;
	w->here[1] = 2;
	w->ranks = (struct ranks) {
		.size = SIZE, .nr_nodes = 2, .node = 1, .node_of = w->node_of,
		.nr = 2, .rank = w->here,
	};
	for (unsigned int i = 0; i < 2; i++)
		w->page[i] = make_page(w, dir, w->here[i]);
	assert_int_equal(pages_open(&w->ranks, dir, &w->pages), 0);
	close(dir);
	*state = w;
	return 0;
}

int pages_end(void **state)
{
	struct world *w = *state;
	char path[96];

	pages_close(w->pages);
	for (unsigned int i = 0; i < 2; i++) {
		munmap(w->page[i], status_size(SIZE, COMMS));
		snprintf(path, sizeof(path), "%s/%u", w->dir, w->here[i]);
		unlink(path);
	}
	rmdir(w->dir);
	free(w);
	return 0;
}
