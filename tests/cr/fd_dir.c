// SPDX-License-Identifier: GPL-2.0-only
/*
 * A directory stream read half: reading goes on, and every entry is seen once over
 * both halves; names relative to its descriptor still work.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define COUNT	3000

static DIR *stream;
static uint8_t seen[COUNT];

static void take(int most)
{
	struct dirent *entry;
	int i;

	while (most-- > 0 && (entry = readdir(stream)))
		if (sscanf(entry->d_name, "entry-%d", &i) == 1)
			seen[i]++;
}

static void setup(void)
{
	char name[32];
	int dir;

	cr_sys(mkdir(cr_path("dir"), 0700));
	dir = (int)cr_sys(open(cr_path("dir"), O_RDONLY | O_DIRECTORY));
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "entry-%d", i);
		close((int)cr_sys(openat(dir, name, O_WRONLY | O_CREAT, 0600)));
	}
	close(dir);
	stream = opendir(cr_path("dir"));
	cr_check(stream, "opendir");
	take(COUNT / 2);
}

static void verify(void)
{
	cr_sys(faccessat(dirfd(stream), "entry-77", F_OK, 0));
	take(2 * COUNT);
	for (int i = 0; i < COUNT; i++)
		cr_check(seen[i] == 1, "entry %d was seen %d times", i, seen[i]);
	rewinddir(stream);
	take(2 * COUNT);
	for (int i = 0; i < COUNT; i++)
		cr_eq(seen[i], 2);
}

CR_TEST(.setup = setup, .verify = verify);
