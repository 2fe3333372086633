// SPDX-License-Identifier: GPL-2.0-only
/*
 * A step of Slurm's on the other nodes of a job; see slurm_step.h.
 *
 * The holder is a child in a session of its own that holds none of the caller's descriptors, so
 * that nobody waits for it who waits for the end of the caller's output. It has a child of its
 * own, srun. It tells the caller by a socket when the step runs, and is told the job's number.
 * From then on it asks ckptd alone, and goes on asking while ckptd does not answer: the ranks
 * must not end because ckptd is restarted.
 */
#include "ckptctl/slurm_step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "ckptctl/cli_call.h"
#include "ckptctl/slurm.h"
#include "shim/ranks.h"

#define READY		"stillpoint-stands"	/* of each process of the step, on a line */
#define READY_MS	120000		/* for srun until all of them run */
#define END_MS		10000		/* for srun after SIGTERM */
#define AGAIN_MS	2000		/* between questions to a ckptd that does not answer */
#define FIRST_FD	3

/* Slurm signals a step when it ends the job: the ranks must live until they are saved. */
static const char slurm_step_script[] =
	"trap '' HUP INT QUIT ABRT ALRM TERM USR1 USR2 XCPU XFSZ VTALRM PROF\n"
	"echo " READY "\n"
	"exec sleep infinity >/dev/null 2>&1";

/* These variables of the batch script would give the step another form. */
static const char *const slurm_step_unset[] = {
	"SLURM_CPU_BIND", "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_DISTRIBUTION",
	"SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_HINT", "SLURM_LABELIO", "SLURM_MEM_BIND",
	"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE", "SLURM_NNODES",
	"SLURM_NPROCS", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_STDOUTMODE",
	"SLURM_STDERRMODE", "SLURM_TASKS_PER_NODE", "SLURM_TIMELIMIT", "SLURM_UNBUFFEREDIO",
};

/* ----------------------------------------------------------------- srun */

/* In the child: become srun, with its output to @out. */
static void slurm_step_exec(const char *list, size_t nr, const char *key, int out)
{
	char nodes[32], tasks[32];
	const char *argv[] = {
		"srun", "--overlap", "--quiet", "--nodelist", list, nodes, tasks,
		"--ntasks-per-node=1",
		"--mem=0", "--cpu-bind=none", "--mpi=none", "--input=none", "--chdir=/",
		"--kill-on-bad-exit=0", "--wait=0", "--job-name=stillpoint", "/bin/sh", "-c",
		slurm_step_script, NULL
	};
	int null = open("/dev/null", O_RDONLY);
	size_t i;

	for (i = 0; i < sizeof(slurm_step_unset) / sizeof(slurm_step_unset[0]); i++)
		unsetenv(slurm_step_unset[i]);
	setenv(RANKS_STEP_KEY, key, 1);
	/* Slurm's own srun, whatever stands before it in PATH (scheduler/slurm/). */
	setenv("STILLPOINT_CKPT", "no", 1);
	snprintf(nodes, sizeof(nodes), "--nodes=%zu", nr);
	snprintf(tasks, sizeof(tasks), "--ntasks=%zu", nr);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], (char *const *)argv);
	dprintf(STDERR_FILENO, "srun: %s\n", strerror(errno));
	_exit(127);
}

struct slurm_holder {
	pid_t srun;
	int out;		/* of srun */
	int caller;
	size_t nr, ready;	/* nodes; those on which the process runs */
	char line[512];		/* the last one of srun that is not READY */
};

/* Take a line of srun's output. */
static void holder_take_line(struct slurm_holder *k, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (strstr(line, READY))
		k->ready++;
	else if (*line)
		snprintf(k->line, sizeof(k->line), "%s", line);
}

/* Read srun's output until all processes run: 0, or a negative errno; -EPIPE: srun has ended. */
static int holder_await(struct slurm_holder *k)
{
	int64_t until_ms = clock_monotonic_ms() + READY_MS, left;
	struct pollfd fds[] = { { .fd = k->out, .events = POLLIN }, { .fd = k->caller } };
	FILE *f = fdopen(dup(k->out), "r");
	char *line = NULL;
	size_t size = 0;
	int err = f ? 0 : -errno;

	/* One line is read at a time, so that none waits in the buffer while poll() sleeps. */
	if (f)
		setvbuf(f, NULL, _IONBF, 0);
	while (!err && k->ready < k->nr) {
		left = until_ms - clock_monotonic_ms();
		if (left <= 0 || !poll(fds, 2, (int)left))
			err = -ETIMEDOUT;
		else if (fds[1].revents)
			err = -ECANCELED;
		else if (fds[0].revents && getline(&line, &size, f) <= 0)
			err = -EPIPE;
		else if (fds[0].revents)
			holder_take_line(k, line);
	}
	free(line);
	if (f)
		fclose(f);
	return err;
}

/* End the step. */
static void holder_end(const struct slurm_holder *k)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int64_t until_ms = clock_monotonic_ms() + END_MS;

	kill(k->srun, SIGTERM);
	while (!waitpid(k->srun, NULL, WNOHANG)) {
		if (clock_monotonic_ms() >= until_ms)
			kill(k->srun, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

/* --------------------------------------------------------------- holder */

/* True if ckptd answers that @job does not run here. */
static bool holder_job_is_over(struct cli *cli, int64_t job)
{
	json_t *outcome = cli_call(cli, "ps", json_object());
	const json_t *jobs = json_object_get(json_object_get(outcome, "result"), "jobs"), *one;
	bool over = outcome_is_ok(outcome) && json_is_array(jobs);
	size_t i;

	json_array_foreach(jobs, i, one)
		over = over && cli_int(one, "job") != job;
	json_decref(outcome);
	return over;
}

/* Return when the job has ended. */
static void holder_follow(struct cli *cli, int64_t job)
{
	const struct timespec pause = { .tv_sec = AGAIN_MS / 1000 };
	bool over = false;
	json_t *outcome;

	while (!over) {
		outcome = cli_call(cli, "wait", json_pack("{s:I}", "job", (json_int_t)job));
		over = outcome_is_ok(outcome) || (!cli->unanswered && holder_job_is_over(cli, job));
		json_decref(outcome);
		if (over)
			break;
		/* the connection may lead to a ckptd that is gone */
		cli_disconnect(cli);
		nanosleep(&pause, NULL);
	}
	cli_disconnect(cli);
}

/* Leave the caller's session, descriptors and signals. */
static void holder_detach(int caller)
{
	int null = open("/dev/null", O_RDWR);
	struct sigaction action;
	sigset_t none;
	int i;

	setsid();
	for (i = 1; i < NSIG; i++) {
		if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_DFL)
			signal(i, SIG_DFL);
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	dup2(caller, FIRST_FD);
	close_range(FIRST_FD + 1, ~0U, 0);
}

/* The holder, with the socket of @of to ckptd; @sock: to the caller. Does not return. */
static void holder_main(const struct cli *of, int sock, const char *list, size_t nr,
			const char *key)
{
	struct slurm_holder k = { .caller = FIRST_FD, .nr = nr };
	struct cli cli = { .socket = of->socket, .verb = of->verb };
	int64_t job = 0;
	int ends[2], err;

	holder_detach(sock);
	if (pipe2(ends, O_CLOEXEC))
		_exit(1);
	k.out = ends[0];
	k.srun = fork();
	if (!k.srun)
		slurm_step_exec(list, nr, key, ends[1]);
	close(ends[1]);
	if (k.srun < 0)
		_exit(1);
	fcntl(k.caller, F_SETFD, FD_CLOEXEC);
	err = holder_await(&k);
	if (err == -ETIMEDOUT)
		snprintf(k.line, sizeof(k.line), "it did not start within %d s", READY_MS / 1000);
	if (write(k.caller, err ? k.line : READY, strlen(err ? k.line : READY)) < 0)
		err = -EPIPE;
	if (!err && read(k.caller, &job, sizeof(job)) == sizeof(job) && job) {
		close(k.caller);
		holder_follow(&cli, job);
	}
	holder_end(&k);
	_exit(0);
}

/* --------------------------------------------------------------- caller */

/* The names of @nodes but the first that the allocation has, too; "n2,n3". */
static char *step_nodes(struct cli *cli, const json_t *nodes, size_t *ret_nr)
{
	json_t *args = json_object(), *node, *mine;
	char *list = NULL, *before;
	size_t i, j;

	*ret_nr = 0;
	if (!slurm_nodes(cli, args)) {
		json_array_foreach(nodes, i, node) {
			json_array_foreach(json_object_get(args, "nodes"), j, mine) {
				if (!i || !json_equal(node, mine))
					continue;
				before = list;
				if (asprintf(&list, "%s%s%s", before ?: "", before ? "," : "",
					     json_string_value(node)) < 0)
					list = NULL;
				free(before);
				++*ret_nr;
			}
		}
	}
	json_decref(args);
	return list;
}

/* Wait for the holder's word; tell the user if the step does not run. */
static int step_await(int sock, const char *list)
{
	char word[512];
	ssize_t n;

	do
		n = read(sock, word, sizeof(word) - 1);
	while (n < 0 && errno == EINTR);
	word[n > 0 ? n : 0] = '\0';
	if (!strcmp(word, READY))
		return 0;
	cli_say("Slurm has started no step on %s in which the ranks there could stand: %s", list,
		*word ? word : "srun says nothing");
	return -ECHILD;
}

void slurm_step_open(struct cli *cli, const json_t *nodes, const char *key,
		     struct slurm_step *ret_step)
{
	int pair[2] = { -1, -1 };
	char *list;
	size_t nr;
	pid_t pid;

	ret_step->holder = -1;
	if (json_array_size(nodes) < 2 || !slurm_is_here())
		return;
	list = step_nodes(cli, nodes, &nr);
	if (list && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		fflush(stdout);
		pid = fork();
		if (!pid)
			holder_main(cli, pair[1], list, nr, key);
		close(pair[1]);
		ret_step->holder = pair[0];
		if (pid < 0 || step_await(pair[0], list))
			slurm_step_close(ret_step, 0);
	}
	free(list);
}

void slurm_step_close(struct slurm_step *step, int64_t job)
{
	if (step->holder < 0)
		return;
	if (job && send(step->holder, &job, sizeof(job), MSG_NOSIGNAL) < 0)
		cli_say("job %lld: the holder of its step on other nodes is gone; the step ends "
			"with the batch job", (long long)job);
	close(step->holder);
	step->holder = -1;
}
