// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds munge's credential to requests that start processes on other nodes; see cli_prove.h.
 */
#include "ckptctl/cli_prove.h"

#include "base/cleanup.h"
#include "hosts/credential.h"

static void cli_prove(json_t *args, const char *text)
{
	_cleanup_free_ char *credential = credential_make(text);

	if (credential)
		json_object_set_new(args, "credential", json_string(credential));
}

void cli_prove_start(json_t *args)
{
	char text[CREDENTIAL_TEXT];

	if (!credential_for_start(args, text))
		cli_prove(args, text);
}

void cli_prove_restart(json_t *args)
{
	char text[CREDENTIAL_TEXT];

	credential_for_restart(json_integer_value(json_object_get(args, "job")), text);
	cli_prove(args, text);
}
