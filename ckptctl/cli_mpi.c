// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides which MPI library a job's ranks get; see cli_mpi.h.
 *
 * A program that would load a library for which Stillpoint has no substitute is refused here,
 * before anything is started: its ranks would each be alone, or would have another library than
 * the user believes. --mpi overrides doubts (an unknown version, a program of which nothing can be
 * told), never facts (another library is loaded).
 */
#include "ckptctl/cli_mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ckptctl/mpi_detect.h"

#define SAY_WHICH	"say --mpi=mpich, --mpi=ompi or --mpi=none"

/* Refuse a library that is not known here. */
static int cli_mpi_refuse_kind(struct cli *cli, const char *program, const struct mpi_need *need)
{
	if (need->library.kind == MPI_LIBRARY_FRONT)
		cli_wrong(cli, -ENOTSUP,
			  "%s: %s defines MPI_Init() and is no MPI library known here; if it "
			  "stands in for MPI in programs of one process, say --mpi=none", program,
			  need->path);
	else
		cli_wrong(cli, -ENOTSUP,
			  "%s loads %s, %s; supported are %s and %s", program, need->library.name,
			  need->path, mpi_library_supported(RANKS_MPICH),
			  mpi_library_supported(RANKS_OMPI));
	return CLI_FAILED;
}

/* True if Stillpoint's library, or an alias of it, is found by the name @wanted. */
static bool cli_mpi_has_name(enum ranks_mpi mpi, const char *wanted)
{
	const char *name;
	unsigned int i;

	for (i = 0; (name = ranks_mpi_soname(mpi, i)); i++) {
		if (!strcmp(name, wanted))
			return true;
	}
	return false;
}

/* Facts that no option changes, as Stillpoint's library has to stand in front. */
static int cli_mpi_check_front(struct cli *cli, const char *program,
			       const struct mpi_need *need)
{
	if (!need->wanted[0])
		cli_wrong(cli, -ENOTSUP,
			  "%s has its MPI library (%s) linked into itself, where no checkpoint is "
			  "possible: link it with the shared library, or say --direct", program,
			  need->library.name);
	else if (strchr(need->wanted, '/'))
		cli_wrong(cli, -ENOTSUP,
			  "%s gets its MPI library by a path, %s, and not by a name, so "
			  "Stillpoint's cannot take its place: take it out of LD_PRELOAD, or link "
			  "without the path, or say --direct", program, need->wanted);
	else if (!cli_mpi_has_name(need->library.mpi, need->wanted))
		cli_wrong(cli, -ENOTSUP,
			  "%s asks for its MPI library (%s) as %s, and Stillpoint's does not have "
			  "that name; --direct runs it without checkpoints", program,
			  need->library.name, need->wanted);
	else
		return 0;
	return CLI_FAILED;
}

/* The library is known, but in no version that was tried. */
static int cli_mpi_check_version(struct cli *cli, const char *program,
				 const struct mpi_need *need, bool forced)
{
	if (need->library.kind == MPI_LIBRARY_SUPPORTED)
		return 0;
	if (forced) {
		cli_say("%s loads %s, which Stillpoint was never tried with (supported: %s)",
			program, need->library.name, mpi_library_supported(need->library.mpi));
		return 0;
	}
	cli_wrong(cli, -ENOTSUP,
		  "%s loads %s (%s), and supported is %s; --mpi=%s tries it nevertheless, --direct "
		  "runs it without checkpoints", program, need->library.name, need->path,
		  mpi_library_supported(need->library.mpi), ranks_mpi_name(need->library.mpi));
	return CLI_FAILED;
}

/* The program loads the library @need; the user gave @given, or NULL. */
static int cli_mpi_take(struct cli *cli, json_t *ranks, const char *program,
			const struct mpi_need *need, const char *given)
{
	const char *name = ranks_mpi_name(need->library.mpi);
	int status = 0;

	if (need->library.kind <= MPI_LIBRARY_UNKNOWN)
		return cli_mpi_refuse_kind(cli, program, need);
	if (given && strcmp(given, name)) {
		cli_wrong(cli, -EINVAL, "%s loads %s (%s): --mpi=%s is for another library",
			  program, need->library.name, need->path, given);
		return CLI_USAGE;
	}
	if (!json_is_true(json_object_get(ranks, "direct"))) {
		status = cli_mpi_check_front(cli, program, need);
		if (!status)
			status = cli_mpi_check_version(cli, program, need, given);
	}
	json_object_set_new(ranks, "mpi", json_string(name));
	if (!status && need->wanted[0] && !need->guessed && cli_is_utf8(need->path))
		json_object_set_new(ranks, "library", json_string(need->path));
	return status;
}

/* Nothing is known of the command; the user has to say. */
static int cli_mpi_unknown(struct cli *cli, const char *program, int err,
			   const struct ckpt_error *error)
{
	if (err == -EACCES) {
		cli_wrong(cli, err, "%s cannot be read; " SAY_WHICH, program);
		return 126;
	}
	if (err == -ENOTUNIQ || err == -ENOENT) {
		cli_wrong(cli, err, "%s: %s", program, error->text);
		return CLI_FAILED;
	}
	return cli_usage(cli, "%s: %s; " SAY_WHICH, program, error->text);
}

/* One program: "mpi" and "library" of its own. */
static int cli_mpi_program(struct cli *cli, json_t *ranks, char *const *argv, const char *dir)
{
	const char *given = json_string_value(json_object_get(ranks, "mpi"));
	_cleanup_free_ struct mpi_need *need = calloc(1, sizeof(*need));
	struct ckpt_error error = { 0 };
	int err;

	err = need ? mpi_detect(argv, dir, need, &error) : -ENOMEM;
	if (given && !strcmp(given, "none")) {
		if (!err && need->library.kind > MPI_LIBRARY_FRONT)
			cli_say("%s loads %s, and with --mpi=none each rank is an MPI job of its "
				"own", argv[0], need->library.name);
		return 0;
	}
	if (err && given && err != -ENOTUNIQ && err != -ENOENT)
		return 0;
	if (err)
		return cli_mpi_unknown(cli, argv[0], err, &error);
	if (need->library.kind != MPI_LIBRARY_NONE)
		return cli_mpi_take(cli, ranks, argv[0], need, given);
	if (!given)
		json_object_set_new(ranks, "mpi", json_string("none"));
	return 0;
}

int cli_mpi_complete(struct cli *cli, json_t *ranks, char *const *const *commands, unsigned int nr,
		     const char *dir)
{
	json_t *found = NULL, *own;
	unsigned int i, first = 0;
	int status = 0;

	for (i = 0; i < nr && !status; i++) {
		own = json_copy(ranks);
		status = cli_mpi_program(cli, own, commands[i], dir);
		if (!status && found && strcmp(cli_str(own, "mpi"), "none") &&
		    strcmp(cli_str(own, "library"), cli_str(found, "library"))) {
			cli_wrong(cli, -EINVAL, "%s and %s load different MPI libraries, %s and %s",
				  commands[first][0], commands[i][0], cli_str(found, "library"),
				  cli_str(own, "library"));
			status = CLI_FAILED;
		}
		if (!found && !status && strcmp(cli_str(own, "mpi"), "none")) {
			found = json_incref(own);
			first = i;
		}
		json_decref(own);
	}
	if (!status && found)
		json_object_update(ranks, found);
	else if (!status)
		json_object_set_new(ranks, "mpi", json_string("none"));
	json_decref(found);
	return status;
}
