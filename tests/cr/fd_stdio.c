// SPDX-License-Identifier: GPL-2.0-only
/*
 * Standard output into a file shared with a child, standard input from a file read
 * half: stdio goes on in the middle of a buffer.
 */
#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	cr_wait_go();
	printf("child\n");
	fflush(stdout);
}

static void setup(void)
{
	char line[16];
	FILE *f = fopen(cr_path("numbers"), "w");

	for (int i = 0; i < 3000; i++)
		fprintf(f, "%d\n", i);
	fclose(f);
	cr_check(freopen(cr_path("numbers"), "r", stdin), "stdin");
	for (int i = 0; i < 1500; i++) {
		cr_check(fgets(line, sizeof(line), stdin), "fgets");
		cr_eq(atoi(line), i);
	}
	cr_check(freopen(cr_path("output"), "w", stdout), "stdout");
	printf("first\n");
	child = cr_fork(in_child, NULL);
	printf("left in the buffer\n");
}

static void verify(void)
{
	char line[16], *text;

	for (int i = 1500; i < 3000; i++) {
		cr_check(fgets(line, sizeof(line), stdin), "fgets");
		cr_eq(atoi(line), i);
	}
	cr_check(!fgets(line, sizeof(line), stdin) && feof(stdin), "end of file");
	cr_join(child);
	fflush(stdout);
	text = cr_read(cr_path("output"), NULL);
	cr_check(!strcmp(text, "first\nchild\nleft in the buffer\n"), "%s", text);
	free(text);
}

CR_TEST(.setup = setup, .verify = verify);
