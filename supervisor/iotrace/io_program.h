/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name by which runs of one program are known, so that their I/O can be compared. Pure.
 */
#ifndef STILLPOINT_IO_PROGRAM_H
#define STILLPOINT_IO_PROGRAM_H

#include <jansson.h>

#define IO_PROGRAM_MAX	128	/* bytes, with the end */

/*
 * io_program() - name the program of a job
 * @name: of the job
 * @argv: its command; NULL: not known
 * @ret_program: IO_PROGRAM_MAX bytes; a longer name is cut
 *
 * The job's name, which is the program's unless its owner gave another one. After the name of an
 * interpreter follows that of the first argument which is no option: "python3 solver.py".
 */
void io_program(const char *name, const json_t *argv, char *ret_program);

#endif /* STILLPOINT_IO_PROGRAM_H */
