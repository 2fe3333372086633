/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log of a daemon: one line per event, on standard error.
 *
 * Under systemd lines carry their priority (sd-daemon(3)) and end in the
 * journal; otherwise they carry the time.  Text from outside is printed with
 * control characters replaced.
 */
#ifndef STILLPOINT_LOG_H
#define STILLPOINT_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

struct log {
	const char *name;	/* "ckptd" */
	enum log_level level;	/* more detailed lines are dropped */
	bool journal;		/* standard error is the journal */
};

void log_init(struct log *log, const char *name);
/* "error", "warning", "info", "debug"; -EINVAL for any other word. */
int log_level_parse(const char *word, enum log_level *ret_level);

void log_line(const struct log *log, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(log, ...)	log_line(log, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(log, ...)	log_line(log, LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(log, ...)	log_line(log, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(log, ...)	log_line(log, LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif /* STILLPOINT_LOG_H */
