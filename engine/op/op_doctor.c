// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doctor: checks whether this node, or one tree on it, can be checkpointed.
 *
 * The result is a list of checks, each with its finding and advice, and for a tree the
 * refusals of a dry run, which come from the same code that would refuse the real dump.
 * Changes nothing; a dry run freezes the tree for as long as a real checkpoint would.
 */
#include "base/error.h"
#include "engine/op/op_args.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "image/key.h"
#include "engine/dump/dump.h"
#include "base/outcome.h"

struct doctor {
	json_t *checks;
	bool ready;
};

/* Add a check. @advice: NULL: passed.  @fatal: no checkpoint is possible if it fails. */
static void op_doctor_found(struct doctor *d, const char *check, bool fatal,
			    json_t *what, const char *advice)
{
	json_t *entry = json_pack("{s:s, s:b, s:o}", "check", check,
				  "ok", !advice, "found", what);

	if (fatal)
		json_object_set_new(entry, "required", json_true());
	if (advice)
		json_object_set_new(entry, "advice", json_string(advice));
	if (advice && fatal)
		d->ready = false;
	json_array_append_new(d->checks, entry);
}

static const char *device_advice(int err)
{
	switch (err) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return "load the module: modprobe ckpt";
	case EACCES:
	case EPERM:
		return "run as root, or ask ckptd";
	default:
		return "see the kernel log";
	}
}

/* Kinds of state that depend on what the module knows of this kernel. */
static void check_kinds(struct doctor *d, uint64_t features)
{
	static const struct { uint64_t feature; const char *name; } kinds[] = {
		{ CKPT_FEAT_SYSV, "System V objects" }, { CKPT_FEAT_AIO, "asynchronous I/O" },
		{ CKPT_FEAT_MQUEUE, "POSIX message queues" }, { CKPT_FEAT_URING, "io_uring" },
		{ CKPT_FEAT_TTY_PEEK, "unread terminal input" },
	};
	char missing[160] = "";
	size_t len = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!(features & kinds[i].feature))
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%s",
						len ? ", " : "", kinds[i].name);
	op_doctor_found(d, "kinds of state", false,
			len ? json_sprintf("not %s", missing) : json_string("all known"),
			len ? "the module does not know these of this kernel, and they are "
			"refused: the kernel log says why" : NULL);
}

static void check_module(struct doctor *d)
{
	struct ckpt_info info = { .size = sizeof(info) };
	_cleanup_fd_ int fd = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		op_doctor_found(d, "module", true, json_sprintf("%s: %s", CKPT_DEVICE,
								strerror(errno)),
		      device_advice(errno));
		return;
	}
	if (ioctl(fd, CKPT_IOC_INFO, &info)) {
		op_doctor_found(d, "module", true, json_sprintf("CKPT_IOC_INFO: %s",
								strerror(errno)),
		      "the module is another version: install the matching one");
		return;
	}
	op_doctor_found(d, "module", true,
			json_sprintf("API %u, kernel %.64s, %u threads, pause up to %u ms",
				     info.api, info.release, info.max_threads,
				     info.max_pause_ms),
			info.api == CKPT_API ? NULL :
			"its API number is not ours: install the matching module");
	op_doctor_found(d, "snapshot", false,
			json_string(info.features & CKPT_FEAT_SNAPSHOT ?
				    "copy-on-write" : "not available"),
			info.features & CKPT_FEAT_SNAPSHOT ? NULL :
			"jobs stay frozen until their memory is read");
	check_kinds(d, info.features);
}

static void check_key(struct doctor *d, const struct op_env *env)
{
	const char *path = env->key ? env->key : OP_KEY_DEFAULT;
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	int err = image_key_load(path, &key, &error);

	image_key_destroy(key);
	if (!err)
		op_doctor_found(d, "key", true, json_string(path), NULL);
	else if (err == -ENOENT)
		op_doctor_found(d, "key", !env->first_use, json_sprintf("%s does not exist", path),
		      !env->first_use ? "put it back, or copy it from another node; ckptd makes "
		      "one when it starts, if no job is in image_dir yet" :
		      geteuid() ? "root's first dump makes it" :
		      "the first dump makes it, or ckptd when it starts; copy it to the nodes "
		      "that are to restart jobs");
	else
		op_doctor_found(d, "key", true, json_sprintf("%s: %s", path,
						   error.text[0] ? error.text : strerror(-err)),
		      err == -EACCES && geteuid() ? "only root can look at it: run as root" :
		      "make it a file of root, mode 0600, of 32 bytes");
}

static void check_encryption_key(struct doctor *d, const struct op_env *env)
{
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	bool jobs;
	int err;

	if (!env->secret)
		return;
	err = image_key_secret_only(env->secret, &key, &error);
	jobs = !err && image_key_jobs(key);
	if (!err && jobs && !image_key_has_secret(key))
		op_doctor_found(d, "encryption key", true,
				json_sprintf("of each job, in %s", image_key_jobs(key)), NULL);
	else if (!err)
		op_doctor_found(d, "encryption key", true,
				json_sprintf("%s%s", image_key_where(key),
					     jobs ? ", for jobs without a key of their own" : ""),
				NULL);
	else
		op_doctor_found(d, "encryption key", true, json_string(error.text),
		      "nothing is checkpointed, and no encrypted image restarted, without it");
	image_key_destroy(key);
}

static void check_images(struct doctor *d, const char *dir)
{
	const char *advice = NULL;
	struct statvfs fs;
	struct stat st;

	if (statvfs(dir, &fs)) {
		op_doctor_found(d, "images", true, json_sprintf("%s: %s", dir, strerror(errno)),
		      "create the directory, or name another with image_dir in the configuration");
		return;
	}
	if (fs.f_flag & ST_RDONLY)
		advice = "it is read-only: remount it or choose another directory";
	else if (access(dir, W_OK | X_OK))
		advice = "it cannot be written";
	op_doctor_found(d, "images", true,
			json_sprintf("%s, %llu MiB free", dir,
				     (unsigned long long)fs.f_bavail * fs.f_frsize >> 20),
			advice);
	if (!stat(dir, &st) && is_of_others(&st))
		op_doctor_found(d, "images", false, json_sprintf("user %u's, mode %04o", st.st_uid,
								 st.st_mode & 07777),
		      "whoever may write there decides where images and records go: "
		      "make it root's, mode 0711");
}

/* The outcome of a dry run of the tree: refusals, or figures. */
static json_t *check_tree(const struct op_env *env, pid_t pid)
{
	json_t *args = json_pack("{s:[i], s:b}", "pids", (int)pid, "dry_run", 1);
	json_t *outcome = op_dump(env, args);

	json_decref(args);
	return outcome;
}

static bool is_refusal(json_t *outcome)
{
	json_t *error = json_object_get(outcome, "error");

	return json_array_size(json_object_get(error, "refusals")) > 0;
}

json_t *op_doctor(const struct op_env *env, json_t *json)
{
	struct doctor d = { .checks = json_array(), .ready = true };
	const char *image_dir = NULL;
	json_t *result, *tree = NULL;
	json_error_t why;
	int pid = 0;

	if (json_unpack_ex(json, &why, 0, "{s?i, s?s !}", "pid", &pid,
			   "image_dir", &image_dir)) {
		json_decref(d.checks);
		return outcome_error(-EINVAL, "doctor: bad arguments: %s", why.text);
	}
	check_module(&d);
	check_key(&d, env);
	check_encryption_key(&d, env);
	if (image_dir)
		check_images(&d, image_dir);
	if (pid && d.ready)
		tree = check_tree(env, pid);
	if (tree && !outcome_is_ok(tree)) {
		if (!is_refusal(tree)) {
			json_decref(d.checks);
			return tree;
		}
		d.ready = false;
	}
	result = json_pack("{s:b, s:o}", "ready", d.ready, "checks", d.checks);
	if (pid)
		json_object_set_new(result, "pid", json_integer(pid));
	if (tree)
		json_object_set_new(result, "tree", tree);
	return outcome_ok(result);
}
