/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words to the user of a batch script, on standard error.
 */
#ifndef STILLPOINT_SLURM_SAY_H
#define STILLPOINT_SLURM_SAY_H

/* say_line() - print one line, which begins with the program's name */
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* STILLPOINT_SLURM_SAY_H */
