// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guard of the pages; see guard.h.
 *
 * Decides by texts alone; knows no connection. The port in a Host header is not looked at: a
 * tunnel (ssh -L) has a port of its own, and a site on another port has no token.
 */
#include "web/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

int guard_token(char token[GUARD_TOKEN + 1])
{
	unsigned char bytes[GUARD_TOKEN / 2];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return errno ? -errno : -EIO;
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

const char *guard_path(const char *token, const char *url)
{
	volatile unsigned char differ = 0;
	size_t i;

	if (url[0] != '/' || strlen(url) < GUARD_TOKEN + 2)
		return NULL;
	for (i = 0; i < GUARD_TOKEN; i++)
		differ |= (unsigned char)(token[i] ^ url[i + 1]);
	differ |= (unsigned char)(url[GUARD_TOKEN + 1] ^ '/');
	return differ ? NULL : url + GUARD_TOKEN + 1;
}

bool guard_host(const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	size_t i, len;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		len = strlen(names[i]);
		if (strncasecmp(host, names[i], len))
			continue;
		if (!host[len])
			return true;
		if (host[len] == ':' && host[len + 1] && strlen(host + len + 1) <= 5)
			return !host[len + 1 + strspn(host + len + 1, "0123456789")];
	}
	return false;
}
