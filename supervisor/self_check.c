// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of a configured node; see self_check.h.
 *
 * Owns no rule of its own: each thing is looked at by the code that uses it. A directory may be
 * on a server that does not answer, so ckptd looks in a worker, and is ready before.
 */
#include "supervisor/self_check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/outcome.h"
#include "engine/op/op.h"
#include "supervisor/catalog/first_key.h"
#include "supervisor/control/worker.h"
#include "supervisor/net/nodes.h"

#define TEXT_MAX	512

static void self_check_add(json_t *all, bool logged, const char *found, const char *advice)
{
	json_array_append_new(all, json_pack("{s:s, s:s, s:b}", "found", found, "advice", advice,
					     "logged", logged));
}

/* Module and encryption key, by the rows of doctor. */
static void self_check_doctor(const struct config *config, bool module, json_t *all)
{
	const struct op_env env = {
		.key = config->key, .secret = config->secret, .first_use = true,
	};
	json_t *args = json_object(), *outcome = op_doctor(&env, args), *row;
	char found[TEXT_MAX];
	size_t i;

	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "checks"), i, row) {
		const char *check = json_string_value(json_object_get(row, "check"));
		const char *advice = json_string_value(json_object_get(row, "advice"));

		/* self_check_key() looks at the key */
		if (!advice || !strcmp(check, "key") ||
		    (!module && strcmp(check, "encryption key")))
			continue;
		snprintf(found, sizeof(found), "%s: %s", check,
			 json_string_value(json_object_get(row, "found")));
		self_check_add(all, false, found, advice);
	}
	json_decref(outcome);
	json_decref(args);
}

/* ckptd makes the last directory of the path, and of the default path all. */
static void self_check_images(const struct config *config, json_t *all)
{
	char parent[PATH_MAX], found[TEXT_MAX];
	struct stat st;
	char *slash;

	if (!stat(config->image_dir, &st)) {
		if (S_ISDIR(st.st_mode))
			return;
		snprintf(found, sizeof(found), "image_dir: %.400s is no directory",
			 config->image_dir);
		self_check_add(all, true, found, "name a directory");
		return;
	}
	if (errno == ENOENT && !strcmp(config->image_dir, CONFIG_IMAGES_DEFAULT))
		return;
	snprintf(parent, sizeof(parent), "%s", config->image_dir);
	slash = strrchr(parent, '/');
	*(slash == parent ? slash + 1 : slash) = '\0';
	if (errno == ENOENT && !stat(parent, &st))
		return;
	snprintf(found, sizeof(found), "image_dir: %.400s: %s", parent, strerror(errno));
	self_check_add(all, true, found,
		       "mount its file system, or make it; ckptd makes only the directory below");
}

static void self_check_key(const struct config *config, json_t *all)
{
	const struct catalog catalog = { .dir = config->image_dir, .key = config->key };
	struct ckpt_error error;
	struct stat st;

	/* Neither key nor images: ckptd makes both. */
	if (stat(config->key, &st) && errno == ENOENT && stat(config->image_dir, &st) &&
	    errno == ENOENT)
		return;
	if (first_key_look(&catalog, &error) < 0)
		self_check_add(all, true, error.text, geteuid() ? "only root can look at it" :
			       "ckptd runs without it, and can only end jobs");
}

static void self_check_levels(const struct config *config, json_t *all)
{
	struct ckpt_error error = {};
	char found[TEXT_MAX];
	struct stat st;
	unsigned int i;

	for (i = 0; i < config->levels.nr; i++) {
		if (!level_config_check(&config->levels.conf[i], &error))
			continue;
		snprintf(found, sizeof(found), "level %s: %.400s", config->levels.conf[i].name,
			 error.text);
		self_check_add(all, false, found,
			       "no generation is copied there until it is");
	}
	if (!config->store || (!stat(config->store, &st) && S_ISDIR(st.st_mode)))
		return;
	snprintf(found, sizeof(found), "store: %.400s is no directory", config->store);
	self_check_add(all, false, found,
		       "mount its file system, or make it; no other node keeps copies here "
		       "meanwhile");
}

static void self_check_hosts(const struct config *config, json_t *all)
{
	const struct nodes_options options = {
		.node = config->node, .hosts = config->hosts, .node_key = config->node_key,
	};
	struct ckpt_error error;

	if (nodes_check_files(&options, &error))
		self_check_add(all, true, error.text, "this node is on its own until that is put "
			       "right and ckptd restarted");
}

json_t *self_check_find(const struct config *config, bool module)
{
	json_t *all = json_array();

	self_check_doctor(config, module, all);
	self_check_images(config, all);
	self_check_key(config, all);
	self_check_levels(config, all);
	self_check_hosts(config, all);
	return all;
}

/* ------------------------------------------------------------- when ckptd starts */

static json_t *self_check_run(struct channel_reporter *reporter, void *arg)
{
	const struct daemon *daemon = arg;

	return outcome_ok(self_check_find(&daemon->common.config, true));
}

static void self_check_on_progress(json_t *progress, void *arg)
{
}

static void self_check_on_outcome(json_t *outcome, void *arg)
{
	struct daemon *daemon = arg;
	const json_t *all = json_object_get(outcome, "result"), *row;
	size_t i, nr = json_array_size(all);

	daemon->self_check = NULL;
	json_array_foreach(all, i, row) {
		if (!json_is_true(json_object_get(row, "logged")))
			log_warning(&daemon->common.log, "%s; %s",
				    json_string_value(json_object_get(row, "found")),
				    json_string_value(json_object_get(row, "advice")));
	}
	if (nr)
		sd_notifyf(0, "STATUS=serving; missing when it started: %s%s",
			   json_string_value(json_object_get(json_array_get(all, 0), "found")),
			   nr > 1 ? ", and more (see the log)" : "");
	json_decref(outcome);
}

static const struct channel_ops self_check_ops = {
	self_check_on_progress, self_check_on_outcome,
};

static const struct worker_kind self_check_work = {
	.name = "ckptd-check",
	.run = self_check_run,
};

void self_check_start(struct daemon *daemon)
{
	const struct worker_spec spec = { .kind = &self_check_work, .arg = daemon };
	int err = worker_start(&daemon->common.workers, &spec, &self_check_ops, daemon,
			       &daemon->self_check);

	if (err)
		log_error(&daemon->common.log, "no worker to look for what this node lacks: %s",
			  strerror(-err));
}

void self_check_stop(struct daemon *daemon)
{
	worker_abort(daemon->self_check);
	daemon->self_check = NULL;
}
