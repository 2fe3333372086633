// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options of MPI launchers; see mpiexec.h.
 *
 * An option of a launcher is understood, or is refused with what to use instead. None is ignored
 * that would change what the job does: a rank that is placed or bound in another way than the
 * user believes is a wrong result that nobody sees.
 */
#include "ckptctl/mpiexec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/ranks.h"

enum kind {
	KIND_RENAME,	/* text: ckptrun's name of it */
	KIND_NOTHING,	/* it changes nothing here */
	KIND_ALL,	/* a variable of all ranks, two words */
	KIND_OWN,	/* a variable of this program's ranks, two words */
	KIND_EXPORT,	/* NAME=VALUE, or NAME of ours, which all ranks have */
	KIND_MCA,	/* a parameter of Open MPI, two words */
	KIND_ONLY,	/* text: the words that it may have; advice: what to use for others */
	KIND_REFUSE,	/* advice: what to use instead */
};

#define USE_MAP		"say which ranks are on which node with --map 0-1:n1,2-3:n2; --hosts " \
			"alone gives each node an even block"
#define USE_CPUS	"start ckptrun by taskset -c LIST, whose processors the ranks share, and " \
			"say --bind-to core"
#define USE_ENV		"ranks get the whole environment of ckptrun: start it by env -i NAME=VALUE"

/* Names without their one or two dashes. */
static const struct launcher_option {
	const char *name;
	enum kind kind;
	const char *text;
	const char *advice;
} options[] = {
	{ "np", KIND_RENAME, "--ranks", NULL },
	{ "c", KIND_RENAME, "--ranks", NULL },
	{ "hosts", KIND_RENAME, "--hosts", NULL },
	{ "host", KIND_RENAME, "--hosts", NULL },
	{ "H", KIND_RENAME, "--hosts", NULL },
	{ "wdir", KIND_RENAME, "--chdir", NULL },
	{ "wd", KIND_RENAME, "--chdir", NULL },
	{ "tag-output", KIND_RENAME, "--label", NULL },
	{ "prepend-rank", KIND_RENAME, "--label", NULL },
	{ "oversubscribe", KIND_NOTHING, NULL, NULL },
	{ "allow-run-as-root", KIND_NOTHING, NULL, NULL },
	{ "genvall", KIND_NOTHING, NULL, NULL },
	{ "envall", KIND_NOTHING, NULL, NULL },
	{ "genv", KIND_ALL, NULL, NULL },
	{ "env", KIND_OWN, NULL, NULL },
	{ "x", KIND_EXPORT, NULL, NULL },
	{ "mca", KIND_MCA, NULL, NULL },
	{ "gmca", KIND_MCA, NULL, NULL },
	{ "bind-to", KIND_RENAME, "--bind-to", NULL },
	{ "map-by", KIND_RENAME, "--map-by", NULL },
	{ "rank-by", KIND_ONLY, "slot", USE_MAP },
	{ "binding", KIND_RENAME, "--bind-to", NULL },
	{ "bind-to-core", KIND_REFUSE, NULL, "say --bind-to core" },
	{ "bind-to-socket", KIND_REFUSE, NULL, "say --bind-to socket" },
	{ "npersocket", KIND_REFUSE, NULL, "say --map-by socket --bind-to core, and -n" },
	{ "cpus-per-proc", KIND_REFUSE, NULL, "say --map-by slot:PE=N" },
	{ "cpu-set", KIND_REFUSE, NULL, USE_CPUS },
	{ "cpu-list", KIND_REFUSE, NULL, USE_CPUS },
	{ "rankfile", KIND_REFUSE, NULL, USE_CPUS },
	{ "rf", KIND_REFUSE, NULL, USE_CPUS },
	{ "report-bindings", KIND_REFUSE, NULL, "each rank's are in /proc/PID/status, "
						"Cpus_allowed_list" },
	{ "nooversubscribe", KIND_REFUSE, NULL, "nothing limits the ranks of a node here" },
	{ "ppn", KIND_RENAME, "--ppn", NULL },
	{ "perhost", KIND_RENAME, "--ppn", NULL },
	{ "npernode", KIND_RENAME, "--ppn", NULL },
	{ "f", KIND_RENAME, "--hostfile", NULL },
	{ "hostfile", KIND_RENAME, "--hostfile", NULL },
	{ "machinefile", KIND_RENAME, "--hostfile", NULL },
	{ "default-hostfile", KIND_RENAME, "--hostfile", NULL },
	{ "genvnone", KIND_REFUSE, NULL, USE_ENV },
	{ "envnone", KIND_REFUSE, NULL, USE_ENV },
	{ "genvlist", KIND_REFUSE, NULL, USE_ENV },
	{ "envlist", KIND_REFUSE, NULL, USE_ENV },
	{ "configfile", KIND_REFUSE, NULL, "name the programs here, with : between them" },
	{ "app", KIND_REFUSE, NULL, "name the programs here, with : between them" },
};

/* The words that are left of one command line, and where they go. */
struct reading {
	struct cli *cli;
	const char *shorts;
	const struct option *longs;
	char **word;		/* the next one; NULL ends */
	bool first;		/* program */
	bool literal;		/* after --: no word is a launcher's any more */
	struct mpiexec_program *program;
};

/* ---------------------------------------------------------------- words */

static void mpiexec_put(struct mpiexec_program *program, char *word)
{
	program->argv[program->argc++] = word;
}

/* The launcher's option that @word, which begins with a dash, is; NULL: none. */
static const struct launcher_option *mpiexec_find(const char *word)
{
	const char *name = word + 1 + (word[1] == '-');
	size_t len = strcspn(name, "="), i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct launcher_option *option = &options[i];

		if (strlen(option->name) != len || memcmp(option->name, name, len))
			continue;
		/* one letter has one dash */
		if (len == 1 && word[1] == '-')
			continue;
		return option;
	}
	return NULL;
}

/* True if the option @word of ckptrun has its value in the next word. */
static bool mpiexec_takes_value(const struct reading *r, const char *word)
{
	const struct option *option;
	const char *letter, *known;

	if (word[1] == '-') {
		if (strchr(word, '='))
			return false;
		for (option = r->longs; option->name; option++)
			if (!strncmp(option->name, word + 2, strlen(word + 2)) &&
			    option->has_arg == required_argument)
				return true;
		return !strcmp(word, "--socket");
	}
	for (letter = word + 1; *letter; letter++) {
		known = strchr(r->shorts, *letter);
		if (known && known[1] == ':')
			return !letter[1];
	}
	return false;
}

/* The value of a launcher's option: behind =, or the next word; NULL after a message. */
static char *mpiexec_value(struct reading *r, char *option)
{
	char *equal = option[0] == '-' ? strchr(option, '=') : NULL;

	if (equal)
		return equal + 1;
	if (*r->word)
		return *r->word++;
	cli_usage(r->cli, "%s needs a value", option);
	return NULL;
}

/* ------------------------------------------------------------ variables */

/* A variable of one program's ranks; takes over @text. */
static int mpiexec_own(struct reading *r, char *text)
{
	unsigned int n = 0;

	while (r->program->variables[n])
		n++;
	if (n == MPIEXEC_VARIABLES_MAX) {
		free(text);
		return cli_usage(r->cli, "there are more than %d variables", n);
	}
	r->program->variables[n] = text;
	return 0;
}

/* Set a variable: of all ranks, or of the program's that the option stands before. */
static int mpiexec_variable(struct reading *r, const char *prefix, const char *name,
			    const char *value, bool own)
{
	char *text;

	if (!name || !value)
		return CLI_USAGE;
	if (strchr(name, '='))
		return cli_usage(r->cli, "%s: a variable is NAME VALUE, two words", name);
	if (asprintf(&text, "%s%s=%s", prefix, name, value) < 0)
		return CLI_FAILED;
	if (own || !r->first)
		return mpiexec_own(r, text);
	/* putenv() keeps it */
	return putenv(text) ? CLI_FAILED : 0;
}

static int mpiexec_export(struct reading *r, char *text)
{
	char *equal = text ? strchr(text, '=') : NULL;

	if (!text)
		return CLI_USAGE;
	if (!equal && !getenv(text))
		return cli_usage(r->cli, "-x %s: there is no such variable", text);
	if (!equal)
		return 0;
	*equal = '\0';
	return mpiexec_variable(r, "", text, equal + 1, false);
}

/* -------------------------------------------------------------- options */

static int mpiexec_only(struct reading *r, char *word, const struct launcher_option *option)
{
	const char *value = mpiexec_value(r, word);

	if (!value)
		return CLI_USAGE;
	if (!strcmp(value, option->text))
		return 0;
	return cli_usage(r->cli, "%.*s %s: %s", (int)strcspn(word, "="), word, value,
			 option->advice);
}

static int mpiexec_rename(struct reading *r, char *word, const struct launcher_option *option)
{
	char *equal = strchr(word, '=');

	mpiexec_put(r->program, (char *)option->text);
	if (!strcmp(option->text, "--label"))
		return 0;
	if (!equal && !*r->word)
		return cli_usage(r->cli, "%s needs a value", word);
	mpiexec_put(r->program, equal ? equal + 1 : *r->word++);
	return 0;
}

static int mpiexec_take(struct reading *r, char *word, const struct launcher_option *option)
{
	char *name, *value;

	switch (option->kind) {
	case KIND_RENAME:
		return mpiexec_rename(r, word, option);
	case KIND_NOTHING:
		return 0;
	case KIND_EXPORT:
		return mpiexec_export(r, mpiexec_value(r, word));
	case KIND_ONLY:
		return mpiexec_only(r, word, option);
	case KIND_REFUSE:
		return cli_usage(r->cli, "%s: %s", word, option->advice);
	default:
		name = mpiexec_value(r, word);
		value = name ? mpiexec_value(r, name[0] == '-' ? word : name) : NULL;
		return mpiexec_variable(r, option->kind == KIND_MCA ? "OMPI_MCA_" : "", name, value,
					option->kind == KIND_OWN);
	}
}

/* The options before a program. */
static int mpiexec_options(struct reading *r)
{
	const struct launcher_option *option;
	char *word;
	int status;

	while (*r->word && (*r->word)[0] == '-' && (*r->word)[1]) {
		word = *r->word++;
		option = mpiexec_find(word);
		if (!strcmp(word, "--")) {
			mpiexec_put(r->program, word);
			r->literal = true;
			return 0;
		}
		if (option) {
			status = mpiexec_take(r, word, option);
			if (status)
				return status;
			continue;
		}
		mpiexec_put(r->program, word);
		if (*r->word && mpiexec_takes_value(r, word))
			mpiexec_put(r->program, *r->word++);
	}
	return 0;
}

/* One program: its options, and its command up to ":" or the end. */
static int mpiexec_program(struct reading *r, struct mpiexec *m, int words)
{
	int status;

	if (m->nr == MPIEXEC_PROGRAMS_MAX)
		return cli_usage(r->cli, "there are more than %d programs", MPIEXEC_PROGRAMS_MAX);
	r->program = &m->program[m->nr++];
	r->first = m->nr == 1;
	/* an option may become two words */
	r->program->argv = calloc(2 * (size_t)words + 2, sizeof(char *));
	if (!r->program->argv)
		return CLI_FAILED;
	mpiexec_put(r->program, r->cli->argv[0]);
	status = mpiexec_options(r);
	while (!status && *r->word && (r->literal || strcmp(*r->word, ":")))
		mpiexec_put(r->program, *r->word++);
	return status;
}

/* --------------------------------------------------------------- interface */

int mpiexec_parse(struct cli *cli, int argc, char **argv, const char *shorts,
		  const struct option *longs, struct mpiexec *ret)
{
	struct reading r = { .cli = cli, .shorts = shorts, .longs = longs, .word = argv + 1 };
	int status, i;

	do {
		status = mpiexec_program(&r, ret, argc);
		if (status || !*r.word)
			break;
		r.word++;	/* : */
	} while (true);
	for (i = 0; !status && ret->nr == 1 && ret->program[0].variables[i]; i++) {
		if (putenv(ret->program[0].variables[i]))
			return CLI_FAILED;
		ret->program[0].variables[i] = NULL;
	}
	return status;
}

void mpiexec_done(struct mpiexec *m)
{
	unsigned int i, k;

	for (i = 0; i < m->nr; i++) {
		for (k = 0; m->program[i].variables[k]; k++)
			free(m->program[i].variables[k]);
		free(m->program[i].argv);
	}
	m->nr = 0;
}

int mpiexec_ranks(struct cli *cli, struct mpiexec_program *program, long long *ret_n,
		  int *ret_command)
{
	static const struct option longs[] = {
		{ "ranks", required_argument, NULL, 'n' }, { NULL }
	};
	int c;

	*ret_n = 0;
	optind = 0;	/* begin anew */
	opterr = 0;
	while ((c = getopt_long(program->argc, program->argv, "+n:", longs, NULL)) != -1) {
		if (c != 'n')
			return cli_usage(cli, "after : only -n RANKS and -env NAME VALUE are said "
					      "before a program; the first one has the options of "
					      "the job");
		if (!cli_number(cli, optarg, "the number of ranks", 1, RANKS_MAX, ret_n))
			return CLI_USAGE;
	}
	*ret_command = optind;
	if (optind >= program->argc)
		return cli_usage(cli, "which program comes after : ?");
	return *ret_n ? 0 : cli_usage(cli, "how many ranks of %s? Say -n", program->argv[optind]);
}

json_t *mpiexec_command(const struct mpiexec_program *program, int command)
{
	json_t *words = json_array();
	int i;

	if (program->variables[0])
		json_array_append_new(words, json_string("env"));
	for (i = 0; program->variables[i]; i++)
		json_array_append_new(words, json_string(program->variables[i]));
	for (i = command; i < program->argc; i++)
		json_array_append_new(words, json_string(program->argv[i]));
	return words;
}
