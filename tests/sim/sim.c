// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim - one run, or many, of a job's coordinators in a simulated world
 *
 *	sim --seed N [--trace]			one run
 *	sim --seeds N [--from N] [--mutate NAME] [--first]	many; says which failed
 *	sim --calm [--die N:NAME] [--trace]	one checkpoint without faults, or with one
 *	sim --big [--nodes 1024 --ranks 32 --arity 8]	the same, counted
 *	sim --table				the transition table
 *
 * A run is a function of its options.  Exit status 1: something did not hold.
 */
#include "tests/sim/sim.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH (40 * SEC)

/* A world in which something is wrong must be found out: the table, broken. */
struct mutation {
	const char *name;
	void (*apply)(struct coord_table *table);
};

static void ack_before_persist(struct coord_table *table)
{
	table->persist_first = false;
}

static struct coord_barrier *barrier_of(struct coord_table *table, unsigned int order)
{
	return (struct coord_barrier *)coord_barrier(table, order);
}

static void commit_before_durable(struct coord_table *table)
{
	barrier_of(table, COORD_ORDER_THAW)->level = COORD_THAWED;
}

static void thaw_before_all(struct coord_table *table)
{
	barrier_of(table, COORD_ORDER_SNAPSHOT)->level = COORD_FROZEN;
}

static void snapshot_before_all(struct coord_table *table)
{
	barrier_of(table, COORD_ORDER_FREEZE)->level = COORD_DRAINED;
}

static void sums_ignored(struct coord_table *table)
{
	table->equal_sums = false;
}

static void no_pause_guard(struct coord_table *table)
{
	table->guard_pause = false;
}

static void records_ignored(struct coord_table *table)
{
	table->any_commits = false;
}

static void commit_can_be_aborted(struct coord_table *table)
{
	barrier_of(table, COORD_ORDER_COMMIT)->may_abort = true;
}

static const struct mutation mutations[] = {
	{ "ack-before-persist", ack_before_persist },
	{ "commit-before-durable", commit_before_durable },
	{ "thaw-before-all", thaw_before_all },
	{ "snapshot-before-all", snapshot_before_all },
	{ "sums-ignored", sums_ignored },
	{ "no-pause-guard", no_pause_guard },
	{ "records-ignored", records_ignored },
	{ "commit-can-be-aborted", commit_can_be_aborted },
};

static void print_table(void)
{
	unsigned int i;

	for (i = 0; i < COORD_STEPS; i++)
		printf("STEP(%s, %s, %s)\n", coord_level_name(coord_table.steps[i].from),
		       coord_order_name(coord_table.steps[i].order),
		       coord_level_name(coord_table.steps[i].to));
	for (i = 0; i < COORD_BARRIERS; i++)
		printf("BARRIER(%s, %s, %s, %s)\n",
		       coord_order_name(coord_table.barriers[i].order),
		       coord_level_name(coord_table.barriers[i].level),
		       coord_order_name(coord_table.barriers[i].next),
		       coord_table.barriers[i].may_abort ? "may_abort" : "decided");
}

static void plan_one(struct world *w, uint64_t at, enum coord_request request)
{
	world_plan(w, at, (struct item){ .event = SIM_REQUEST, .a = request,
					 .node = COORD_NONE });
}

static bool all_live(const struct world *w)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		if (!w->nodes[n].run.attempt || w->nodes[n].declared)
			return false;
	}
	return true;
}

/* After the faults: the job is whole, so a checkpoint must succeed. */
static void check_progress(struct world *w)
{
	unsigned int before = w->committed, i;

	if (w->failed || !all_live(w))
		return;
	/*
	 * A rank that is behind may wait for a message of one that is held at a target, which
	 * the deadline ends; it is another moment of the programs when it is tried again. In a
	 * program of two halves that seldom meet most moments are of that kind.
	 */
	for (i = 0; i < w->options.tries && w->committed == before && !w->failed; i++) {
		plan_one(w, 1, COORD_CHECKPOINT);
		world_run(w, w->now + ENOUGH / 4);
	}
	if (w->committed == before)
		check_fail(w, "a checkpoint without faults is not committed");
	check_end(w);
}

/* Everything until nothing happens any more; false: a rule was broken. */
static bool run(const struct options *options, struct world *w)
{
	if (world_init(w, options)) {
		check_fail(w, "no memory");
		return false;
	}
	if (options->faults) {
		faults_plan(w);
		world_run(w, 8 * SEC + ENOUGH);
	} else {
		w->calm = true;
		world_run(w, 200 * MS);
		plan_one(w, 0, COORD_CHECKPOINT);
		world_run(w, w->now + 5 * SEC);
	}
	check_end(w);
	if (options->faults)
		check_progress(w);
	else if (!w->failed && w->committed != 1 && !options->die_at)
		check_fail(w, "not committed");
	return !w->failed;
}

struct sum {
	unsigned int committed, aborted, running;
};

static unsigned int run_many(struct options *options, uint64_t from, uint64_t nr,
			     struct sum *sum)
{
	unsigned int failed = 0;
	struct world w;

	for (options->seed = from; options->seed < from + nr; options->seed++) {
		if (!run(options, &w)) {
			if (failed++ < 5 && options->first)
				nr = 0;
			if (failed <= 5)
				printf("seed %llu: %s\n", (unsigned long long)options->seed,
				       w.why);
		}
		sum->committed += w.committed;
		sum->aborted += w.aborted;
		sum->running += w.running;
		world_free(&w);
	}
	return failed;
}

static void print_counts(const struct world *w)
{
	uint64_t all = 0;
	unsigned int i;

	for (i = 1; i < COORD_MSGS; i++) {
		if (w->messages[i])
			printf("%-14s %8llu\n", coord_msg_name(i),
			       (unsigned long long)w->messages[i]);
		all += w->messages[i];
	}
	printf("%-14s %8llu, %llu bytes\n", "all", (unsigned long long)all,
	       (unsigned long long)w->bytes);
	printf("nodes %u, ranks %u, arity %u, depth %u\n", w->nr_nodes, w->nr_ranks,
	       w->options.arity, coord_depth(w->nodes[0].coord));
}

static int run_big(struct options *options)
{
	struct world w;
	int ret;

	options->big = true;
	options->faults = false;
	options->nodes = options->nodes ? options->nodes : 1024;
	options->ranks = options->ranks ? options->ranks : 32;
	options->arity = options->arity ? options->arity : 8;
	ret = run(options, &w) ? 0 : 1;
	if (ret)
		printf("FAILED: %s\n", w.why);
	else
		print_counts(&w);
	world_free(&w);
	return ret;
}

static int run_one(struct options *options)
{
	struct world w;
	bool ok = run(options, &w);

	printf("seed %llu: %s; %u nodes, %u committed, %u running, %u aborted\n",
	       (unsigned long long)options->seed, ok ? "ok" : w.why, w.nr_nodes, w.committed,
	       w.running, w.aborted);
	world_free(&w);
	return ok ? 0 : 1;
}

static bool mutate(const char *name, struct coord_table *table)
{
	size_t i;

	for (i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++) {
		if (!strcmp(mutations[i].name, name)) {
			mutations[i].apply(table);
			return true;
		}
		if (!strcmp(name, "list"))
			puts(mutations[i].name);
	}
	return false;
}

static int usage(void)
{
	fputs("usage: sim --seed N [--trace] | --seeds N [--from N] | --calm | --big | --table\n"
	      "           [--nodes N] [--ranks N] [--arity N] [--mutate NAME|list] [--first] "
	      "[--die N:NAME]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", 1, NULL, 's' }, { "seeds", 1, NULL, 'S' }, { "from", 1, NULL, 'f' },
		{ "nodes", 1, NULL, 'n' }, { "ranks", 1, NULL, 'r' }, { "arity", 1, NULL, 'a' },
		{ "mutate", 1, NULL, 'm' }, { "trace", 0, NULL, 't' }, { "calm", 0, NULL, 'c' },
		{ "big", 0, NULL, 'b' }, { "table", 0, NULL, 'T' },
		{ "first", 0, NULL, 'F' }, { "die", 1, NULL, 'd' }, { NULL, 0, NULL, 0 }
	};
	struct coord_table table = coord_table;
	struct options options = { .faults = true, .table = &table, .tries = 8 };
	uint64_t many = 0, from = 1;
	struct sum sum = { 0 };
	bool big = false;
	unsigned int failed;
	char *rest;
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (opt) {
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'S':
			many = strtoull(optarg, NULL, 0);
			break;
		case 'f':
			from = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			options.nodes = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'r':
			options.ranks = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'a':
			options.arity = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'm':
			if (!mutate(optarg, &table))
				return usage();
			/* that rare case is none of 200 seeds: be strict */
			options.tries = 1;
			break;
		case 't':
			options.trace = true;
			break;
		case 'c':
			options.faults = false;
			break;
		case 'b':
			big = true;
			break;
		case 'F':
			options.first = true;
			break;
		case 'd':
			options.die_node = (uint32_t)strtoul(optarg, &rest, 0);
			options.die_at = *rest ? rest + 1 : NULL;
			break;
		case 'T':
			print_table();
			return 0;
		default:
			return usage();
		}
	}
	if (big)
		return run_big(&options);
	if (!many)
		return run_one(&options);
	failed = run_many(&options, from, many, &sum);
	printf("%llu runs, %u failed; %u committed, %u running, %u aborted\n",
	       (unsigned long long)many, failed, sum.committed, sum.running, sum.aborted);
	return failed ? 1 : 0;
}
