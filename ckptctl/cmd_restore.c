// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl restore: restore one process tree from an image.
 *
 * If ckptd restores, a process of its own is the tree's parent and reports on a connection when
 * the first root has ended.  With --standalone the roots become children of the process that
 * restores.  Without --detach that process is ckptctl, which forwards signals and hands on the
 * exit status.  With --detach it is a reaper in a session of its own, which stays as the roots'
 * parent (a parent that dies would trip PR_SET_PDEATHSIG) and ends after them.  A signal before
 * the commit ends ckptctl and the half-restored tree.
 */
#include "ckptctl/cli_call.h"
#include "ckptctl/cli_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ckptctl/terminal.h"
#include "base/cleanup.h"
#include "engine/op/op_args.h"
#include "base/outcome.h"

enum {
	OPT_DIR = 'd', OPT_DETACH = 'D', OPT_DRY_RUN = 'n',
	OPT_PIDNS = 256, OPT_FILES, OPT_ACCEPT_CHANGED, OPT_EXTERNAL,
	OPT_MAP_PATH,
};

static const struct option longs[] = {
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "detach", no_argument, NULL, OPT_DETACH },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "pidns", required_argument, NULL, OPT_PIDNS },
	{ "files", required_argument, NULL, OPT_FILES },
	{ "accept-changed", no_argument, NULL, OPT_ACCEPT_CHANGED },
	{ "map-path", required_argument, NULL, OPT_MAP_PATH },
	{ "external", required_argument, NULL, OPT_EXTERNAL },
	{ NULL }
};

/* Signals that the waiting ckptctl forwards to the tree. */
static const int forwarded[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM,
	SIGWINCH,
};

static void cmd_restore_print(struct cli *cli, json_t *result)
{
	json_t *pids = json_object_get(result, "pids");
	char total[32], bytes[32];
	const json_t *note;
	size_t i;

	json_array_foreach(json_object_get(result, "notes"), i, note)
		printf("%s\n", json_string_value(note));
	printf("%lld processes, %lld threads%s in %s, %s read",
	       (long long)cli_int(result, "processes"),
	       (long long)cli_int(result, "threads"),
	       json_is_true(json_object_get(result, "dry_run")) ?
	       " can be restored; checked" : " restored",
	       cli_ns((uint64_t)cli_int(result, "total_ns"), total),
	       cli_bytes((uint64_t)cli_int(result, "bytes_read"), bytes));
	for (i = 0; i < json_array_size(pids); i++)
		printf("%s%lld", i ? ", " : "; pid ",
		       (long long)json_integer_value(json_array_get(pids, i)));
	putchar('\n');
}

/* Wait for the first root; returns its exit status as a shell reports it. */
static int wait_for_root(pid_t root)
{
	sigset_t set;
	siginfo_t info;
	int status;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (!terminal_ignores(forwarded[i]))
			sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
			if (pid == root)
				return WIFSIGNALED(status) ?
				       128 + WTERMSIG(status) : WEXITSTATUS(status);
		}
		if (pid < 0 && errno == ECHILD) {
			return -ECHILD;
		}
		if (sigwaitinfo(&set, &info) > 0 && info.si_signo != SIGCHLD)
			kill(root, info.si_signo);
	}
}

static json_t *restore_here(struct cli *cli, json_t *args, pid_t *roots,
			    unsigned int *nr_roots)
{
	struct op_env env;

	cli_op_env(cli, &env);
	return op_restore(&env, args, roots, nr_roots);
}

static void foreground_externals(struct cli *cli)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	int fd;

	for (fd = 0; fd < 3 && cli->nr_externals < ARRAY_SIZE(cli->externals); fd++) {
		struct engine_external *external = cli->externals + cli->nr_externals;

		if (fcntl(fd, F_GETFD) < 0)
			continue;
		strcpy(external->name, names[fd]);
		external->fd = fd;
		cli->nr_externals++;
	}
}

/* The tree shares our standard error and may have left a line unfinished: begin a new line. */
static int cmd_restore_finish(struct cli *cli, json_t *outcome, int status)
{
	if (cli->json)
		fputc('\n', stderr);
	return cli_finish_attached(cli, outcome, status);
}

static int cmd_restore_foreground(struct cli *cli, json_t *args)
{
	unsigned int nr_roots;
	pid_t roots[OP_ROOTS_MAX];
	json_t *outcome;
	int status;

	foreground_externals(cli);
	outcome = restore_here(cli, args, roots, &nr_roots);
	if (!outcome_is_ok(outcome) || !nr_roots)
		return cli_finish(cli, outcome, cmd_restore_print);
	cli_progress_end(cli);
	status = wait_for_root(roots[0]);
	if (status < 0) {
		json_decref(outcome);
		outcome = outcome_error(status, "the tree runs on, but its root vanished: somebody "
						"else reaped it");
		status = CLI_FAILED;
	}
	return cmd_restore_finish(cli, outcome, status);
}

/* Be the parent that stays: hold no file or directory, wait for every child. */
static void reap_until_alone(void)
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_NAME, "ckpt-reaper");
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
	}
	close_range(3, ~0U, 0);
	if (chdir("/"))
		_exit(CLI_FAILED);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
	_exit(CLI_DONE);
}

static void cmd_restore_detached(struct cli *cli, json_t *args, int report)
{
	unsigned int nr_roots;
	pid_t roots[OP_ROOTS_MAX];
	json_t *outcome;
	FILE *out;

	setsid();
	outcome = restore_here(cli, args, roots, &nr_roots);
	cli_progress_end(cli);
	out = fdopen(report, "w");
	if (out) {
		json_dumpf(outcome, out, JSON_COMPACT);
		fclose(out);
	}
	json_decref(outcome);
	if (!nr_roots)
		_exit(CLI_DONE);
	reap_until_alone();
}

static int cmd_restore_detach(struct cli *cli, json_t *args)
{
	json_t *outcome = NULL;
	int ends[2];
	FILE *in;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return cli_finish(cli, outcome_error(-errno, "pipe: %s",
						     strerror(errno)), NULL);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		cmd_restore_detached(cli, args, ends[1]);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	if (pid > 0 && in)
		outcome = json_loadf(in, 0, NULL);
	if (in)
		fclose(in);
	if (!outcome)
		outcome = outcome_error(-ECHILD, "the restoring process died; nothing was left "
						 "running");
	return cli_finish(cli, outcome, cmd_restore_print);
}

/* ------------------------------------------------------------- by ckptd */

static int by_daemon(struct cli *cli, json_t *args, bool wait)
{
	int pair[2] = { -1, -1 };
	int fds[4] = { 0, 1, 2 };
	struct terminal_end end;
	json_t *outcome;
	int ret;

	if (cli->nr_externals)
		return cli_usage(cli, "--external needs --standalone");
	if (!wait)
		return cli_finish(cli, cli_call(cli, "restore", json_incref(args)),
				  cmd_restore_print);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return cli_finish(cli, outcome_error(-errno, "socketpair: %s",
						     strerror(errno)), NULL);
	fds[3] = pair[1];
	cli->hold = true;
	outcome = cli_call_fds(cli, "restore", json_incref(args), fds, 4);
	close(pair[1]);
	if (!outcome_is_ok(outcome)) {
		close(pair[0]);
		return cli_finish(cli, outcome, NULL);
	}
	cli_progress_end(cli);
	ret = terminal_run(pair[0], TERMINAL_SIGNALS, &end);
	if (ret == 1)
		return cmd_restore_finish(cli, outcome, WIFSIGNALED(end.status) ?
					  128 + WTERMSIG(end.status) : WEXITSTATUS(end.status));
	json_decref(outcome);
	outcome = outcome_error(ret, "the tree runs on, but its reaper went away");
	return cmd_restore_finish(cli, outcome, CLI_FAILED);
}

struct restore_flags {
	bool detach;
	bool dry_run;
};

static int cmd_restore_take_option(struct cli *cli, json_t *args,
				   struct restore_flags *flags, int c)
{
	enum restore_pidns pidns;

	switch (c) {
	case OPT_DIR:
		return cli_path(cli, args, "dir", "--dir", optarg);
	case OPT_DETACH:
		flags->detach = true;
		return 0;
	case OPT_DRY_RUN:
		flags->dry_run = true;
		json_object_set_new(args, "dry_run", json_true());
		return 0;
	case OPT_PIDNS:
		if (op_pidns_parse(optarg, &pidns))
			return cli_usage(cli, "--pidns is auto, caller or new, not %s", optarg);
		json_object_set_new(args, "pidns", json_string(optarg));
		return 0;
	case OPT_MAP_PATH:
		return cli_path_map(cli, args, optarg);
	case OPT_FILES:
		return cli_files(cli, args, optarg);
	case OPT_ACCEPT_CHANGED:
		json_object_set_new(args, "accept_changed", json_true());
		return 0;
	case OPT_EXTERNAL:
		return cli_external(cli, optarg) ? 0 : CLI_USAGE;
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_restore_run(struct cli *cli, int argc, char **argv)
{
	struct restore_flags flags = { 0 };
	json_t *args = json_object();
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "d:Dn", longs)) != -1)
		status = cmd_restore_take_option(cli, args, &flags, c);
	if (!status && optind < argc)
		status = cli_usage(cli, "%s is too much", argv[optind]);
	if (!status && !json_object_get(args, "dir"))
		status = cli_usage(cli, "--dir is missing");
	if (!status && !cli->standalone)
		status = by_daemon(cli, args, !flags.detach && !flags.dry_run);
	else if (!status)
		status = flags.detach && !flags.dry_run ? cmd_restore_detach(cli, args) :
			 cmd_restore_foreground(cli, args);
	json_decref(args);
	return status;
}

const struct cli_verb cmd_restore = {
	.name = "restore",
	.run = cmd_restore_run,
	.args = "--dir DIR [OPTIONS]",
	.help = "bring one process tree back from a directory",
	.options =
	"  -d, --dir DIR         the image\n"
	"  -D, --detach          return once the tree runs; else wait, forward signals\n"
	"                        and hand on the exit status (128+n after signal n)\n"
	"  -n, --dry-run         read, verify, check this node; create nothing\n"
	"      --pidns HOW       auto (default: a new PID namespace if a pid is taken),\n"
	"                        caller, new\n"
	"      --files HOW       keep (default), track, carry, or ignore files it wrote\n"
	"      --accept-changed  go on although files were rewritten since\n"
	"      --map-path OLD=NEW\n"
	"                        what was at the path OLD, a file or a directory, is at NEW\n"
	"                        now; /dev/null: a file is left out. As often as needed\n"
	"      --external NAME=FD|PATH\n"
	"                        what to put where an end was outside the tree\n",
};
