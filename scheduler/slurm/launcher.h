/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A launch from within a script that is itself a job: the process that waits in the script.
 */
#ifndef STILLPOINT_SLURM_LAUNCHER_H
#define STILLPOINT_SLURM_LAUNCHER_H

/* Where the launcher finds port.h's directory; set in the script's job alone. */
#define LAUNCHER_VARIABLE	"STILLPOINT_SCRIPT"

/*
 * launcher_run() - have the batch step launch a command, and wait for its end
 * @directory: of port.h
 * @argv: ckptrun or ckptctl run with their options
 *
 * The standard streams, the directory and the environment of this process are the launch's.
 * This process may be saved and restored while it waits, as no descriptor is open meanwhile.
 *
 * Return: the launch's exit status.
 */
int launcher_run(const char *directory, char **argv);

#endif /* STILLPOINT_SLURM_LAUNCHER_H */
