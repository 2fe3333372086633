// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a command and say what it took, without a shell in between.
 *
 *	measure FILE CMD ARG…
 *
 * FILE gets one line: wall time until the command ended, wall time until a
 * sync(2) after it returned (both in microseconds), the command's peak resident
 * set in KiB, its CPU time in microseconds.  Exits as the command did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static long long us(const struct timeval *tv)
{
	return tv->tv_sec * 1000000LL + tv->tv_usec;
}

int main(int argc, char **argv)
{
	long long start, end, synced;
	struct rusage usage;
	FILE *file;
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	file = fopen(argv[1], "w");
	if (!file) {
		perror(argv[1]);
		return 2;
	}
	start = now_us();
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("measure");
		return 2;
	}
	end = now_us();
	sync();
	synced = now_us();
	fprintf(file, "%lld %lld %ld %lld\n", end - start, synced - start,
		usage.ru_maxrss, us(&usage.ru_utime) + us(&usage.ru_stime));
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
