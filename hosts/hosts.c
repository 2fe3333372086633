// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hosts file; see hosts.h for its grammar.
 *
 * The file says which nodes this node trusts, so nothing in it is guessed: a line that is
 * not understood, a name or key that appears twice, or a file that others may write is
 * refused, with the line's number, and none of the file is used. No names are resolved
 * here: that may take long, and is done when a connection is made.
 */
#include "hosts/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_SIZE 1024

struct parser {
	struct hosts hosts;
	unsigned int room;
	unsigned int line;
	struct ckpt_error *error;
};

__attribute__((format(printf, 3, 4)))
static int complain(struct parser *p, int err, const char *format, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_set(p->error, err, "line %u: %s", p->line, text);
}

int host_name_check(const char *name)
{
	const char *c;

	for (c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return -EINVAL;
	}
	return c != name && c - name < HOST_NAME_SIZE ? 0 : -EINVAL;
}

static int parse_port(const char *text, uint16_t *ret_port)
{
	unsigned int port = 0;
	const char *c;

	for (c = text; isdigit((unsigned char)*c) && c - text < 5; c++)
		port = port * 10 + (unsigned int)(*c - '0');
	if (c == text || *c || !port || port > UINT16_MAX)
		return -EINVAL;
	*ret_port = (uint16_t)port;
	return 0;
}

int host_address_parse(const char *text, char *ret_address, uint16_t *ret_port)
{
	const char *end, *set = "0123456789abcdefABCDEF:.";
	size_t len;

	if (*text == '[') {
		end = text + 1 + strspn(text + 1, set);
		if (*end != ']' || end - text < 3)
			return -EINVAL;
		end++;
	} else {
		for (end = text; isalnum((unsigned char)*end) || *end == '.' || *end == '-';)
			end++;
	}
	len = (size_t)(end - text);
	if (!len || len >= sizeof(((struct host *)0)->address))
		return -EINVAL;
	if (*end && (*end != ':' || parse_port(end + 1, ret_port)))
		return -EINVAL;
	if (!*end)
		*ret_port = HOSTS_PORT;
	memcpy(ret_address, text, len);
	ret_address[len] = '\0';
	return 0;
}

int hosts_find(const struct hosts *hosts, const char *name)
{
	unsigned int i;

	for (i = 0; i < hosts->nr; i++) {
		if (!strcmp(hosts->host[i].name, name))
			return (int)i;
	}
	return -ENOENT;
}

int hosts_find_key(const struct hosts *hosts, const uint8_t key[NODE_KEY_BYTES])
{
	unsigned int i;

	for (i = 0; i < hosts->nr; i++) {
		if (!memcmp(hosts->host[i].key, key, NODE_KEY_BYTES))
			return (int)i;
	}
	return -ENOENT;
}

static int hosts_add(struct parser *p, const struct host *host)
{
	struct hosts *hosts = &p->hosts;
	int i;

	if (hosts_find(hosts, host->name) >= 0)
		return complain(p, -EINVAL, "%s is there twice", host->name);
	i = hosts_find_key(hosts, host->key);
	if (i >= 0)
		return complain(p, -EINVAL,
				"%s has the key of %s: every node has one of its own (ckptctl "
				"keygen)",
				host->name, hosts->host[i].name);
	if (hosts->nr == HOSTS_MAX)
		return complain(p, -E2BIG, "more than %d nodes", HOSTS_MAX);
	if (hosts->nr == p->room) {
		unsigned int room = p->room ? p->room * 2 : 16;
		struct host *more = realloc(hosts->host, room * sizeof(*more));

		if (!more)
			return complain(p, -ENOMEM, "out of memory");
		hosts->host = more;
		p->room = room;
	}
	hosts->host[hosts->nr++] = *host;
	return 0;
}

/* Parse @word, "domain=NAME" or "root=yes". */
static int parse_option(struct parser *p, const char *word, struct host *host)
{
	if (!strncmp(word, "domain=", 7)) {
		if (host->domain[0] || host_name_check(word + 7))
			return complain(p, -EINVAL, "%.70s: no name of a domain, or a second one",
					word);
		strcpy(host->domain, word + 7);
		return 0;
	}
	if (!strcmp(word, "root=yes") || !strcmp(word, "root=no")) {
		host->root = word[5] == 'y';
		return 0;
	}
	return complain(p, -EINVAL,
			"%.40s after the key is too much: domain=NAME and root=yes may be there",
			word);
}

static int parse_line(struct parser *p, char *line)
{
	char *name, *address, *key, *rest, *save;
	struct host host = { 0 };

	name = strtok_r(line, " \t\r", &save);
	if (!name || *name == '#')
		return 0;
	address = strtok_r(NULL, " \t\r", &save);
	key = strtok_r(NULL, " \t\r", &save);
	rest = strtok_r(NULL, " \t\r", &save);
	if (!key || *address == '#' || *key == '#')
		return complain(p, -EINVAL,
				"NAME ADDRESS[:PORT] KEY is needed, as ckptctl keygen prints it");
	for (; rest && *rest != '#'; rest = strtok_r(NULL, " \t\r", &save)) {
		if (parse_option(p, rest, &host))
			return -EINVAL;
	}
	if (host_name_check(name))
		return complain(p, -EINVAL, "%.70s is no name of a node", name);
	if (host_address_parse(address, host.address, &host.port))
		return complain(p, -EINVAL, "%.70s is no ADDRESS[:PORT]", address);
	if (node_key_parse(key, host.key))
		return complain(p, -EINVAL,
				"%.50s is no public key, which has 44 characters of base64", key);
	strcpy(host.name, name);
	return hosts_add(p, &host);
}

int hosts_parse(const char *text, size_t len, struct hosts *ret_hosts, struct ckpt_error *error)
{
	struct parser p = { .error = error };
	char line[LINE_SIZE];
	int err = 0;

	if (len > HOSTS_FILE_MAX)
		return error_set(error, -E2BIG, "more than %u bytes", HOSTS_FILE_MAX);
	while (len && !err) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		p.line++;
		if (n >= sizeof(line) || memchr(text, '\0', n)) {
			err = complain(&p, -EINVAL, "too long, or not text");
			break;
		}
		memcpy(line, text, n);
		line[n] = '\0';
		err = parse_line(&p, line);
		n += end ? 1 : 0;
		text += n;
		len -= n;
	}
	if (err)
		hosts_done(&p.hosts);
	else
		*ret_hosts = p.hosts;
	return err;
}

static int hosts_check_file(int fd, const char *path, struct ckpt_error *error)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(error, -EINVAL, "%s: not a regular file", path);
	if (is_of_others(&st))
		return error_set(error, -EPERM,
				 "%s: others than root may write it, and it says whom this node "
				 "trusts: chown root, chmod 644",
				 path);
	return 0;
}

int hosts_load(const char *path, struct hosts *ret_hosts, struct ckpt_error *error)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = malloc(HOSTS_FILE_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;
	struct ckpt_error cause;
	int err;

	if (fd < 0 || !text) {
		err = fd < 0 ? -errno : -ENOMEM;
		return error_set(error, err, "%s: %s", path, strerror(-err));
	}
	err = hosts_check_file(fd, path, error);
	while (!err && n && len <= HOSTS_FILE_MAX) {
		n = read(fd, text + len, HOSTS_FILE_MAX + 1 - len);
		if (n < 0)
			err = error_set(error, -errno, "%s: %s", path, strerror(errno));
		else
			len += (size_t)n;
	}
	if (err)
		return err;
	err = hosts_parse(text, len, ret_hosts, &cause);
	return err ? error_set(error, err, "%s: %s", error_path_tail(path), cause.text) : 0;
}

void hosts_done(struct hosts *hosts)
{
	free(hosts->host);
	*hosts = (struct hosts) { 0 };
}
