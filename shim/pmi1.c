// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMI-1, server side, without descriptors; see pmi1.h.
 *
 * A rank is OUT until "init", IN until "finalize", OUT again after it: a rank may
 * be a script that runs one MPI program after the other.  A rank in a barrier
 * sends nothing until it is let go.  The barrier is complete when all ranks of
 * this node wait; in a job of several nodes a fence over the nodes follows.
 */
#include "shim/pmi1.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/pmi1_kvs.h"

struct rank {
	bool in;		/* between init and finalize */
	bool waits;		/* it is in a barrier */
	bool gone;
	bool spawns;		/* inside a multi-line command */
	size_t put;		/* bytes put since its "init" */
};

struct pmi1 {
	struct pmi1_config config;
	struct kvs *kvs;
	unsigned int nr_waiting;
	bool fencing;		/* fence() was called, fence_done() not yet */
	struct rank rank[];
};

struct line {
	const char *text;
	size_t len;
};

struct word {
	const char *at;		/* NULL: not there */
	size_t len;
};

/* ----------------------------------------------------------------- words */

/* The value of the first word "@name=…". */
static struct word find_word(const struct line *line, const char *name)
{
	const char *at = line->text, *end = at + line->len;
	size_t len = strlen(name);

	while (at < end) {
		const char *next = memchr(at, ' ', (size_t)(end - at));

		next = next ? next : end;
		if ((size_t)(next - at) > len && at[len] == '=' && !memcmp(at, name, len))
			return (struct word) { at + len + 1, (size_t)(next - at) - len - 1 };
		at = next < end ? next + 1 : end;
	}
	return (struct word) { NULL, 0 };
}

static bool word_is(struct word word, const char *text)
{
	return word.at && word.len == strlen(text) && !memcmp(word.at, text, word.len);
}

/* A decimal number up to @max; false if it is none. */
static bool word_number(struct word word, unsigned long max, unsigned long *ret_number)
{
	unsigned long number = 0;
	size_t i;

	if (!word.at || !word.len || word.len > 10)
		return false;
	for (i = 0; i < word.len; i++) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return false;
		number = number * 10 + (unsigned long)(word.at[i] - '0');
	}
	*ret_number = number;
	return number <= max;
}

__attribute__((format(printf, 3, 4)))
static void say(struct pmi1 *s, unsigned int index, const char *format, ...)
{
	char text[PMI1_LINE_MAX];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	s->config.ops->send(index, text, (size_t)n, s->config.arg);
}

/* -------------------------------------------------------------- commands */

static int do_init(struct pmi1 *s, unsigned int index, const struct line *line)
{
	bool known = word_is(find_word(line, "pmi_version"), "1");

	if (s->rank[index].in)
		return -EPROTO;
	s->rank[index].in = known;
	s->rank[index].put = 0;
	say(s, index, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
	    known ? 0 : -1);
	return 0;
}

static int do_get_maxes(struct pmi1 *s, unsigned int index, const struct line *line)
{
	say(s, index, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n",
	    PMI1_KVSNAME_MAX, PMI1_KEY_MAX, PMI1_VALUE_MAX);
	return 0;
}

static int do_get_appnum(struct pmi1 *s, unsigned int index, const struct line *line)
{
	const unsigned int *app_of = s->config.app_of;

	say(s, index, "cmd=appnum appnum=%u\n", app_of ? app_of[s->config.rank[index]] : 0);
	return 0;
}

static int do_get_universe_size(struct pmi1 *s, unsigned int index, const struct line *line)
{
	say(s, index, "cmd=universe_size size=%u\n", s->config.size);
	return 0;
}

static int do_get_my_kvsname(struct pmi1 *s, unsigned int index, const struct line *line)
{
	say(s, index, "cmd=my_kvsname kvsname=%s\n", s->config.kvsname);
	return 0;
}

/*
 * Programs run one after the other put the same keys, which costs no more room; a rank that puts
 * other keys each time is bounded by the sum over all keys.
 */
static bool has_room(const struct pmi1 *s, struct word key, struct word value)
{
	size_t old, len, all = (size_t)PMI1_PUTS_MAX * s->config.size;

	kvs_new(s->kvs, &len);
	if (len + key.len + value.len > all)
		return false;
	if (kvs_get(s->kvs, key.at, key.len, &old))
		return kvs_bytes(s->kvs) - old + value.len <= all;
	return kvs_bytes(s->kvs) + key.len + value.len <= all;
}

static int do_put(struct pmi1 *s, unsigned int index, const struct line *line)
{
	struct word name = find_word(line, "kvsname"), key = find_word(line, "key");
	struct word value = find_word(line, "value");
	struct rank *rank = &s->rank[index];
	int err;

	if (!rank->in || !word_is(name, s->config.kvsname) || !key.at || !value.at)
		return -EPROTO;
	if (key.len + value.len > PMI1_PUTS_MAX - rank->put || !has_room(s, key, value))
		return -ENOSPC;
	err = (s->config.alone ? kvs_put : kvs_put_new)(s->kvs, key.at, key.len, value.at,
							value.len);
	if (err == -ENOMEM)
		return err;
	if (err) {
		say(s, index, "cmd=put_result rc=-1 msg=key_or_value_too_long\n");
		return 0;
	}
	rank->put += key.len + value.len;
	say(s, index, "cmd=put_result rc=0 msg=success\n");
	return 0;
}

static int do_get(struct pmi1 *s, unsigned int index, const struct line *line)
{
	struct word name = find_word(line, "kvsname"), key = find_word(line, "key");
	const char *value;
	size_t vlen = 0;

	if (!s->rank[index].in || !word_is(name, s->config.kvsname) || !key.at)
		return -EPROTO;
	value = kvs_get(s->kvs, key.at, key.len, &vlen);
	if (value)
		say(s, index, "cmd=get_result rc=0 msg=success value=%.*s\n", (int)vlen,
		    value);
	else
		say(s, index, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	return 0;
}

static void pmi1_let_go(struct pmi1 *s)
{
	unsigned int i;

	s->nr_waiting = 0;
	s->fencing = false;
	for (i = 0; i < s->config.nr; i++)
		s->rank[i].waits = false;
	for (i = 0; i < s->config.nr; i++)
		say(s, i, "cmd=barrier_out\n");
}

static int do_barrier_in(struct pmi1 *s, unsigned int index, const struct line *line)
{
	const void *data;
	size_t len;

	if (!s->rank[index].in)
		return -EPROTO;
	s->rank[index].waits = true;
	if (++s->nr_waiting < s->config.nr)
		return 0;
	if (s->config.alone) {
		pmi1_let_go(s);
		return 0;
	}
	s->fencing = true;
	data = kvs_new(s->kvs, &len);
	s->config.ops->fence(data, len, s->config.arg);
	return 0;
}

static int do_finalize(struct pmi1 *s, unsigned int index, const struct line *line)
{
	if (!s->rank[index].in)
		return -EPROTO;
	s->rank[index].in = false;
	say(s, index, "cmd=finalize_ack\n");
	return 0;
}

static int do_abort(struct pmi1 *s, unsigned int index, const struct line *line)
{
	struct word word = find_word(line, "exitcode");
	bool negative = word.at && word.len && *word.at == '-';
	unsigned long code;

	if (negative)
		word = (struct word) { word.at + 1, word.len - 1 };
	if (!word_number(word, 0xffffffff, &code))
		code = 1;
	else if (negative)
		code = 0 - code;
	/* Keep the low 8 bits, as exit() does. */
	s->config.ops->abort(index, (int)(code & 0xff), s->config.arg);
	return 0;
}

static int do_publish_name(struct pmi1 *s, unsigned int index, const struct line *line)
{
	say(s, index, "cmd=publish_result rc=-1 msg=not_supported\n");
	return 0;
}

static int do_unpublish_name(struct pmi1 *s, unsigned int index, const struct line *line)
{
	say(s, index, "cmd=unpublish_result rc=-1 msg=not_supported\n");
	return 0;
}

static int do_lookup_name(struct pmi1 *s, unsigned int index, const struct line *line)
{
	say(s, index, "cmd=lookup_result rc=-1 msg=not_supported\n");
	return 0;
}

#define COMMANDS(X) \
	X(init) X(get_maxes) X(get_appnum) X(get_universe_size) X(get_my_kvsname) \
	X(put) X(get) X(barrier_in) X(finalize) X(abort) X(publish_name) \
	X(unpublish_name) X(lookup_name)

static const struct {
	const char *name;
	int (*fn)(struct pmi1 *s, unsigned int index, const struct line *line);
} commands[] = {
#define X(name) { #name, do_##name },
	COMMANDS(X)
#undef X
};

/* Drop the lines of a spawn command, and refuse the command at its end. */
static int in_spawn(struct pmi1 *s, unsigned int index, const struct line *line)
{
	if (line->len == 6 && !memcmp(line->text, "endcmd", 6)) {
		s->rank[index].spawns = false;
		say(s, index, "cmd=spawn_result rc=-1 errcodes=-1\n");
	}
	return 0;
}

int pmi1_line(struct pmi1 *s, unsigned int index, const char *text, size_t len)
{
	const struct line line = { text, len };
	struct word cmd = find_word(&line, "cmd");
	size_t i;

	/* In a barrier only "abort" is allowed: a signal handler or another thread may send it. */
	if ((s->rank[index].waits && !word_is(cmd, "abort")) || memchr(text, '\0', len))
		return -EPROTO;
	if (s->rank[index].spawns)
		return in_spawn(s, index, &line);
	if (word_is(find_word(&line, "mcmd"), "spawn")) {
		s->rank[index].spawns = true;
		return 0;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (word_is(cmd, commands[i].name))
			return commands[i].fn(s, index, &line);
	}
	return -EPROTO;
}

/* ------------------------------------------------------------------ life */

int pmi1_create(const struct pmi1_config *config, struct pmi1 **ret_server)
{
	struct pmi1 *s = calloc(1, sizeof(*s) + config->nr * sizeof(s->rank[0]));
	static const char mapping[] = "PMI_process_mapping";
	int err = -ENOMEM;

	if (s) {
		s->config = *config;
		s->kvs = kvs_create(PMI1_KEY_MAX - 1, PMI1_VALUE_MAX - 1);
	}
	if (s && s->kvs)
		err = config->mapping ? kvs_put(s->kvs, mapping, sizeof(mapping) - 1,
						config->mapping, strlen(config->mapping)) : 0;
	if (err) {
		pmi1_destroy(s);
		return err;
	}
	*ret_server = s;
	return 0;
}

void pmi1_destroy(struct pmi1 *s)
{
	if (!s)
		return;
	kvs_destroy(s->kvs);
	free(s);
}

void pmi1_greet(struct pmi1 *s, unsigned int index)
{
	say(s, index, "cmd=initack\ncmd=set size=%u\ncmd=set rank=%u\ncmd=set debug=0\n",
	    s->config.size, s->config.rank[index]);
}

int pmi1_fence_done(struct pmi1 *s, const void *data, size_t len)
{
	int err;

	if (!s->fencing)
		return -EPROTO;
	err = kvs_put_block(s->kvs, data, len);
	if (err)
		return err;
	kvs_new_clear(s->kvs);
	pmi1_let_go(s);
	return 0;
}

bool pmi1_is_member(const struct pmi1 *s, unsigned int index)
{
	return s->rank[index].in;
}

void pmi1_gone(struct pmi1 *s, unsigned int index)
{
	s->rank[index].gone = true;
}

bool pmi1_is_stuck(const struct pmi1 *s)
{
	unsigned int i;

	for (i = 0; i < s->config.nr && s->nr_waiting && !s->fencing; i++) {
		if (s->rank[i].gone)
			return true;
	}
	return false;
}

int pmi1_parse_initack(const char *text, size_t len, unsigned int *ret_token)
{
	const struct line line = { text, len };
	unsigned long token;

	if (!word_is(find_word(&line, "cmd"), "initack") ||
	    !word_number(find_word(&line, "pmiid"), 0x7fffffff, &token))
		return -EPROTO;
	*ret_token = (unsigned int)token;
	return 0;
}
