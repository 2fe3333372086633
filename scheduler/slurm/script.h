/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A batch script that is itself a job: its directory, which has the same path on each node.
 *
 * Slurm gives each start of a script another copy. The copy in the directory always has the same
 * name, so that a restored shell finds the script that it was reading.
 */
#ifndef STILLPOINT_SLURM_SCRIPT_H
#define STILLPOINT_SLURM_SCRIPT_H

#include <limits.h>
#include <stdint.h>

/**
 * struct script - the directory of a script's job
 * @directory: ID.script below launch_directory()
 * @copy: the script in it, executable
 */
struct script {
	char directory[PATH_MAX];
	char copy[PATH_MAX];
};

/*
 * script_make() - make the directory for batch job @id, and copy the script @from into it
 *
 * The file "env" in it has what Slurm has set for this run, as assignments of a shell. The
 * variables STILLPOINT_SCRIPT and, unless the user has one, BASH_ENV are set in our environment.
 *
 * Return: 0, or a negative errno; @script->directory or @script->copy is what it is about.
 */
int script_make(struct script *script, uint32_t id, const char *from);

/* script_remove() - remove what script_make() has made */
void script_remove(const struct script *script);

#endif /* STILLPOINT_SLURM_SCRIPT_H */
