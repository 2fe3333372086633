// SPDX-License-Identifier: GPL-2.0-only
/*
 * Log of a daemon; see log.h.
 *
 * A line is one write(2), so that lines of the daemon and of its workers do not
 * mix.  A log that cannot be written is no reason to fail.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Is standard error the stream that JOURNAL_STREAM names? See systemd.exec(5). */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void log_init(struct log *log, const char *name)
{
	log->name = name;
	log->level = LOG_LEVEL_INFO;
	log->journal = stderr_is_journal();
}

int log_level_parse(const char *word, enum log_level *ret_level)
{
	static const struct {
		const char *word;
		enum log_level level;
	} words[] = {
		{ "error", LOG_LEVEL_ERROR }, { "warning", LOG_LEVEL_WARNING },
		{ "info", LOG_LEVEL_INFO }, { "debug", LOG_LEVEL_DEBUG },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(word, words[i].word)) {
			*ret_level = words[i].level;
			return 0;
		}
	}
	return -EINVAL;
}

static int log_prefix(const struct log *log, enum log_level level, char *line, size_t size)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	if (log->journal)
		return snprintf(line, size, "<%d>", (int)level);
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return snprintf(line, size, "%s.%03ld %s[%d]: ", text,
			now.tv_nsec / 1000000, log->name, (int)getpid());
}

void log_line(const struct log *log, enum log_level level, const char *format, ...)
{
	char line[1024];
	size_t len, i;
	va_list ap;

	if (level > log->level)
		return;
	len = (size_t)log_prefix(log, level, line, sizeof(line));
	va_start(ap, format);
	vsnprintf(line + len, sizeof(line) - len - 1, format, ap);
	va_end(ap);
	len = strlen(line);
	for (i = 0; i < len; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[len] = '\n';
	if (write(STDERR_FILENO, line, len + 1) < 0)
		return;
}
