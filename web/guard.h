/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard lets in those who know the token, at an address that is this machine's.
 *
 * Anybody on the node can connect to 127.0.0.1, and any web site can make a browser do so. The
 * token, which only the user who started ckptweb was shown, keeps out the first; the name in the
 * Host header the second: a site whose name leads to 127.0.0.1 sends its own name.
 */
#ifndef STILLPOINT_WEB_GUARD_H
#define STILLPOINT_WEB_GUARD_H

#include <stdbool.h>

#define GUARD_TOKEN	64	/* characters: 256 random bits */

/* A new token, with a NUL; 0 or negative errno. */
int guard_token(char token[GUARD_TOKEN + 1]);

/*
 * The rest of path @url behind "/TOKEN", which begins with '/'; NULL: another token, or none.
 * The time it takes does not tell how much of the token was right.
 */
const char *guard_path(const char *token, const char *url);

/* Is @host, of the Host header, a name or address of this machine, with any port or none? */
bool guard_host(const char *host);

#endif /* STILLPOINT_WEB_GUARD_H */
