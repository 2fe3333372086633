// SPDX-License-Identifier: GPL-2.0-only
/*
 * A launched job as a child process; see child.h.
 *
 * ckptctl decides what a name means (`ckptctl resume`). This file remembers what ckptd knew of the
 * job before, so that a restart that came to nothing is told from a job that has ended.
 */
#include "scheduler/slurm/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/slurm/batch.h"
#include "scheduler/slurm/say.h"

#define AGAIN_FIRST_MS	10000	/* before another try: a ckptd may be about to begin */
#define AGAIN_LAST_MS	40000
#define WORDS_BEFORE	8	/* ckptctl restart --attach --nodes N --lost-nodes N JOB:N */

/*
 * Was the job ended, but not by itself? Slurm sends SIGTERM before SIGKILL. A program that handles
 * SIGTERM may end with any status, also 0, before its work is done.
 */
static bool child_was_killed(const struct saver_job *job)
{
	return job->job && !job->runs && !job->saved && !job->lost &&
	       (job->told || job->status == 128 + SIGTERM || job->status == 128 + SIGKILL);
}

/* Decide what the start is to be, from what became of the job before. */
static void child_plan(struct child *child, struct child_how *how)
{
	const struct saver_job *before = &child->before;
	bool killed = child_was_killed(before);
	/* One that still runs, as far as anybody knows, is on a lost node. */
	bool stopped = before->saved || before->lost || before->runs;

	if (killed && !how->generation)
		how->generation = before->best;
	if (killed && !how->generation && before->newest)
		say_line("job %lld was ended, and each of its generations is suspect: started anew",
			 (long long)before->job);
	if (!how->generation && (killed || (how->rerun && !stopped)))
		how->anew = true;
	/* ckptd chooses in the same way, and takes the oldest if all are doubted. */
	child->generation = how->generation ?: !stopped ? 0 : before->best ?: before->oldest;
	child->restarted = child->generation != 0;
}

/*
 * Might the job before be one whose record cannot be read? A saved or lost job goes on under its
 * number, and one that has come to its end is not started again: then there is no later one.
 */
static bool child_is_hidden(const struct child *child, const struct child_how *how)
{
	const struct saver_job *before = &child->before;

	if (!before->hidden || how->anew || how->generation)
		return false;
	return !before->job || child_was_killed(before) ||
	       (how->rerun && !before->saved && !before->lost && !before->runs);
}

/* Texts that the words of ckptctl point to. */
struct child_texts {
	char spec[64];	/* of a generation */
	char *nodes;	/* of the allocation; NULL: not needed */
	char *lost;	/* a node that went down is why Slurm requeued the job, perhaps */
};

static void child_texts_done(struct child_texts *texts)
{
	free(texts->nodes);
	free(texts->lost);
}

/* Append @option and its @value to the @n words, unless the value is NULL. */
static size_t child_option(char **words, size_t n, const char *option, const char *value)
{
	if (!value)
		return n;
	words[n] = (char *)option;
	words[n + 1] = (char *)value;
	return n + 2;
}

/* The words of ckptctl, to be freed; @texts has to live as long. */
static char **child_words(const struct child *child, const struct child_how *how,
			  struct child_texts *texts)
{
	size_t n = 0, count = 0;
	char **words;

	while (how->argv[count])
		count++;
	words = calloc(count + WORDS_BEFORE + 1, sizeof(*words));
	if (!words)
		return NULL;
	texts->lost = how->anew ? NULL : batch_lost_nodes();
	words[n++] = (char *)"ckptctl";
	if (how->generation) {
		snprintf(texts->spec, sizeof(texts->spec), "%lld:%lld",
			 (long long)child->before.job, (long long)how->generation);
		texts->nodes = child->before.ranks ? batch_nodes() : NULL;
		words[n++] = (char *)"restart";
		words[n++] = (char *)"--attach";
		n = child_option(words, n, "--nodes", texts->nodes);
		n = child_option(words, n, "--lost-nodes", texts->lost);
		words[n++] = texts->spec;
		return words;
	}
	words[n++] = (char *)"resume";
	n = child_option(words, n, "--name", child->name);
	n = child_option(words, n, "--lost-nodes", texts->lost);
	if (how->anew)
		words[n++] = (char *)"--new";
	words[n++] = (char *)"--";
	memcpy(words + n, how->argv, count * sizeof(*words));
	return words;
}

/* In the child process; does not return. */
static void child_exec(const struct child_how *how, char **words)
{
	int i;

	for (i = 0; how->fds && i < 3; i++)
		dup2(how->fds[i], i);
	if (how->env)
		environ = how->env;
	sigprocmask(SIG_SETMASK, how->mask, NULL);
	sigaction(SIGPIPE, how->pipe, NULL);
	if (how->directory && chdir(how->directory)) {
		say_line("%s: %s", how->directory, strerror(errno));
		_exit(126);
	}
	execvp(words[0], words);
	say_line("ckptctl: %s", strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int child_start(struct child *child, const struct child_how *how)
{
	struct child_how plan = *how;
	struct child_texts texts = { 0 };
	char **words;
	int err;

	if (how->anew)
		child->before = (struct saver_job) { 0 };
	else if (saver_find_patiently(child->name, 0, &child->before))
		return -EHOSTDOWN;
	if (child_is_hidden(child, how))
		return -EBADMSG;
	child_plan(child, &plan);
	words = child_words(child, &plan, &texts);
	if (!words)
		return -ENOMEM;
	child->began_ms = clock_monotonic_ms();
	child->pid = fork();
	if (!child->pid)
		child_exec(&plan, words);
	err = child->pid < 0 ? -errno : 0;
	if (err)
		child->pid = 0;
	child_texts_done(&texts);
	free(words);
	return err;
}

/* Find out what became of the job, and what a failed restart could be tried from. */
static int child_facts(const struct child *child, struct policy_facts *facts)
{
	struct saver_job now = { 0 };
	int err = saver_find_patiently(child->name, child->generation, &now);
	bool same;

	if (err)
		return err;
	/* A job that was ended by a checkpoint has this status, too. */
	if (!now.job && now.hidden && facts->status == 128 + SIGKILL)
		return -EBADMSG;
	same = now.job == child->before.job;
	facts->saved = now.saved;
	/* A restart that was refused: the job has the end that it had, and ckptctl its own. */
	if (child->restarted && same && child_was_killed(&now) && now.status != facts->status)
		facts->saved = true;
	facts->lost = now.lost || now.runs;
	facts->gone = now.lost;
	facts->newest = now.newest;
	/* Generations of a job that was started since then begin anew. */
	facts->before = same ? child->before.newest : 0;
	facts->older = now.older;
	return 0;
}

/* Fill in what @policy wants to be tried. */
static void child_next(struct child *child, enum policy policy, int64_t older,
		       struct child_how *ret)
{
	if (policy == POLICY_OLDER) {
		child->tries++;
		child->again = 0;
		ret->generation = older;
	} else if (policy == POLICY_AGAIN) {
		child->again++;
		ret->generation = child->generation;
		ret->pause_ms = child->again > 1 ? AGAIN_LAST_MS : AGAIN_FIRST_MS;
	}
}

enum policy child_judge(struct child *child, int wait_status, int *ret_status,
			struct child_how *ret_next)
{
	struct policy_facts facts = {
		.restarted = child->restarted,
		.status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) :
						     WEXITSTATUS(wait_status),
		.ran_ms = clock_monotonic_ms() - child->began_ms,
		.requeues = child->requeues,
		.tries = child->tries,
		.again = child->again,
	};
	enum policy policy;

	child->pid = 0;
	if (facts.status)
		facts.unknown = child_facts(child, &facts) != 0;
	policy = policy_decide(&facts);
	*ret_status = facts.status;
	child_next(child, policy, facts.older, ret_next);
	return policy;
}

int child_save(const struct child *child, char *why, unsigned int size)
{
	struct saver_job now;

	if (saver_find(child->name, &now)) {
		snprintf(why, size, "ckptd of this node does not answer");
		return -EHOSTDOWN;
	}
	return !now.job || now.saved ? 0 : saver_save(now.job, why, size);
}
