// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of programs; see io_program.h.
 *
 * Owns the list of interpreters, whose own name tells nothing of a run. Looks at no file: a script
 * that is changed keeps its name.
 */
#include "supervisor/iotrace/io_program.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *io_program_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether @name is an interpreter's, with or without a version: "python3.11". */
static bool io_program_is_interpreter(const char *name)
{
	static const char *const names[] = {
		"python", "perl", "bash", "sh", "dash", "ruby", "Rscript", "julia", "octave", "lua",
	};
	size_t i, n;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = strlen(names[i]);
		if (strncmp(name, names[i], n))
			continue;
		while (isdigit((unsigned char)name[n]) || name[n] == '.')
			n++;
		if (!name[n])
			return true;
	}
	return false;
}

void io_program(const char *name, const json_t *argv, char *ret_program)
{
	const char *script = NULL, *word;
	const json_t *arg;
	size_t i;

	json_array_foreach(argv, i, arg) {
		word = json_string_value(arg);
		if (!word || (!i && strcmp(io_program_last(word), name)))
			break;
		if (i && *word != '-') {
			script = io_program_last(word);
			break;
		}
	}
	if (script && io_program_is_interpreter(name))
		snprintf(ret_program, IO_PROGRAM_MAX, "%.60s %.60s", name, script);
	else
		snprintf(ret_program, IO_PROGRAM_MAX, "%.120s", name);
}
