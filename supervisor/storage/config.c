// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration of ckptd; see config.h for the settings.
 *
 * An unknown setting is an error, not a warning: a typing mistake must not silently leave
 * images on the wrong disk. A setting that appears twice is an error as well: a line that
 * somebody added further down must not silently change it.
 */
#include "supervisor/storage/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/format.h"
#include "image/key.h"
#include "base/cleanup.h"
#include "image/writer.h"
#include "base/duration.h"
#include "base/typo.h"
#include "hosts/hosts.h"
#include "hosts/node_key.h"
#include "supervisor/control/access.h"
#include "engine/core/sock_rules.h"
#include "engine/op/op_args.h"

#define FILE_MAX	65536
#define OF_LEVELS	"level."
#define SECONDS_MAX	(100LL * 365 * 24 * 3600)
#define PERCENT_MAX	50
#define MS_MAX		3600000
#define LEASE_MIN	10	/* seconds: some reports of a part (parts_away.c) */
#define EVERY_MAX	1000
#define LEASE_MAX	3600

/* Kinds whose values are strings come first: config_done() frees all below NUMBER. */
enum kind {
	PATH, NAME, ADDRESS, KEY, USERS, GROUPS, GROUP, SOCKETS, SCRUB, HANGS, DEVICES, KEYS,
	PUBLIC, NUMBER,
	MILLISECONDS, BASES, PERCENT, EVERY, LEVEL, SECONDS, INTERVAL, LEASE, SIZE, SIZEOFF, MEMORY,
	PORT, SWITCH, MODE, ONOFF
};

static const struct setting {
	const char *name;
	enum kind kind;
	size_t offset;
	const char *value;	/* default; NULL: none, or made by config_init() */
} settings[] = {
	{ "socket", PATH, offsetof(struct config, socket), "/run/stillpoint/ckptd.sock" },
	{ "socket_group", GROUP, offsetof(struct config, socket_group), NULL },
	{ "socket_mode", MODE, offsetof(struct config, socket_mode), "0666" },
	{ "allow_users", USERS, offsetof(struct config, allow_users), NULL },
	{ "allow_groups", GROUPS, offsetof(struct config, allow_groups), NULL },
	{ "state_dir", PATH, offsetof(struct config, state_dir), "/var/lib/stillpoint/jobs" },
	{ "image_dir", PATH, offsetof(struct config, image_dir), CONFIG_IMAGES_DEFAULT },
	{ "image_dir_shared", SWITCH, offsetof(struct config, image_dir_shared), "yes" },
	{ "key", PATH, offsetof(struct config, key), "/etc/stillpoint/key" },
	{ "encryption_key", KEY, offsetof(struct config, encryption_key), NULL },
	{ "job_keys", KEYS, offsetof(struct config, job_keys), "off" },
	{ "job_keys_recovery", PUBLIC, offsetof(struct config, job_keys_recovery), NULL },
	{ "shim", PATH, offsetof(struct config, shim), NULL },
	{ "mpi_dir", PATH, offsetof(struct config, mpi_dir), NULL },
	{ "lower", PATH, offsetof(struct config, lower), NULL },
	{ "node", NAME, offsetof(struct config, node), NULL },
	{ "hosts", PATH, offsetof(struct config, hosts), HOSTS_DEFAULT },
	{ "node_key", PATH, offsetof(struct config, node_key), NODE_KEY_DEFAULT },
	{ "listen", ADDRESS, offsetof(struct config, listen), "*" },
	{ "may_run", PATH, offsetof(struct config, may_run), NULL },
	{ "munge", SWITCH, offsetof(struct config, munge), "no" },
	{ "lease", LEASE, offsetof(struct config, lease_s), "0" },
	{ "fence_command", PATH, offsetof(struct config, fence_command), NULL },
	{ "log_level", LEVEL, offsetof(struct config, log_level), "info" },
	{ "idle_timeout_ms", MILLISECONDS, offsetof(struct config, idle_timeout_ms), "300000" },
	{ "max_pause_ms", MILLISECONDS, offsetof(struct config, max_pause_ms), "0" },
	{ "freeze_timeout_ms", MILLISECONDS, offsetof(struct config, freeze_timeout_ms), "0" },
	{ "sockets", SOCKETS, offsetof(struct config, sockets), "refuse" },
	{ "quiesce_timeout_ms", MILLISECONDS, offsetof(struct config, quiesce_timeout_ms), "0" },
	{ "node_mtbf", SECONDS, offsetof(struct config, node_mtbf_s), "1y" },
	{ "diagnose", HANGS, offsetof(struct config, diagnose), "off" },
	{ "diagnose_every", SECONDS, offsetof(struct config, diagnose_every_s), "1m" },
	{ "diagnose_patience", SECONDS, offsetof(struct config, diagnose_patience_s), "10m" },
	{ "io_trace", ONOFF, offsetof(struct config, io_trace), "off" },
	{ "metrics_file", PATH, offsetof(struct config, metrics_file), NULL },
	{ "degraded_devices", DEVICES, offsetof(struct config, degraded_devices), "notify" },
	{ "pipeline_memory", MEMORY, offsetof(struct config, pipeline_memory), "64M" },
	{ "files_max", SIZE, offsetof(struct config, files_max), "1G" },
	{ "l0_memory", SIZEOFF, offsetof(struct config, l0_memory), "off" },
	{ "incremental", BASES, offsetof(struct config, incremental), "0" },
	{ "scrub", SCRUB, offsetof(struct config, scrub), "off" },
	{ "scrub_every", EVERY, offsetof(struct config, scrub_every), "8" },
	{ "merge_after", NUMBER, offsetof(struct config, merge_after), "4" },
	{ "merge_limit", SIZE, offsetof(struct config, merge_limit), "128M" },
	{ "retain_keep", NUMBER, offsetof(struct config, retain.keep), "0" },
	{ "retain_keep_every", NUMBER, offsetof(struct config, retain.keep_every), "0" },
	{ "retain_max_size", SIZE, offsetof(struct config, retain.max_size), "0" },
	{ "user_max_jobs", NUMBER, offsetof(struct config, user_max_jobs), "1000" },
	{ "user_max_records", NUMBER, offsetof(struct config, user_max_records), "0" },
	{ "user_max_size", SIZE, offsetof(struct config, user_max_size), "0" },
	{ "user_reserve", PERCENT, offsetof(struct config, user_reserve), "5" },
	{ "user_min_interval", INTERVAL, offsetof(struct config, user_min_interval_s), "0" },
	{ "store", PATH, offsetof(struct config, store), NULL },
	{ "store_max", SIZE, offsetof(struct config, store_max), "0" },
	{ "store_port", PORT, offsetof(struct config, store_port), "0" },
	{ "store_encrypt", SWITCH, offsetof(struct config, store_encrypt), "yes" },
};

static const char *const allowed[] = {
	[PATH] = "an absolute path",
	[NAME] = "letters, digits, '.', '_' and '-', at most 63",
	[ADDRESS] = "* or an address without a port",
	[KEY] = "an absolute path, or keyring:NAME",
	[USERS] = "* or users of this machine, as alice,1002",
	[GROUPS] = "* or groups of this machine, as hpc,2000",
	[GROUP] = "a group of this machine, or its number",
	[SOCKETS] = SOCK_RULES_SYNTAX,
	[SCRUB] = "off, report or stop",
	[DEVICES] = "off, notify or avoid",
	[KEYS] = "off, on or only",
	[PUBLIC] = "a public key of 44 characters, as ckptctl keygen prints it",
	[NUMBER] = "a number, at most 4294967295",
	[MILLISECONDS] = "milliseconds, at most 3600000",
	[BASES] = "a number, at most 15",
	[PERCENT] = "percent as a number, at most 50",
	[EVERY] = "a number, from 1 to 1000",
	[LEVEL] = "error, warning, info or debug",
	[SECONDS] = "a duration as 90d or 2y, from 1s to 100y",
	[INTERVAL] = "0, or a duration as 30s or 5m, at most 100y",
	[LEASE] = "0, or a duration as 60s or 5m, from 10s to 1h",
	[SIZE] = "bytes, as 500, 10M or 2T",
	[SIZEOFF] = "off, or bytes, as 500M or 2G",
	[MEMORY] = "bytes, as 48M, at least 32M",
	[PORT] = "a number, at most 65535",
	[SWITCH] = "yes or no",
	[HANGS] = "off, notify or recover",
	[ONOFF] = "on or off",
	[MODE] = "an octal mode, as 0660: read and write alone",
};

static int set_string(char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int set_number(unsigned int *field, const char *value, unsigned long max)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (errno || end == value || *end || *value < '0' || *value > '9' || number > max)
		return -EINVAL;
	*field = (unsigned int)number;
	return 0;
}

/* Set a switch whose two values are the words @yes and @no. */
static int set_word(bool *field, const char *value, const char *yes, const char *no)
{
	if (strcmp(value, yes) && strcmp(value, no))
		return -EINVAL;
	*field = !strcmp(value, yes);
	return 0;
}

static int set_users(char **field, const char *value, enum access_kind kind)
{
	struct access_list list;
	int err = access_parse(value, kind, &list);

	if (err)
		return err;
	access_done(&list);
	return set_string(field, value);
}

static int set_group(char **field, const char *value)
{
	id_t id;

	return access_id(value, ACCESS_GROUPS, &id) ? -EINVAL : set_string(field, value);
}

static int set_mode(unsigned int *field, const char *value)
{
	unsigned long mode;
	char *end;

	mode = strtoul(value, &end, 8);
	if (end == value || *end || *value == '-' || mode & ~0666UL)
		return -EINVAL;
	*field = (unsigned int)mode;
	return 0;
}

static int set_seconds(unsigned int *field, const char *value)
{
	int64_t ms;

	if (duration_parse(value, &ms) || ms < 1000 || ms > SECONDS_MAX * 1000)
		return -EINVAL;
	*field = (unsigned int)(ms / 1000);
	return 0;
}

static int set_lease(unsigned int *field, const char *value)
{
	unsigned int seconds = 0;
	int err = strcmp(value, "0") ? set_seconds(&seconds, value) : 0;

	if (err || (seconds && seconds < LEASE_MIN) || seconds > LEASE_MAX)
		return -EINVAL;
	*field = seconds;
	return 0;
}

static int set_memory(uint64_t *field, const char *value)
{
	uint64_t bytes;

	if (op_size_parse(value, &bytes) || bytes < IMAGE_MEMORY_MIN)
		return -EINVAL;
	*field = bytes;
	return 0;
}

static int set_key(char **field, const char *value)
{
	if (!image_key_source_ok(value) || strlen(value) >= PATH_MAX / 2)
		return -EINVAL;
	return set_string(field, value);
}

static int set_public(char **field, const char *value)
{
	uint8_t bytes[NODE_KEY_BYTES];

	return node_key_parse(value, bytes) ? -EINVAL : set_string(field, value);
}

/* Set one of three words. */
static int set_choice(char **field, const char *value, const char *a, const char *b, const char *c)
{
	return strcmp(value, a) && strcmp(value, b) && strcmp(value, c) ? -EINVAL :
	       set_string(field, value);
}

static int set_every(unsigned int *field, const char *value)
{
	return strcmp(value, "0") ? set_number(field, value, EVERY_MAX) : -EINVAL;
}

/* True for "*", or an address without a port, which is in the hosts file. */
static bool good_address(const char *value)
{
	char address[256];
	uint16_t port;

	return !strcmp(value, "*") || (!host_address_parse(value, address, &port) &&
				       !strcmp(address, value));
}

static const struct setting *config_find(const char *name)
{
	const struct setting *s = settings;

	while (strcmp(s->name, name)) {
		if (++s == settings + ARRAY_SIZE(settings))
			return NULL;
	}
	return s;
}

static unsigned long number_max(enum kind kind)
{
	switch (kind) {
	case MILLISECONDS:
		return MS_MAX;
	case BASES:
		return IMAGE_BASES_MAX;
	case PERCENT:
		return PERCENT_MAX;
	case PORT:
		return UINT16_MAX;
	default:
		return UINT32_MAX;
	}
}

/* Long: a case for each kind of value. */
int config_set(struct config *config, const char *name, const char *value)
{
	const struct setting *s = config_find(name);
	void *field;

	if (!strncmp(name, OF_LEVELS, strlen(OF_LEVELS)))
		return level_configs_set(&config->levels, name + strlen(OF_LEVELS), value);
	if (!s)
		return -ENOENT;
	field = (char *)config + s->offset;
	switch (s->kind) {
	case PATH:
		if (value[0] != '/' || strlen(value) >= PATH_MAX / 2)
			return -EINVAL;
		return set_string(field, value);
	case NAME:
		return host_name_check(value) ? -EINVAL : set_string(field, value);
	case ADDRESS:
		return good_address(value) ? set_string(field, value) : -EINVAL;
	case KEY:
		return set_key(field, value);
	case USERS:
		return set_users(field, value, ACCESS_USERS);
	case GROUPS:
		return set_users(field, value, ACCESS_GROUPS);
	case GROUP:
		return set_group(field, value);
	case SOCKETS:
		return sock_rules_valid(value) ? set_string(field, value) : -EINVAL;
	case SCRUB:
		return set_choice(field, value, "off", "report", "stop");
	case HANGS:
		return set_choice(field, value, "off", "notify", "recover");
	case DEVICES:
		return set_choice(field, value, "off", "notify", "avoid");
	case KEYS:
		return set_choice(field, value, "off", "on", "only");
	case PUBLIC:
		return set_public(field, value);
	case EVERY:
		return set_every(field, value);
	case NUMBER:
	case MILLISECONDS:
	case BASES:
	case PERCENT:
	case PORT:
		return set_number(field, value, number_max(s->kind));
	case LEVEL:
		return log_level_parse(value, field);
	case SECONDS:
		return set_seconds(field, value);
	case INTERVAL:
		return strcmp(value, "0") ? set_seconds(field, value) : set_number(field, "0", 0);
	case LEASE:
		return set_lease(field, value);
	case SIZE:
		return op_size_parse(value, field);
	case SIZEOFF:
		return strcmp(value, "off") ? op_size_parse(value, field) :
					      op_size_parse("0", field);
	case MEMORY:
		return set_memory(field, value);
	case SWITCH:
		return set_word(field, value, "yes", "no");
	case ONOFF:
		return set_word(field, value, "on", "off");
	case MODE:
		return set_mode(field, value);
	}
	return -EINVAL;
}

/*
 * The values allowed for setting @name, without "level."; NULL: it is a level, or no
 * setting of one.
 */
static const char *allowed_of_level(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (!dot)
		return NULL;
	if (!strcmp(dot, ".every"))
		return "a number from 1";
	if (!strcmp(dot, ".keep") || !strcmp(dot, ".keep_every"))
		return "a number";
	return !strcmp(dot, ".limit") || !strcmp(dot, ".max_size") ? allowed[SIZE] : NULL;
}

static int explain_level(const struct level_configs *levels, const char *name, const char *value,
			 int err, struct ckpt_error *error)
{
	int len = (int)strcspn(name, ".");
	char of[LEVEL_CONFIG_NAME_MAX + 1];

	snprintf(of, sizeof(of), "%.*s", len, name);
	if (err == -EINVAL && !name[len])
		return error_set(error, err,
				 "level.%.40s: %.100s is no level (posix:DIRECTORY, partner, "
				 "partner:NODE or erasure:K+M; its name of letters, digits, '_' "
				 "and '-', not L1)",
				 name, value);
	if (err == -EINVAL)
		return error_set(error, err, "level.%.40s: %.100s is no value for it (%s)", name,
				 value, allowed_of_level(name));
	if (allowed_of_level(name) && level_configs_find(levels, of) < 0)
		return error_set(error, err,
				 "level.%.40s: there is no level %.40s yet: level.%.40s = PLACE "
				 "has to come first",
				 name, of, of);
	return error_set(error, err, "level.%.40s: no such setting", name);
}

static int explain_unknown(const char *name, int err, struct ckpt_error *error)
{
	struct typo typo = { .wanted = name };
	char hint[64];

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		typo_try(&typo, settings[i].name);
	return error_set(error, err, "%.40s: no such setting%s", name,
			 typo_hint(&typo, hint, sizeof(hint)));
}

int config_explain(const struct config *config, const char *name, const char *value, int err,
		   struct ckpt_error *error)
{
	const struct setting *s = config_find(name);

	if (err == -E2BIG)
		return error_set(error, err, "%.40s: too many levels, there may be %d", name,
				 LEVEL_CONFIGS_MAX);
	if (err != -ENOENT && err != -EINVAL)
		return error_set(error, err, "%.40s: %s", name, strerror(-err));
	if (!strncmp(name, OF_LEVELS, strlen(OF_LEVELS)))
		return explain_level(&config->levels, name + strlen(OF_LEVELS), value, err, error);
	if (!s)
		return explain_unknown(name, err, error);
	return error_set(error, err, "%.40s: %.100s is no value for it (%s)", name, value,
			 allowed[s->kind]);
}

/* Use the file of ckptd's own build tree, or that in its prefix. */
static int default_place(struct config *config, const char *name,
			 const char *const places[2], const char *otherwise)
{
	char path[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	size_t i;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	for (i = 0; slash && i < 2; i++) {
		strcpy(slash, places[i]);
		if (!access(path, X_OK))
			return config_set(config, name, path);
	}
	return config_set(config, name, otherwise);
}

static int default_places(struct config *config)
{
	static const char *const shim[] = {
		"/ckpt-shim", "/../libexec/stillpoint/ckpt-shim",
	};
	static const char *const mpi_dir[] = { "/../lib/mpi", "/../lib/stillpoint/mpi" };
	static const char *const lower[] = {
		"/../libexec/ckpt-lower", "/../libexec/stillpoint/ckpt-lower",
	};
	int err;

	err = default_place(config, "shim", shim, "/usr/libexec/stillpoint/ckpt-shim");
	if (!err)
		err = default_place(config, "mpi_dir", mpi_dir, "/usr/lib/stillpoint/mpi");
	return err ? err : default_place(config, "lower", lower,
					 "/usr/libexec/stillpoint/ckpt-lower");
}

static int default_node(struct config *config)
{
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) || host_name_check(host))
		strcpy(host, "localhost");
	return config_set(config, "node", host);
}

int config_init(struct config *config)
{
	size_t i;
	int err = 0;

	memset(config, 0, sizeof(*config));
	for (i = 0; i < ARRAY_SIZE(settings) && !err; i++) {
		if (settings[i].value)
			err = config_set(config, settings[i].name, settings[i].value);
	}
	if (!err)
		err = default_places(config);
	if (!err)
		err = default_node(config);
	if (err)
		config_done(config);
	return err;
}

void config_done(struct config *config)
{
	size_t i;

	level_configs_done(&config->levels);
	free(config->job_keys_dir);
	free(config->secret);
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		char **field = (char **)((char *)config + settings[i].offset);

		if (settings[i].kind < NUMBER) {
			free(*field);
			*field = NULL;
		}
	}
}

/* Cut leading and trailing blanks, in place. */
static char *config_trim(char *text)
{
	char *end = text + strlen(text);

	while (isspace((unsigned char)*text))
		text++;
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* The line that had the setting before; 0: none, and @seen remembers this line. */
static unsigned int seen_before(json_t *seen, const char *name, unsigned int line)
{
	json_int_t before = json_integer_value(json_object_get(seen, name));

	if (!before)
		json_object_set_new(seen, name, json_integer(line));
	return (unsigned int)before;
}

static int parse_line(struct config *config, char *line, json_t *seen, unsigned int number,
		      struct ckpt_error *error)
{
	char *comment = strchr(line, '#');
	char *equals, *name, *value;
	unsigned int before;
	int err;

	if (comment)
		*comment = '\0';
	line = config_trim(line);
	if (!*line)
		return 0;
	equals = strchr(line, '=');
	if (equals)
		*equals = '\0';
	name = config_trim(line);
	value = equals ? config_trim(equals + 1) : "";
	if (!*value)
		return error_set(error, -EINVAL, "%.100s: NAME = VALUE is expected", name);
	err = config_set(config, name, value);
	if (err)
		return config_explain(config, name, value, err, error);
	before = seen_before(seen, name, number);
	return before ? error_set(error, -EEXIST, "%s is there twice (line %u)", name, before) : 0;
}

static int parse_lines(struct config *config, const char *text, size_t len, json_t *seen,
		       unsigned int *number, struct ckpt_error *error)
{
	char line[PATH_MAX];
	int err = 0;

	while (len && !err) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		++*number;
		if (n < sizeof(line) && !memchr(text, '\0', n)) {
			memcpy(line, text, n);
			line[n] = '\0';
			err = parse_line(config, line, seen, *number, error);
		} else {
			err = error_set(error, -EINVAL, "the line is too long, or is not text");
		}
		n += end ? 1 : 0;
		text += n;
		len -= n;
	}
	return err;
}

int config_parse(struct config *config, const char *text, size_t len, unsigned int *ret_line,
		 struct ckpt_error *error)
{
	json_t *seen = json_object();
	int err;

	*ret_line = 0;
	err = parse_lines(config, text, len, seen, ret_line, error);
	json_decref(seen);
	return err;
}

int config_load(struct config *config, const char *path, struct ckpt_error *error)
{
	_cleanup_free_ char *text = malloc(FILE_MAX);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ckpt_error cause;
	unsigned int line;
	ssize_t n;
	int err;

	if (fd < 0)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	n = text ? read(fd, text, FILE_MAX) : -1;
	if (n < 0 || n == FILE_MAX)
		return error_set(error, -EINVAL, "%s: cannot be read, or is too long", path);
	err = config_parse(config, text, (size_t)n, &line, &cause);
	return err ? error_set(error, err == -ENOENT ? -EINVAL : err, "%s:%u: %s",
			       error_path_tail(path), line, cause.text) : 0;
}
