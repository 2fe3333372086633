// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says how secrets of images are found, of what the settings say: jobs' own keys, and the site's
 * encryption_key for images of jobs without one.
 *
 * With job_keys = off and no directory of keys, this is encryption_key alone.  Keys that are there
 * count whatever job_keys says: a job that has a key keeps it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/key.h"
#include "supervisor/storage/config.h"

bool config_has_job_keys(const struct config *config)
{
	return config->secret && !strncmp(config->secret, IMAGE_KEY_JOBS_NAME,
					  strlen(IMAGE_KEY_JOBS_NAME));
}

int config_secret(struct config *config)
{
	const char *rest = config->encryption_key;
	char *dir = NULL, *secret = NULL;

	if (asprintf(&dir, "%s/keys", config->state_dir) < 0)
		return -ENOMEM;
	free(config->job_keys_dir);
	free(config->secret);
	config->job_keys_dir = dir;
	config->secret = NULL;
	if (!strcmp(config->job_keys, "off") && access(dir, F_OK)) {
		config->secret = rest ? strdup(rest) : NULL;
		return rest && !config->secret ? -ENOMEM : 0;
	}
	if (asprintf(&secret, "%s%s%s%s",
		     strcmp(config->job_keys, "only") ? IMAGE_KEY_JOBS : IMAGE_KEY_JOBS_ONLY, dir,
		     rest ? IMAGE_KEY_JOBS_THEN : "", rest ? rest : "") < 0)
		return -ENOMEM;
	config->secret = secret;
	return 0;
}
