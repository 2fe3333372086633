// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptweb: pages of this node for one user, read-only; `ckptctl web` starts it.
 *
 * Runs as the user who looks, and asks ckptd as that user: ckptd's own check of who is at its
 * socket decides what is seen, and no right comes from the browser. Never runs as root: root must
 * name the user for whom the pages are.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <jansson.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/outcome.h"
#include "libckptctl/version.h"
#include "web/server.h"

#define TIMEOUT_S	10
#define TIMEOUT_MAX_S	600

enum { OPT_SOCKET = 256, OPT_PORT, OPT_UNIX, OPT_USER, OPT_TIMEOUT, OPT_JSON, OPT_HELP };

struct ckptweb {
	const char *socket, *unix_path, *user;
	long port, timeout_s;
	bool json;
};

static const struct option longs[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "unix", required_argument, NULL, OPT_UNIX },
	{ "user", required_argument, NULL, OPT_USER },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, 'V' },
	{ NULL }
};

static const char ckptweb_help[] =
	"usage: ckptweb [options]\n\n"
	"Show this node's jobs, nodes and devices to this user's browser; changes nothing.\n\n"
	"      --port N          listen on this port of 127.0.0.1; default: any free one\n"
	"      --unix PATH       listen on a unix socket of mode 0600 instead\n"
	"      --timeout SECONDS give up on a page for which ckptd does not answer; default 10\n"
	"      --user NAME       only for root: for this user, as whom the process goes on\n"
	"      --json            print the address as JSON\n"
	"      --socket PATH     of ckptd\n"
	"      --help, --version\n";

static int ckptweb_fail(const struct ckptweb *web, int err, const char *text)
{
	json_t *outcome = err == -EINVAL ? outcome_usage("%s", text) :
			  outcome_error(err, "%s", text);

	fprintf(stderr, "ckptweb: %s\n", text);
	if (web->json) {
		json_dumpf(outcome, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(outcome);
	return err == -EINVAL ? 2 : 1;
}

static bool ckptweb_number(const char *text, long min, long max, long *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtol(text, &end, 10);
	return !errno && end != text && !*end && *ret_number >= min && *ret_number <= max;
}

/* The text of a mistake, or NULL. */
static const char *ckptweb_option(struct ckptweb *web, int c)
{
	switch (c) {
	case OPT_SOCKET:
		web->socket = optarg;
		return *optarg ? NULL : "--socket: the path is empty";
	case OPT_PORT:
		return ckptweb_number(optarg, 1, 65535, &web->port) ? NULL :
		       "--port is a number from 1 to 65535";
	case OPT_UNIX:
		web->unix_path = optarg;
		return *optarg ? NULL : "--unix: the path is empty";
	case OPT_USER:
		web->user = optarg;
		return NULL;
	case OPT_TIMEOUT:
		return ckptweb_number(optarg, 1, TIMEOUT_MAX_S, &web->timeout_s) ? NULL :
		       "--timeout is a number of seconds from 1 to 600";
	case OPT_JSON:
		web->json = true;
		return NULL;
	case OPT_HELP:
		fputs(ckptweb_help, stdout);
		exit(fflush(stdout) ? 1 : 0);
	case 'V':
		puts("ckptweb " CKPT_VERSION);
		exit(fflush(stdout) ? 1 : 0);
	default:
		return "wrong option; see ckptweb --help";
	}
}

/* ------------------------------------------------------------- privileges */

/* Become @user for good; the text of a mistake, or NULL. */
static const char *ckptweb_become(const char *user)
{
	const struct passwd *entry = getpwnam(user);

	if (!entry)
		return "--user: there is no such user";
	if (!entry->pw_uid)
		return "--user is not root: the pages are for a user without privileges";
	if (initgroups(user, entry->pw_gid) ||
	    setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) ||
	    setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) || !setuid(0) || !geteuid())
		return "the rights of root cannot be given up";
	return NULL;
}

/* The text of a mistake, or NULL: from here on there are no privileges, nor can there be any. */
static const char *ckptweb_drop(const struct ckptweb *web)
{
	const char *wrong = NULL;

	if (!geteuid() && !web->user)
		return "ckptweb does not run as root: start it as the user whose jobs it shall "
		       "show, or say --user NAME";
	if (geteuid() && web->user)
		return "--user is for root: without it the pages are for the user who starts it";
	if (geteuid() != getuid() || getegid() != getgid())
		return "ckptweb must not be installed setuid or setgid";
	if (web->user)
		wrong = ckptweb_become(web->user);
	/* neither a core nor a debugger of this user gives away the token */
	if (!wrong && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0)))
		wrong = "prctl(2) failed: no page is shown without its protection";
	return wrong;
}

/* ------------------------------------------------------------------- serve */

/* -errno after a message. */
static int ckptweb_listen(const struct ckptweb *web, struct server *server)
{
	int n = web->unix_path ? server_listen_unix(server, web->unix_path) :
		server_listen_tcp(server, (unsigned int)web->port);
	char text[512];

	if (n >= 0)
		return n;
	if (web->unix_path)
		snprintf(text, sizeof(text), "%.300s: %s", web->unix_path, n == -ENOTSOCK ?
			 "it is there and is no socket" : strerror(-n));
	else
		snprintf(text, sizeof(text), "port %ld of 127.0.0.1: %s", web->port, strerror(-n));
	ckptweb_fail(web, n, text);
	return n;
}

static void ckptweb_tell(const struct ckptweb *web, const struct server *server, int port)
{
	char url[160];

	if (web->unix_path)
		snprintf(url, sizeof(url), "http://localhost%s/", server->base);
	else
		snprintf(url, sizeof(url), "http://127.0.0.1:%d%s/", port, server->base);
	if (web->json) {
		json_t *outcome = outcome_ok(json_pack("{s:s}", "url", url));

		if (web->unix_path)
			json_object_set_new(json_object_get(outcome, "result"), "unix",
					    json_string(web->unix_path));
		else
			json_object_set_new(json_object_get(outcome, "result"), "port",
					    json_integer(port));
		json_dumpf(outcome, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(outcome);
		return;
	}
	printf("%s\n", url);
	if (web->unix_path)
		fprintf(stderr, "ckptweb: on the machine of the browser: ssh -L "
			"8080:%s NODE, then the address with localhost:8080\n", web->unix_path);
	fprintf(stderr, "ckptweb: who has this address sees your jobs; Ctrl-C ends it\n");
}

static int ckptweb_serve(const struct ckptweb *web)
{
	static struct server server = { .sock = -1 };	/* lives until the process ends */
	sigset_t signals;
	int port, sig, err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	/* before there are threads, which inherit it */
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	err = guard_token(server.token);
	if (!err)
		err = ask_place_open(&server.place, web->socket, (unsigned int)web->timeout_s);
	if (err)
		return ckptweb_fail(web, err, strerror(-err));
	snprintf(server.base, sizeof(server.base), "/%s", server.token);
	if (gethostname(server.node, sizeof(server.node) - 1))
		strcpy(server.node, "this node");
	port = ckptweb_listen(web, &server);
	if (port < 0)
		return 1;
	err = server_start(&server);
	if (err)
		return ckptweb_fail(web, err, "the HTTP server does not start");
	ckptweb_tell(web, &server, port);
	if (fflush(stdout))
		return ckptweb_fail(web, -errno, "the address cannot be printed");
	sigwait(&signals, &sig);
	if (web->unix_path)
		unlink(web->unix_path);
	/* a page that waits for ckptd need not keep the user waiting */
	_exit(0);
}

int main(int argc, char **argv)
{
	struct ckptweb web = { .timeout_s = TIMEOUT_S };
	const char *wrong = NULL;
	int c;

	while (!wrong && (c = getopt_long(argc, argv, "V", longs, NULL)) != -1)
		wrong = ckptweb_option(&web, c);
	if (!wrong && optind < argc)
		wrong = "there are no operands";
	if (!wrong && web.port && web.unix_path)
		wrong = "--port and --unix exclude each other";
	if (wrong)
		return ckptweb_fail(&web, -EINVAL, wrong);
	wrong = ckptweb_drop(&web);
	if (wrong)
		return ckptweb_fail(&web, -EPERM, wrong);
	/* before there are threads */
	tzset();
	json_object_seed(0);
	return ckptweb_serve(&web);
}
