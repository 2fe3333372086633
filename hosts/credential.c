// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credentials by munge's programs; see credential.h.
 *
 * The programs are run and not linked: a site without munge needs nothing of it. A program that
 * does not end in time is killed.
 */
#include "hosts/credential.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"

#define PROGRAM_MS	4000
#define OUTPUT_MAX	4096	/* of a program; a credential for such a text has 200 bytes */
#define INPUT_MAX	2048	/* less than a pipe holds */
#define DIGEST_BYTES	32
#define GOOD		0	/* of munge.h: EMUNGE_SUCCESS, */
#define EXPIRED		15	/* EMUNGE_CRED_EXPIRED, */
#define REWOUND		16	/* EMUNGE_CRED_REWOUND, */
#define SHOWN_BEFORE	17	/* EMUNGE_CRED_REPLAYED */

/* -------------------------------------------------------------- purposes */

int credential_for_start(const json_t *job, char ret_text[CREDENTIAL_TEXT])
{
	static const char *const names[] = { "argv", "env", "cwd" };
	unsigned char digest[DIGEST_BYTES];
	char hex[2 * DIGEST_BYTES + 1];
	_cleanup_free_ char *text = NULL;
	json_t *bound = json_object();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		json_object_set(bound, names[i], json_object_get(job, names[i]));
	text = json_dumps(bound, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(bound);
	if (!text || sodium_init() < 0 ||
	    crypto_generichash(digest, sizeof(digest), (const unsigned char *)text, strlen(text),
			       NULL, 0))
		return -ENOMEM;
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	snprintf(ret_text, CREDENTIAL_TEXT, "stillpoint start %s", hex);
	return 0;
}

void credential_for_restart(int64_t job, char ret_text[CREDENTIAL_TEXT])
{
	snprintf(ret_text, CREDENTIAL_TEXT, "stillpoint restart %lld", (long long)job);
}

/* -------------------------------------------------------------- programs */

/* In the child: become the program. */
_Noreturn static void credential_exec(char *const argv[], int in, int out)
{
	static char path[] = "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin";
	char *env[] = { path, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(in, 0);
	dup2(out, 1);
	dup2(null, 2);
	execvpe(argv[0], argv, env);
	_exit(127);
}

/* Read until the end of @fd; false: its time is over. */
static bool credential_read(int fd, char output[OUTPUT_MAX])
{
	int64_t until = clock_monotonic_ms() + PROGRAM_MS, left;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < OUTPUT_MAX - 1) {
		left = until - clock_monotonic_ms();
		if (left <= 0 || poll(&poll_fd, 1, (int)left) <= 0)
			return false;
		n = read(fd, output + len, OUTPUT_MAX - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	output[len] = '\0';
	return true;
}

/* Return: the exit status of the program, which got @input; -1: it did not end by itself. */
static int credential_run(char *const argv[], const char *input, char output[OUTPUT_MAX])
{
	int in[2], out[2], status = -1;
	bool in_time;
	pid_t pid;

	output[0] = '\0';
	if (pipe2(in, O_CLOEXEC))
		return -1;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	/* A pipe takes INPUT_MAX at once, whether or not somebody reads it. */
	if (write(in[1], input, strlen(input)) < 0)
		input = "";
	pid = fork();
	if (!pid)
		credential_exec(argv, in[0], out[1]);
	close(in[0]);
	close(in[1]);
	close(out[1]);
	in_time = pid > 0 && credential_read(out[0], output);
	close(out[0]);
	if (pid > 0 && !in_time)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return in_time && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *credential_make(const char *text)
{
	/* for as long as munged allows; only root may ask what it says */
	char *argv[] = { "munge", "-t", "-1", "-u", "0", "-s", (char *)text, NULL };
	char output[OUTPUT_MAX];

	if (credential_run(argv, "", output))
		return NULL;
	output[strcspn(output, "\n")] = '\0';
	return output[0] && strlen(output) < INPUT_MAX ? strdup(output) : NULL;
}

/* ----------------------------------------------------------------- check */

int credential_parse(const char *printed, struct credential *ret_credential)
{
	unsigned long status, uid;
	int end = 0;

	/* the names, each on a line; an empty line; the text */
	if (sscanf(printed, "STATUS: %lu UID: %lu%n", &status, &uid, &end) != 2 || !end ||
	    strncmp(printed + end, "\n\n", 2))
		return -EPROTO;
	printed += end + 2;
	if (uid >= UINT32_MAX || status > UINT32_MAX || strlen(printed) >= CREDENTIAL_TEXT)
		return -EPROTO;
	ret_credential->status = (unsigned int)status;
	ret_credential->uid = (uid_t)uid;
	snprintf(ret_credential->text, CREDENTIAL_TEXT, "%s", printed);
	return 0;
}

json_t *credential_judge(const struct credential *got, uid_t uid, const char *text)
{
	if (got->status == EXPIRED)
		return outcome_error(-EPERM, "the munge credential has expired: ask again");
	if (got->status == REWOUND)
		return outcome_error(-EPERM, "the munge credential is of the future: set the "
				     "clocks of the nodes, and ask again");
	if (got->status != GOOD && got->status != SHOWN_BEFORE)
		return outcome_error(-EPERM, "the munge credential is bad (status %u of munge): "
				     "do both nodes have the same munge.key?", got->status);
	if (got->uid != uid)
		return outcome_error(-EPERM, "the munge credential is of user %u, and the job of "
				     "user %u: its owner has to ask", (unsigned int)got->uid,
				     (unsigned int)uid);
	if (strcmp(got->text, text))
		return outcome_error(-EPERM, "the munge credential is for \"%s\", and this is "
				     "\"%s\": ask again", got->text, text);
	return NULL;
}

json_t *credential_check(const char *credential, uid_t uid, const char *text)
{
	char *argv[] = { "unmunge", "-N", "-k", "STATUS,UID", NULL };
	char output[OUTPUT_MAX];
	struct credential got;

	if (strlen(credential) >= INPUT_MAX)
		return outcome_error(-EPROTO, "the munge credential is too long");
	if (credential_run(argv, credential, output) < 0 || !output[0])
		return outcome_error(-EPERM, "the munge credential cannot be checked: is munge "
				     "installed here, and does munged run, with the key of the "
				     "node that asks?");
	if (credential_parse(output, &got))
		return outcome_error(-EPERM, "unmunge says nothing that is understood here");
	return credential_judge(&got, uid, text);
}
