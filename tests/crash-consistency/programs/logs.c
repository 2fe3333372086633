// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log, of which each line depends on the last one in the file.
 *
 *   logs grow      it only grows
 *   logs rotate    after ten lines it is renamed, and three old ones are kept
 */
#include "step.h"

#define LINE	64U
#define STEPS	140U

static int rotate(int fd)
{
	step_call(close(fd), "close");
	if (rename("log.2", "log.3") && errno != ENOENT)
		step_call(-1, "log.2");
	if (rename("log.1", "log.2") && errno != ENOENT)
		step_call(-1, "log.1");
	step_nap();
	step_call(rename("log", "log.1"), "log");
	step_nap();
	return step_open("log", O_RDWR | O_CREAT | O_EXCL | O_APPEND);
}

int main(int argc, char **argv)
{
	int rotates = argc > 1 && !strcmp(argv[1], "rotate");
	int fd = step_open("log", O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
	char line[LINE + 1];
	uint64_t chain = 1;
	unsigned int i;
	off_t end;

	for (i = 0; i < STEPS; i++) {
		end = lseek(fd, 0, SEEK_END);
		if (end >= (off_t)LINE) {
			step_read(fd, line, LINE, end - LINE);
			chain = step_mix_all(chain, line, LINE);
		}
		chain = step_mix(chain, (uint64_t)end);
		snprintf(line, sizeof(line), "step %04u chain %016llx %*s", i,
			 (unsigned long long)chain, LINE - 34, "\n");
		if (write(fd, line, LINE) != LINE)
			step_call(-1, "write");
		step_nap();
		if (rotates && i % 10 == 9)
			fd = rotate(fd);
	}
	step_say(i, step_mix_file(chain, fd));
	return 0;
}
