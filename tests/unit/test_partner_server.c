// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is given a ticket for images that are kept here, and how it is served.  Nodes, the door and
 * workers are played: what a "worker" does is done at once, in this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "image/key.h"
#include "levels/partner_link.h"
#include "levels/partner_serve.h"
#include "supervisor/net/nodes.h"
#include "base/outcome.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/partner_server.h"
#include "supervisor/storage/partner_listener.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/control/worker.h"

static struct common common_of_test = { .config = { .node = "n1", .store = "/nowhere",
	.store_encrypt = true } };
static struct partner_server *store;
static peer_verb_fn on_store;
static partner_listener_fn on_hello;
static void *hello_arg;
static json_t *question, *answer;
static unsigned int served, stepped_back;
static bool read_only;			/* what was served */

/* ------------------------------------------------------------ what is played */

struct peer *nodes_peer(struct nodes *nodes)
{
	return NULL;
}

struct peer_asks *nodes_asks(struct nodes *nodes)
{
	return (struct peer_asks *)&on_store;
}

int peer_verb(struct peer_asks *asks, const char *verb, peer_verb_fn fn, void *arg)
{
	assert_string_equal(verb, "store");
	on_store = fn;
	return 0;
}

unsigned int peer_question_from(const struct peer_question *q)
{
	return 1;
}

json_t *peer_question_args(const struct peer_question *q)
{
	return question;
}

void peer_question_answer(struct peer_question *q, json_t *outcome)
{
	answer = outcome;
}

int peer_find(const struct peer *peer, const char *name)
{
	return !strcmp(name, "n1") ? 0 : !strcmp(name, "n2") ? 1 : -ENOENT;
}

void peer_node(const struct peer *peer, unsigned int node, struct peer_node *ret_node)
{
	*ret_node = (struct peer_node) { .name = node ? "n2" : "n1" };
}

int partner_listener_open(const struct partner_listener_options *options, partner_listener_fn fn,
			  void *arg, struct partner_listener **ret_door)
{
	on_hello = fn;
	hello_arg = arg;
	*ret_door = (struct partner_listener *)&on_hello;
	return 0;
}

void partner_listener_close(struct partner_listener *door)
{
}

uint16_t partner_listener_port(const struct partner_listener *door)
{
	return 4711;
}

int worker_start(const struct worker_parent *parent, const struct worker_spec *spec,
		 const struct channel_ops *ops, void *arg, struct worker **ret_worker)
{
	*ret_worker = (struct worker *)spec;
	ops->outcome(spec->kind->run(NULL, spec->arg), arg);
	*ret_worker = NULL;
	return 0;
}

void worker_kill(const struct worker *w, int signo)
{
}

void worker_abort(struct worker *w)
{
}

void worker_step_back(void)
{
	assert_int_equal(served, 0);
	stepped_back++;
}

int partner_hello_check(const struct partner_hello *hello, const uint8_t token[PARTNER_TOKEN_BYTES],
			bool plain)
{
	return 0;
}

int partner_serve(int fd, const struct partner_hello *hello,
		  const uint8_t token[PARTNER_TOKEN_BYTES],
		  const struct partner_serve_options *options, struct ckpt_error *error)
{
	served++;
	read_only = options->read_only;
	return 0;
}

int partner_room_sweep(const char *dir, struct ckpt_error *error)
{
	return 0;
}

bool level_image_parse(const char *name, char *label, size_t size, int64_t *ret_generation,
		       int *ret_part)
{
	return false;
}

char *level_image_dir(const struct catalog *catalog, const char *label, int64_t generation,
		      int part)
{
	return NULL;
}

/* --------------------------------------------------------------------- tests */

static int setup(void **state)
{
	static char key[] = "/tmp/test_store.XXXXXX";
	struct ckpt_error error;

	if (!mkdtemp(key) || asprintf(&common_of_test.config.key, "%s/key", key) < 0)
		return -1;
	*state = key;
	return image_key_create(common_of_test.config.key, &error) ||
	       partner_server_open(&common_of_test, &store);
}

static int teardown(void **state)
{
	partner_server_close(store);
	unlink(common_of_test.config.key);
	free(common_of_test.config.key);
	return rmdir(*state);
}

/* n2 asks; @args goes. The answer is good until the next. */
static const json_t *ask(json_t *args)
{
	json_decref(answer);
	answer = NULL;
	question = args;
	on_store(NULL, store);
	json_decref(args);
	assert_non_null(answer);
	return answer;
}

static json_t *question_of(int version, bool reads)
{
	return json_pack("{s:i, s:s, s:b, s:b}", "version", version, "owner", "n2", "read_only",
			 reads, "plain", false);
}

static const char *refusal(const json_t *outcome)
{
	return json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));
}

/* By its version alone: what else another one asks with, this one need not understand. */
static void another_version(void **state)
{
	const json_t *outcome = ask(question_of(PARTNER_VERSION + 1, false));

	assert_false(outcome_is_ok(outcome));
	assert_non_null(strstr(refusal(outcome), "install the same version on both nodes"));
	assert_null(json_object_get(outcome, "result"));
	outcome = ask(json_pack("{s:i, s:s}", "version", PARTNER_VERSION - 1, "of", "before"));
	assert_false(outcome_is_ok(outcome));
	assert_non_null(strstr(refusal(outcome), "install the same version on both nodes"));
	outcome = ask(json_pack("{s:s}", "version", "2"));
	assert_non_null(strstr(refusal(outcome), "bad arguments"));
	assert_true(outcome_is_ok(ask(question_of(PARTNER_VERSION, false))));
	json_decref(answer);
	answer = NULL;
}

static void serve(bool reads)
{
	struct partner_hello hello = {};
	json_t *ticket = json_object_get(ask(question_of(PARTNER_VERSION, reads)), "result");
	const char *id = json_string_value(json_object_get(ticket, "id"));

	assert_non_null(id);
	assert_int_equal(sodium_hex2bin(hello.id, sizeof(hello.id), id, strlen(id), NULL, NULL,
					NULL),
			 0);
	served = stepped_back = 0;
	on_hello(&hello, dup(0), hello_arg);
	assert_int_equal(served, 1);
	assert_int_equal(read_only, reads);
	json_decref(answer);
	answer = NULL;
}

/*
 * A copy that comes in the background must not slow down the jobs here; a restart waits for
 * what it reads.
 */
static void who_writes_steps_back(void **state)
{
	serve(false);
	assert_int_equal(stepped_back, 1);
	serve(true);
	assert_int_equal(stepped_back, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_version),
		cmocka_unit_test(who_writes_steps_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
