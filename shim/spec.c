// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the specification that a shim is started with; see spec.h.
 *
 * The text comes from ckptd, which has checked the user's request; this file only
 * checks that it is complete.
 */
#include "shim/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_json.h"

static char **string_list(json_t *array)
{
	size_t n = json_array_size(array);
	char **list = calloc(n + 1, sizeof(*list));
	size_t i;

	for (i = 0; list && i < n; i++)
		list[i] = (char *)json_string_value(json_array_get(array, i));
	return list;
}

static int take_groups(struct shim_spec *spec, json_t *groups)
{
	size_t i;

	spec->nr_groups = json_array_size(groups);
	spec->groups = calloc(spec->nr_groups + 1, sizeof(*spec->groups));
	if (!spec->groups)
		return -ENOMEM;
	for (i = 0; i < spec->nr_groups; i++)
		spec->groups[i] = (gid_t)json_integer_value(json_array_get(groups, i));
	return 0;
}

static void take_limits(struct shim_spec *spec, json_t *limits)
{
	size_t i;

	spec->has_limits = json_array_size(limits) == 2 * RLIM_NLIMITS;
	for (i = 0; spec->has_limits && i < RLIM_NLIMITS; i++) {
		spec->limits[i].rlim_cur = (rlim_t)
			json_integer_value(json_array_get(limits, 2 * i));
		spec->limits[i].rlim_max = (rlim_t)
			json_integer_value(json_array_get(limits, 2 * i + 1));
	}
}

static int spec_unpack(struct shim_spec *s, struct ckpt_error *error)
{
	json_t *argv = NULL, *env = NULL, *groups = NULL, *limits = NULL;
	int uid, gid, host_ns = 0, window = 0, mask = 022, main_pid = 0;
	int any_rights = 0, nice = 0, hold = 0;
	json_t *ranks = NULL;
	json_int_t bounding = -1, writes_tag = 0;	/* all; none */
	json_error_t wrong;
	int err;

	if (json_unpack_ex(s->json, &wrong, 0,
			   "{s:I, s:s, s:s, s:s, s:i, s:i, s:o, s:b, s:[sss], s?i, s?o, s?o, s?s, "
			   "s?i, s?o, s?o, s?i, s?b, s?o, s?[II], s?o, s?o, s?s, s?i, "
			   "s?o, s?I, s?s, s?I, s?I, s?b !}",
			   "job", &s->job, "state_dir", &s->state_dir, "image_dir", &s->image_dir,
			   "key", &s->key, "uid", &uid, "gid", &gid, "groups", &groups, "host_ns",
			   &host_ns, "stdio", &s->stdio[0], &s->stdio[1], &s->stdio[2], "window",
			   &window, "argv", &argv, "env", &env, "cwd", &s->cwd, "umask", &mask,
			   "limits", &limits, "restore", &s->restore, "main_pid", &main_pid,
			   "any_rights", &any_rights, "asker", &s->asker,
			   "log_len", &s->log_len[0], &s->log_len[1], "old_logs",
			   &s->old_logs, "ranks", &ranks, "encryption_key",
			   &s->encryption_key, "nice", &nice, "sched", &s->sched,
			   "bounding", &bounding, "apparmor", &s->apparmor, "writes_tag",
			   &writes_tag, "pages", &s->pages, "hold", &hold))
		return error_set(error, -EINVAL, "bad specification: %s", wrong.text);
	if (!s->pages)
		s->pages = s->job;
	s->uid = (uid_t)uid;
	s->gid = (gid_t)gid;
	s->host_ns = host_ns;
	s->window = (unsigned int)window;
	s->umask = (mode_t)mask;
	s->nice = nice;
	s->bounding = (uint64_t)bounding;
	s->writes_tag = (uint64_t)writes_tag;
	s->main_pid = main_pid;
	s->any_rights = any_rights;
	s->hold = hold;
	s->argv = string_list(argv);
	s->env = string_list(env);
	take_limits(s, limits);
	err = take_groups(s, groups);
	if (!s->argv || !s->env || err)
		return error_set(error, -ENOMEM, "out of memory");
	err = ranks ? ranks_parse(ranks, &s->ranks, error) : 0;
	if (err)
		return err;
	if (s->restore && !json_array_size(s->restore))
		return error_set(error, -EINVAL, "bad specification: no image");
	if (s->restore && s->ranks.size && !s->ranks.pids)
		return error_set(error, -EINVAL,
				 "bad specification: which process is which rank?");
	if (!s->restore && (!s->argv[0] || !s->cwd))
		return error_set(error, -EINVAL, "bad specification: no command");
	return 0;
}

int spec_load(int fd, struct shim_spec *ret_spec, struct ckpt_error *error)
{
	struct shim_spec spec = { 0 };
	json_error_t wrong;
	int err;

	err = atomic_json_load(fd, 0, &spec.json, &wrong);
	if (err)
		return error_set(error, -EINVAL, "bad specification: %s",
				 err == -EBADMSG ? wrong.text : strerror(-err));
	err = spec_unpack(&spec, error);
	if (err) {
		spec_done(&spec);
		return err;
	}
	*ret_spec = spec;
	return 0;
}

void spec_done(struct shim_spec *spec)
{
	free(spec->argv);
	free(spec->env);
	free(spec->groups);
	ranks_done(&spec->ranks);
	json_decref(spec->json);
	memset(spec, 0, sizeof(*spec));
}

bool spec_has_pages(const struct shim_spec *spec)
{
	return spec->ranks.size && spec->ranks.glue && !spec->host_ns;
}

unsigned int spec_log_nodes(const struct shim_spec *spec)
{
	unsigned int nr = spec->ranks.nr_nodes;

	return spec->ranks.node ? nr : nr + (unsigned int)json_array_size(spec->old_logs);
}

bool spec_has_tty(const struct shim_spec *spec)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (!strcmp(spec->stdio[i], SPEC_TTY))
			return true;
	}
	return false;
}
