/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A user's credential: it tells another node who has asked for processes there, and for which.
 *
 * munge(1) makes it in the user's own process, and unmunge(1) tells the other node, by a key that
 * both nodes have, which user that was. So the node need not believe the user id that the home of
 * a job sends. A credential is for one purpose, a text; a node accepts it again and again for that
 * purpose, for as long as munged(8) says (an hour), as a node is asked for a part more than once.
 */
#ifndef STILLPOINT_CREDENTIAL_H
#define STILLPOINT_CREDENTIAL_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#define CREDENTIAL_TEXT	128

/*
 * The purpose of a credential for the start of a job: "stillpoint start DIGEST", with a digest of
 * "argv", "env" and "cwd" of @job, a request or a record.
 */
int credential_for_start(const json_t *job, char ret_text[CREDENTIAL_TEXT]);

/* The purpose of a credential for a restart, or its dry run: "stillpoint restart JOB". */
void credential_for_restart(int64_t job, char ret_text[CREDENTIAL_TEXT]);

/*
 * credential_make() - have munge make a credential of this process's user for @text
 *
 * Return: to be freed; NULL: this machine has no munge, or no munged runs.
 */
char *credential_make(const char *text);

/**
 * struct credential - what unmunge says
 * @status: of munge(3): 0: good; 17: good, and was shown before
 * @uid: who made it
 * @text: its purpose
 */
struct credential {
	unsigned int status;
	uid_t uid;
	char text[CREDENTIAL_TEXT];
};

/* Parse the output of `unmunge -N -k STATUS,UID`; 0 or -EPROTO. */
int credential_parse(const char *printed, struct credential *ret_credential);

/* Does @got prove that @uid has asked for @text? NULL, or an outcome. Asks nobody. */
json_t *credential_judge(const struct credential *got, uid_t uid, const char *text);

/*
 * credential_check() - does @credential prove that @uid has asked for @text?
 *
 * Runs unmunge, for some seconds at most: call it in a worker, as root.
 *
 * Return: NULL, or an outcome.
 */
json_t *credential_check(const char *credential, uid_t uid, const char *text);

#endif /* STILLPOINT_CREDENTIAL_H */
