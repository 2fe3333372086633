// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptd: the daemon of one node.
 *
 * Options, configuration, signals, and saying to systemd when it is ready; the
 * rest is daemon.c's.  Ending it ends no job.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "libckptctl/version.h"
#include "base/priority.h"
#include "supervisor/daemon.h"
#include "supervisor/self_check.h"

static const char usage[] =
	"usage: ckptd [--config FILE] [--set NAME=VALUE]... [--launcher SOCKET]\n"
	"       ckptd [--config FILE] [--set NAME=VALUE]... --check\n"
	"\n"
	"  -c, --config FILE     default " CONFIG_DEFAULT "\n"
	"  -s, --set NAME=VALUE  a setting, after those of the file; see ckptd(8)\n"
	"  -l, --launcher SOCKET where ckpt-launch(8) listens; default: fork one\n"
	"      --check           check the configuration and the files it names, and leave\n"
	"  -h, --help\n"
	"  -V, --version\n";

struct ckptd_args {
	const char *config;
	const char *launcher;
	bool config_given;
	bool check;
	char *sets[32];
	int nr_sets;
};

static int ckptd_complain(const char *format, const char *what)
{
	fprintf(stderr, "ckptd: ");
	fprintf(stderr, format, what);
	fputc('\n', stderr);
	return -EINVAL;
}

/* 1: leave, all is done. */
static int parse_args(int argc, char **argv, struct ckptd_args *args)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "set", required_argument, NULL, 's' },
		{ "launcher", required_argument, NULL, 'l' },
		{ "check", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL }
	};
	int c;

	*args = (struct ckptd_args) { .config = CONFIG_DEFAULT };
	while ((c = getopt_long(argc, argv, "c:s:l:hV", longs, NULL)) != -1) {
		if (c == 'c') {
			args->config = optarg;
			args->config_given = true;
		} else if (c == 's' && args->nr_sets < 32) {
			args->sets[args->nr_sets++] = optarg;
		} else if (c == 'l') {
			args->launcher = optarg;
		} else if (c == 'k') {
			args->check = true;
		} else if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? usage : "ckptd " CKPT_VERSION "\n", stdout);
			return 1;
		} else {
			fputs(usage, stderr);
			return -EINVAL;
		}
	}
	return optind < argc ? ckptd_complain("%s is too much", argv[optind]) : 0;
}

static int ckptd_configure(struct config *config, const struct ckptd_args *args)
{
	struct ckpt_error error;
	int i, err = config_init(config);

	if (err)
		return err;
	err = config_load(config, args->config, &error);
	if (err && (err != -ENOENT || args->config_given))
		return ckptd_complain("%s", error.text);
	for (i = 0; i < args->nr_sets; i++) {
		char *equals = strchr(args->sets[i], '=');

		if (!equals)
			return ckptd_complain("--set %s: NAME=VALUE is needed", args->sets[i]);
		*equals = '\0';
		err = config_set(config, args->sets[i], equals + 1);
		if (err) {
			config_explain(config, args->sets[i], equals + 1, err, &error);
			return ckptd_complain("--set %s", error.text);
		}
	}
	return config_secret(config);
}

/* Print what the configured node lacks; the exit status. */
static int ckptd_check(const struct config *config)
{
	json_t *all = self_check_find(config, false), *row;
	int status = json_array_size(all) ? 1 : 0;
	size_t i;

	json_array_foreach(all, i, row)
		fprintf(stderr, "ckptd: %s; %s\n",
			json_string_value(json_object_get(row, "found")),
			json_string_value(json_object_get(row, "advice")));
	json_decref(all);
	return status;
}

static void ckptd_on_signal(int signo, void *arg)
{
	struct daemon *daemon = arg;

	log_info(&daemon->common.log, "signal %d: leaving; the jobs run on", signo);
	sd_notify(0, "STOPPING=1");
	reactor_stop(daemon->common.reactor);
}

/* Before any thread is made. */
static void come_first(struct daemon *daemon)
{
	int nice = priority_get();

	daemon->common.workers.nice = nice > 0 ? nice : 0;
	if (nice > PRIORITY_DAEMON)
		priority_set(PRIORITY_DAEMON);
}

static int ckptd_serve(struct daemon *daemon)
{
	struct reactor_source *source;
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	err = reactor_signals(daemon->common.reactor, &set, ckptd_on_signal, daemon, &source);
	if (err)
		return err;
	log_info(&daemon->common.log, "node %s, images in %s", daemon->common.config.node,
		 daemon->common.config.image_dir);
	sd_notify(0, "READY=1\nSTATUS=serving");
	self_check_start(daemon);
	return reactor_run(daemon->common.reactor);
}

int main(int argc, char **argv)
{
	struct daemon daemon = { .lock = -1, .state_lock = -1, .common.name_lock = -1 };
	struct ckptd_args args;
	int err = parse_args(argc, argv, &args);

	if (err == 1)
		return fflush(stdout) ? ckptd_complain("standard output: %s", strerror(errno)),
		       1	      : 0;
	if (err)
		return 2;
	log_init(&daemon.common.log, "ckptd");
	err = ckptd_configure(&daemon.common.config, &args);
	if (err || args.check) {
		err = err ? 2 : ckptd_check(&daemon.common.config);
		config_done(&daemon.common.config);
		return err;
	}
	daemon.launcher = args.launcher;
	daemon.common.log.level = daemon.common.config.log_level;
	if (geteuid() != 0) {
		ckptd_complain("%s", "must be run as root");
		config_done(&daemon.common.config);
		return 1;
	}
	come_first(&daemon);
	err = daemon_start(&daemon);
	if (!err)
		err = ckptd_serve(&daemon);
	daemon_stop(&daemon);
	config_done(&daemon.common.config);
	return err ? 1 : 0;
}
