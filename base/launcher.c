// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of launchers; see launcher.h.
 */
#include "base/launcher.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

bool launcher_is(const char *program)
{
	static const char *const names[] = {
		"mpirun", "mpiexec", "mpirun_rsh", "orterun", "prterun", "prun", "oshrun", "srun",
		"aprun", "jsrun", "ibrun", "mpiexec_mpt", "orted", "prted", "prte",
		/* names of 15 bytes at most, as those of processes are */
		"hydra_pmi_proxy", "hydra_bstrap_pr",
	};
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
	size_t i, len = strcspn(name, ".");

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		size_t own = strlen(names[i]);

		if ((len == own || (len > own && own == 15)) && !memcmp(names[i], name, own))
			return true;
	}
	return false;
}
