// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and prints places of a diagnosis; see diag_place.h. Owns nothing beyond a call. Opens the
 * files that places name, with the rights of the user who asks; ckptd opens none of them. Must not
 * name a function by a file of another build.
 *
 * The job's owner chooses these files and what is in them. So for root a child opens and reads
 * them, which has become that owner and has no other open file.
 */
#include "ckptctl/diag_place.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ckptctl/cli.h"
#include "ckptctl/symbol.h"

#define NOBODY	65534

typedef void (*diag_place_fn)(json_t *place, FILE *stream);

/* Add "name" to a place, where a file here has the symbols. */
static void diag_name_place(json_t *place, FILE *stream)
{
	char name[512];

	(void)stream;
	if (place &&
	    !symbol_name(cli_str(place, "path"), cli_str(place, "build_id"),
			 (uint64_t)cli_int(place, "address"), name, sizeof(name)) &&
	    cli_is_utf8(name))
		json_object_set_new(place, "name", json_string(name));
}

/* In the child: a line with the name, or an empty one. */
static void diag_tell_place(json_t *place, FILE *stream)
{
	char text[512];

	diag_name_place(place, NULL);
	fprintf(stream, "%s\n", cli_printable(cli_str(place, "name"), text, sizeof(text)));
}

/* In the parent: take the name from the child's line. */
static void diag_hear_place(json_t *place, FILE *stream)
{
	char text[1024];

	if (!fgets(text, sizeof(text), stream))
		return;
	text[strcspn(text, "\n")] = '\0';
	if (place && *text && cli_is_utf8(text))
		json_object_set_new(place, "name", json_string(text));
}

static void diag_each_place(const json_t *result, diag_place_fn fn, FILE *stream)
{
	const json_t *row;
	json_t *frame;
	size_t i, k;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		const json_t *thread = json_object_get(row, "thread");

		fn(json_object_get(thread, "place"), stream);
		json_array_foreach(json_object_get(thread, "frames"), k, frame)
			fn(frame, stream);
	}
}

/* Become the user, for good. */
static int diag_become(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	gid_t gid = user ? user->pw_gid : NOBODY;

	if (user ? initgroups(user->pw_name, gid) : setgroups(0, NULL))
		return -errno;
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static void __attribute__((noreturn)) diag_child(const json_t *result, uid_t uid, int out)
{
	FILE *stream = NULL;

	if (dup2(out, 3) == 3 && !close_range(4, ~0U, 0) && !diag_become(uid))
		stream = fdopen(3, "w");
	if (stream) {
		diag_each_place(result, diag_tell_place, stream);
		fflush(stream);
	}
	_exit(0);
}

/* The child may end early, by a file that is changed while it is read: places without names. */
static void diag_name_as(const json_t *result, uid_t uid)
{
	FILE *stream;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		return;
	child = fork();
	if (!child)
		diag_child(result, uid, ends[1]);
	close(ends[1]);
	stream = child > 0 ? fdopen(ends[0], "r") : NULL;
	if (stream)
		diag_each_place(result, diag_hear_place, stream);
	if (stream)
		fclose(stream);
	else
		close(ends[0]);
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
}

void diag_name_places(const json_t *result)
{
	const json_t *owner = json_object_get(result, "uid");

	if (geteuid())
		diag_each_place(result, diag_name_place, NULL);
	else if (json_integer_value(owner))
		diag_name_as(result, (uid_t)json_integer_value(owner));
	else
		diag_name_as(result, owner ? 0 : NOBODY);
}

const char *diag_place(const json_t *place, bool exact, char *buf, size_t size)
{
	const char *path = cli_str(place, "path"), *base = strrchr(path, '/');
	const char *name = cli_str(place, "name");

	base = base ? base + 1 : path;
	if (!place)
		snprintf(buf, size, "-");
	else if (*name)
		snprintf(buf, size, "%.*s (%s)",
			 exact ? (int)strlen(name) : (int)strcspn(name, "+"), name, base);
	else
		snprintf(buf, size, "%s+0x%llx", base,
			 (unsigned long long)cli_int(place, exact || !cli_int(place, "function") ?
						     "address" : "function"));
	/* names of the job's files and functions may hold anything, as codes for a terminal */
	return cli_printable(buf, buf, size);
}
