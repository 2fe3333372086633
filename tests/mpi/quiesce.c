// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints of a job on this machine, without checkpoints: makes the ranks' status pages, starts
 * the job, and again and again quiesces it, drains it, and when every rank is silent lets it
 * go on, or makes each rank load a new lower half and rebuild its objects. Does what
 * shims and coordinator do, with all pages before its eyes.
 *
 *   quiesce DIR RANKS INTERVAL-MS go|restart MAX COMMAND...
 *
 * The command's ranks find their page as DIR/RANK, and for a restart PMI_ID is raised by 10000 each
 * time (tests/mpi/pmi1). How many cuts there were is in the file DIR/cuts. Exit status: the
 * command's; 1 when a cut was not reached in time, with what each rank was doing. The last line
 * says how many there were.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/status_page.h"

#define COMMS		512
#define LIMIT_MS	10000
#define STEP_US		100
#define STALL_MS	50	/* shim/pages_stall.c */
#define SETTLE_MS	20
#define END_MS		60000

struct job {
	struct status_page **page;
	unsigned long *told;	/* cuts, for the program */
	uint32_t nr;
	bool restart;
	pid_t pid;
	int status;
	bool ended;
	uint64_t run;
	unsigned long cuts, refused, late;
	double deadline, longest, sum;
	double moved, poked; /* when targets were raised last; when ranks were asked after that */
	unsigned long stalls;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct status_page *make_page(const char *dir, uint32_t rank, uint32_t nr)
{
	size_t size = status_size(nr, COMMS);
	struct status_page *page;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%u", dir, rank);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(path);
		exit(1);
	}
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	page->magic = STATUS_MAGIC;
	page->version = STATUS_VERSION;
	page->nr_ranks = nr;
	page->max_comms = COMMS;
	page->order.run = 1;
	return page;
}

static unsigned long *make_cuts(const char *dir)
{
	char path[4096];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/cuts", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(long))) {
		perror(path);
		exit(1);
	}
	map = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return map;
}

static uint32_t state_of(const struct status_page *page)
{
	return __atomic_load_n(&page->answer.state, __ATOMIC_ACQUIRE);
}

static void order(struct job *job, uint32_t intent)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_order *o = &job->page[i]->order;

		o->intent = intent;
		__atomic_add_fetch(&o->serial, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &o->serial, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static bool answers(const struct status_page *page)
{
	return __atomic_load_n(&page->answer.seen, __ATOMIC_ACQUIRE) == page->order.serial;
}

/* Ended, late, or something refused: no use to wait. */
static bool hopeless(struct job *job)
{
	if (!job->ended && waitpid(job->pid, &job->status, WNOHANG) == job->pid)
		job->ended = true;
	if (job->ended)
		return true;
	for (uint32_t i = 0; i < job->nr; i++) {
		uint32_t state = state_of(job->page[i]);

		if (state == STATUS_BROKEN || state == STATUS_ENDED)
			return true;
		/* said of an older order it is not about this one */
		if (state == STATUS_REFUSED && answers(job->page[i]))
			return true;
	}
	if (now_ms() < job->deadline) {
		usleep(STEP_US);
		return false;
	}
	return true;
}

static bool all_in(const struct job *job, uint32_t state)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		const struct status_page *page = job->page[i];

		if (state_of(page) != state || !answers(page))
			return false;
	}
	return true;
}

static uint64_t highest(const struct job *job, uint64_t id)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_comm *comms = status_comms(job->page[i]), comm;

		for (uint32_t k = 0; k < COMMS; k++)
			if (status_comm_read(&comms[k], &comm) && comm.id == id && comm.seq > max)
				max = comm.seq;
	}
	return max;
}

/* Every rank's targets to what anybody has begun. True: some were raised. */
static bool raise_targets(struct job *job)
{
	bool raised = false;

	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_comm *comms = status_comms(job->page[i]);
		struct status_target *targets = status_targets(job->page[i]);

		for (uint32_t k = 0; k < COMMS; k++) {
			uint64_t max = comms[k].id ? highest(job, comms[k].id) : 0;

			if (!comms[k].id || (targets[k].id == comms[k].id && targets[k].seq >= max))
				continue;
			targets[k].seq = max;
			__atomic_store_n(&targets[k].id, comms[k].id, __ATOMIC_RELEASE);
			raised = true;
		}
		for (uint32_t k = 0; k < job->nr; k++) {
			uint64_t met =
				__atomic_load_n(&status_met(job->page[k])[i], __ATOMIC_ACQUIRE);
			uint64_t *target = &status_met_targets(job->page[i])[k];

			if (met <= *target)
				continue;
			__atomic_store_n(target, met, __ATOMIC_RELEASE);
			raised = true;
		}
	}
	return raised;
}

static void raise_to(struct job *job, uint64_t id, uint64_t seq)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_comm *comms = status_comms(job->page[i]);
		struct status_target *targets = status_targets(job->page[i]);

		for (uint32_t k = 0; k < COMMS; k++) {
			if (comms[k].id != id || (targets[k].id == id && targets[k].seq >= seq))
				continue;
			targets[k].seq = seq;
			__atomic_store_n(&targets[k].id, id, __ATOMIC_RELEASE);
		}
	}
}

static bool caught_up(const struct job *job)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_page *page = job->page[i];
		struct status_comm *comms = status_comms(page);
		struct status_target *targets = status_targets(page);

		if (__atomic_load_n(&page->answer.stragglers, __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&page->answer.in_collective, __ATOMIC_ACQUIRE))
			return false;
		for (uint32_t k = 0; k < COMMS; k++)
			if (comms[k].id && targets[k].id == comms[k].id &&
			    __atomic_load_n(&comms[k].seq, __ATOMIC_ACQUIRE) < targets[k].seq)
				return false;
		for (uint32_t k = 0; k < job->nr; k++)
			if (__atomic_load_n(&status_met(page)[k], __ATOMIC_ACQUIRE) <
			    status_met_targets(page)[k])
				return false;
	}
	return true;
}

/* Those of a cut that failed would have ranks go on too far now. */
static void forget_targets(struct job *job)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_target *targets = status_targets(job->page[i]);

		for (uint32_t k = 0; k < COMMS; k++) {
			__atomic_store_n(&targets[k].id, 0, __ATOMIC_RELEASE);
			targets[k].seq = 0;
		}
	}
}

/* The one that @wait stands before; it may be a moment old, so the lower number counts. */
static uint64_t next_of(const struct status_wait *wait, const struct status_comm *comm)
{
	uint64_t begun = __atomic_load_n(&comm->seq, __ATOMIC_ACQUIRE);

	return (wait->seq < begun ? wait->seq : begun) + 1;
}

/* Ranks that we hold before a collective begin it, for somebody who waits for a message first. */
static void let_on(struct job *job)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		const struct status_wait *wait = &job->page[i]->answer.wait;
		struct status_comm *comms = status_comms(job->page[i]);

		for (uint32_t k = 0; k < COMMS && wait->held == STATUS_HELD && wait->comm; k++)
			if (comms[k].id == wait->comm)
				raise_to(job, comms[k].id, next_of(wait, &comms[k]));
	}
	job->stalls++;
}

/* Some rank is behind, and nothing moves. */
static bool stalled(struct job *job, bool moved)
{
	double now = now_ms();

	if (moved || !job->moved)
		job->moved = now, job->poked = 0;
	if (!job->poked && now > job->moved + STALL_MS) {
		order(job, STATUS_QUIESCE);	/* so that what they wait for is fresh */
		job->poked = now;
	}
	return job->poked && all_in(job, STATUS_QUIESCED) && now > job->poked + SETTLE_MS;
}

static bool catch_up(struct job *job)
{
	job->moved = 0;
	for (;;) {
		bool good = all_in(job, STATUS_QUIESCED) && caught_up(job);
		/* what was begun since then is seen here, and told before the next look */
		bool raised = raise_targets(job);

		if (!raised && !good && stalled(job, raised)) {
			let_on(job);
			job->moved = 0;
			raised = true;
		}
		if (raised)
			order(job, STATUS_QUIESCE);
		else if (good)
			return true;
		if (hopeless(job))
			return false;
	}
}

static bool drained(const struct job *job)
{
	for (uint32_t i = 0; i < job->nr; i++) {
		/* as in shim/pages.c */
		if (__atomic_load_n(&job->page[i]->answer.pending, __ATOMIC_ACQUIRE))
			return false;
		for (uint32_t k = 0; k < job->nr; k++)
			if (status_sent(job->page[i])[k] !=
			    __atomic_load_n(&status_received(job->page[k])[i], __ATOMIC_RELAXED))
				return false;
	}
	return true;
}

static void show(struct job *job, const char *what)
{
	fprintf(stderr, "# %s\n", what);
	for (uint32_t i = 0; i < job->nr; i++) {
		const struct status_answer *a = &job->page[i]->answer;

		fprintf(stderr,
			"# rank %u: state %u, answers %u of %u, %u stragglers, "
			"%u in collectives, %u pending, in %s%s comm %#llx seq %llu peer %d; %s\n",
			i, a->state, a->seen, job->page[i]->order.serial, a->stragglers,
			a->in_collective, a->pending, a->wait.name, a->wait.held ? " (held)" : "",
			(unsigned long long)a->wait.comm, (unsigned long long)a->wait.seq,
			(int)a->wait.peer, a->text);
		for (uint32_t k = 0; k < COMMS; k++) {
			const struct status_comm *comm = &status_comms(job->page[i])[k];
			const struct status_target *target = &status_targets(job->page[i])[k];

			if (comm->id && target->id == comm->id && comm->seq < target->seq)
				fprintf(stderr, "#   comm %#llx of %llu: seq %llu of %llu\n",
					(unsigned long long)comm->id,
					(unsigned long long)comm->members,
					(unsigned long long)comm->seq,
					(unsigned long long)target->seq);
		}
		for (uint32_t k = 0; k < job->nr; k++) {
			uint64_t sent = status_sent(job->page[k])[i];
			uint64_t received = status_received(job->page[i])[k];

			if (sent != received)
				fprintf(stderr, "#   from %u: %llu sent, %llu received\n", k,
					(unsigned long long)sent, (unsigned long long)received);
		}
	}
}

static bool wait_for(struct job *job, uint32_t state, bool channels)
{
	while (!all_in(job, state) || (channels && !drained(job)))
		if (hopeless(job))
			return false;
	return true;
}

/* Nobody waits for ranks that are let go, neither does ckptd; for those of a restart one does. */
static void go_on(struct job *job, bool restart)
{
	if (restart)
		job->run++;
	for (uint32_t i = 0; i < job->nr; i++) {
		struct status_order *o = &job->page[i]->order;

		o->restart = STATUS_UNLOAD;
		o->run = job->run;
		memset(o->environment, 0, sizeof(o->environment));
		snprintf(o->environment, sizeof(o->environment), "PMI_ID=%llu",
			 (unsigned long long)((job->run - 1) * 10000 + i));
	}
	order(job, STATUS_RUN);
	if (restart)
		wait_for(job, STATUS_RUNNING, false);
}

static bool any(const struct job *job, uint32_t state)
{
	for (uint32_t i = 0; i < job->nr; i++)
		if (state_of(job->page[i]) == state)
			return true;
	return false;
}

/* One checkpoint. False: the job is over, or it went wrong. */
static bool cut(struct job *job)
{
	double begin = now_ms();
	const char *phase = "quiesce";
	bool good;

	job->deadline = begin + LIMIT_MS;
	forget_targets(job);
	order(job, STATUS_QUIESCE);
	good = wait_for(job, STATUS_QUIESCED, false);
	if (good) {
		phase = "catch up";
		good = catch_up(job);
	}
	if (good) {
		phase = "drain";
		order(job, STATUS_DRAIN);
		good = wait_for(job, STATUS_DRAINING, true);
	}
	if (good) {
		phase = "cut";
		order(job, STATUS_CUT);
		good = wait_for(job, STATUS_SILENT, false);
	}
	if (good) {
		job->cuts++;
		job->sum += now_ms() - begin;
		if (now_ms() - begin > job->longest)
			job->longest = now_ms() - begin;
	} else if (any(job, STATUS_REFUSED)) {
		if (!job->refused++)
			show(job, "refused");
	} else if (!job->ended && !any(job, STATUS_ENDED)) {
		job->late++;
		show(job, phase);
	}
	job->deadline = now_ms() + LIMIT_MS;
	go_on(job, good && job->restart);
	*(volatile unsigned long *)job->told = job->cuts;
	if (any(job, STATUS_BROKEN))
		show(job, "restart");
	return !job->ended && !any(job, STATUS_ENDED) && !any(job, STATUS_BROKEN);
}

static bool all_begun(const struct job *job)
{
	for (uint32_t i = 0; i < job->nr; i++)
		if (state_of(job->page[i]) == STATUS_BEFORE)
			return false;
	return true;
}

/* Nothing of the job outlives this, whatever became of it. */
static void end(struct job *job)
{
	job->deadline = now_ms() + END_MS;
	while (!job->ended && !any(job, STATUS_BROKEN) && now_ms() < job->deadline) {
		job->ended = waitpid(job->pid, &job->status, WNOHANG) == job->pid;
		usleep(STEP_US);
	}
	if (!job->ended) {
		show(job, "did not end");
		job->late++;
	}
	kill(-job->pid, SIGKILL);
	if (!job->ended)
		waitpid(job->pid, &job->status, 0);
}

int main(int argc, char **argv)
{
	struct job job = { .run = 1 };
	unsigned int interval;
	unsigned long max;

	if (argc < 7) {
		fprintf(stderr, "usage: quiesce DIR RANKS INTERVAL-MS go|restart MAX COMMAND...\n");
		return 2;
	}
	job.nr = (uint32_t)atoi(argv[2]);
	interval = (unsigned int)atoi(argv[3]);
	job.restart = !strcmp(argv[4], "restart");
	max = strtoul(argv[5], NULL, 0);
	job.page = calloc(job.nr, sizeof(struct status_page *));
	for (uint32_t i = 0; i < job.nr; i++)
		job.page[i] = make_page(argv[1], i, job.nr);
	job.told = make_cuts(argv[1]);
	job.pid = fork();
	if (!job.pid) {
		setpgid(0, 0);
		execvp(argv[6], argv + 6);
		perror(argv[6]);
		_exit(127);
	}
	job.deadline = now_ms() + LIMIT_MS;
	while (!all_begun(&job) && !hopeless(&job))
		;
	while (!job.ended && job.cuts < max) {
		usleep(interval * 1000);
		if (!cut(&job))
			break;
	}
	end(&job);
	fprintf(stderr, "# %lu cuts, %lu refused, %lu late; %.1f ms each, %.1f at most\n", job.cuts,
		job.refused, job.late, job.cuts ? job.sum / (double)job.cuts : 0.0, job.longest);
	if (job.late || any(&job, STATUS_BROKEN))
		return 1;
	if (!WIFEXITED(job.status))
		fprintf(stderr, "# ended by signal %d\n", WTERMSIG(job.status));
	return WIFEXITED(job.status) ? WEXITSTATUS(job.status) : 1;
}
