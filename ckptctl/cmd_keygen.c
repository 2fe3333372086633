// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl keygen: a key pair for this node, or with --encryption-key one for images.
 *
 * The secret goes into a file that only root may read, and never leaves the node. Standard
 * output gets only the node's line for the hosts file, so that >> can append it. The verb needs
 * no ckptd.
 *
 * The key for images is 32 random bytes in the named file. keygen never replaces such a file:
 * nobody could read the images written with the old key any more.
 */
#include "base/error.h"
#include "ckptctl/cli_path.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/key.h"
#include "hosts/hosts.h"
#include "base/outcome.h"

#define DIR_DEFAULT "/etc/stillpoint"

static const struct option longs[] = {
	{ "dir", required_argument, NULL, 'd' },
	{ "node", required_argument, NULL, 'N' },
	{ "address", required_argument, NULL, 'a' },
	{ "force", no_argument, NULL, 'f' },
	{ "show", no_argument, NULL, 's' },
	{ NULL }
};

struct keygen {
	const char *dir;
	const char *address;
	char node[HOST_NAME_SIZE + 1];
	bool force;
	bool show;
	bool given;	/* the user gave at least one of these options */
};

static int cmd_keygen_check(struct cli *cli, struct keygen *k)
{
	char address[256];
	uint16_t port;

	if (!k->node[0] && gethostname(k->node, sizeof(k->node) - 1))
		k->node[0] = '\0';
	if (host_name_check(k->node))
		return cli_usage(cli,
				 "%s is no name of a node: give one with --node, and the same in "
				 "ckptd.conf",
				 k->node[0] ? k->node : "the host's name");
	if (!k->address)
		k->address = k->node;
	if (host_address_parse(k->address, address, &port))
		return cli_usage(cli, "%s is no ADDRESS[:PORT]", k->address);
	return 0;
}

static json_t *cmd_keygen_failure(const struct keygen *k, const char *path, int err,
				  const struct ckpt_error *error)
{
	if (err == -EEXIST)
		return outcome_error(err,
				     "%s exists: ckptctl keygen --show prints its line for the "
				     "hosts file; --force makes a new key, and then the line has "
				     "to be replaced on all nodes",
				     path);
	if (err == -ENOENT && !k->show)
		return outcome_error(err, "the directory %s does not exist", k->dir);
	if (err == -EACCES || err == -EPERM)
		return outcome_error(err,
				     "%s (run it as root, or name another directory with --dir)",
				     error->text);
	return outcome_error(err, "%s", error->text);
}

static json_t *cmd_keygen_make(const struct keygen *k)
{
	struct ckpt_error error = {};
	char path[PATH_MAX], text[NODE_KEY_TEXT];
	struct node_key key;
	int err;

	snprintf(path, sizeof(path), "%s/node.key", k->dir);
	/* create only the default directory: another name may be mistyped */
	if (!k->show && !strcmp(k->dir, DIR_DEFAULT) && mkdir(k->dir, 0755) && errno != EEXIST)
		return outcome_error(-errno,
				     "%s: %s (run it as root, or name another directory with "
				     "--dir)",
				     k->dir, strerror(errno));
	err = k->show ? node_key_load(path, &key, &error) :
	      node_key_create(path, k->force, &key, &error);
	if (err)
		return cmd_keygen_failure(k, path, err, &error);
	node_key_text(key.public, text);
	node_key_wipe(&key);
	return outcome_ok(json_pack("{s:s, s:s, s:s, s:s, s:o}", "file", path,
				    "node", k->node, "address", k->address,
				    "public", text, "line",
				    json_sprintf("%s %s %s", k->node, k->address, text)));
}

static void cmd_keygen_print(struct cli *cli, json_t *result)
{
	puts(cli_str(result, "line"));
}

static void cmd_keygen_next(const json_t *outcome, const struct keygen *k)
{
	const json_t *result = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome) || k->show)
		return;
	cli_say("the secret key is in %s, for this node alone", cli_str(result, "file"));
	cli_say("put the line above into %s (%s/hosts by default) with those of the other nodes, "
		"check the address, copy that file to all nodes, and restart ckptd",
		"the hosts file", k->dir);
}

static void print_encryption(struct cli *cli, json_t *result)
{
	printf("key %s in %s\n", cli_str(result, "key"), cli_str(result, "file"));
}

static json_t *cmd_keygen_encryption(const char *path)
{
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	uint8_t id[16];
	char hex[2 * sizeof(id) + 1];
	int err;

	err = image_key_create(path, &error);
	if (err == -EEXIST)
		return outcome_error(err,
				     "%s exists, and is not replaced: without it nobody could read "
				     "the images that were written with it",
				     path);
	if (!err)
		err = image_key_secret_only(path, &key, &error);
	if (err)
		return outcome_error(err, "%s", error.text);
	image_key_secret_id(key, id);
	image_key_destroy(key);
	sodium_bin2hex(hex, sizeof(hex), id, sizeof(id));
	return outcome_ok(json_pack("{s:s, s:s}", "file", path, "key", hex));
}

static int make_encryption(struct cli *cli, const struct keygen *k)
{
	int status;

	if (k->given)
		return cli_usage(cli, "--encryption-key makes another key, by no other option");
	if (cli->secret[0] != '/')
		return cli_usage(cli,
				 "%s is no absolute path: a key is made as a file, and keyctl padd "
				 "user NAME @u <FILE puts it into the keyring",
				 cli->secret);
	status = cli_finish(cli, cmd_keygen_encryption(cli->secret), print_encryption);
	fflush(stdout);
	if (status == CLI_DONE && !cli->json)
		cli_say("keep a copy of it where images are not; encryption_key = %s in ckptd.conf "
			"of all nodes has images of jobs encrypted",
			cli->secret);
	return status;
}

static int cmd_keygen_take_option(struct cli *cli, struct keygen *k, int c)
{
	k->given = true;
	switch (c) {
	case 'd':
		k->dir = optarg;
		return cli_path_given(cli, "--dir", optarg);
	case 'N':
		if (!*optarg)
			return cli_usage(cli, "--node: '' is no name of a node");
		snprintf(k->node, sizeof(k->node), "%s", optarg);
		return 0;
	case 'a':
		k->address = optarg;
		return 0;
	case 'f':
		k->force = true;
		return 0;
	case 's':
		k->show = true;
		return 0;
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_keygen_run(struct cli *cli, int argc, char **argv)
{
	struct keygen k = { .dir = DIR_DEFAULT };
	json_t *outcome;
	int c, status;

	while ((c = cli_getopt(cli, argc, argv, "d:N:a:fs", longs)) != -1) {
		status = cmd_keygen_take_option(cli, &k, c);
		if (status)
			return status;
	}
	if (optind < argc)
		return cli_usage(cli, "%s is too much", argv[optind]);
	if (k.force && k.show)
		return cli_usage(cli, "--force and --show exclude each other");
	if (cli->secret)
		return make_encryption(cli, &k);
	status = cmd_keygen_check(cli, &k);
	if (status)
		return status;
	outcome = cmd_keygen_make(&k);
	json_incref(outcome);
	status = cli_finish(cli, outcome, cmd_keygen_print);
	fflush(stdout);
	if (!cli->json)
		cmd_keygen_next(outcome, &k);
	json_decref(outcome);
	return status;
}

const struct cli_verb cmd_keygen = {
	.name = "keygen",
	.run = cmd_keygen_run,
	.args = "[--node NAME] [--address ADDRESS[:PORT]] [--dir DIR] [--force | --show] | "
		"--encryption-key FILE",
	.help = "make the key by which other nodes know this one",
	.options = "  -N, --node NAME     name of this node; default: the host's\n"
		   "  -a, --address ADDRESS[:PORT]\n"
		   "                      where other nodes reach it; default: the name\n"
		   "  -d, --dir DIR       where the secret key goes; default " DIR_DEFAULT "\n"
		   "  -f, --force         replace the key that is there\n"
		   "  -s, --show          print the line of the key that is there\n",
};
