// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processes whose end is the job's; see members.h and ranks.h.
 *
 * A main process gets signals alone, as under a shell.  A rank leads a process group,
 * and its signals go to the whole group: where the rank is a script, nobody else would
 * hand them on to the programs it started.  To end the job, all members are sent
 * SIGTERM and SIGCONT; after a grace init ends, and with it the namespace.
 *
 * When all MPI ranks have ended with 0, init asks the shim, which knows whether they
 * had finalized.  The shim answers when it has heard of the last rank's end.
 */
#include "shim/members.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "shim/start.h"
#include "base/clock.h"
#include "base/outcome.h"

void members_signal(const struct members *m, int signo)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		if (m->pid[i] > 0)
			kill(m->ranks ? -m->pid[i] : m->pid[i], signo);
	}
}

/* A batch system sends SIGTERM to all processes of a step, and a program may end well of it. */
void members_note(struct members *m, int signo)
{
	if (signo != SIGTERM)
		return;
	m->told = true;
	m->told_ms = clock_monotonic_ms();
}

bool members_were_told(const struct members *m, int64_t now_ms)
{
	return m->told && now_ms < m->told_ms + MEMBERS_TOLD_MS;
}

static void members_fail(struct members *m, int status)
{
	m->failed = true;
	m->status = status;
	m->failed_ns = (int64_t)clock_realtime_ns();
}

static void end_all(struct members *m)
{
	if (m->deadline)
		return;
	m->deadline = clock_monotonic_ms() + MEMBERS_GRACE_MS;
	members_signal(m, SIGTERM);
	members_signal(m, SIGCONT);
}

static int members_make(const struct shim *shim, struct members *m)
{
	const struct ranks *ranks = &shim->spec.ranks;

	*m = (struct members) {
		.ranks = ranks->size > 0, .keep_going = ranks->keep_going,
		.asks = ranks->size && ranks->mpi != RANKS_NONE,
		.nr = ranks->size ? ranks->nr : 1, .failed_index = -1,
	};
	m->pid = calloc(m->nr, sizeof(*m->pid));
	return m->pid ? 0 : -ENOMEM;
}

/* The shim is gone. Asked between the starts of two ranks: nobody else would end the rest. */
static bool hung_up(int launch)
{
	struct pollfd shim = { .fd = launch };

	return poll(&shim, 1, 0) > 0 && shim.revents & (POLLHUP | POLLERR);
}

json_t *members_start(const struct shim *shim, const json_t *envs, int launch,
		      struct members *ret_members)
{
	struct members m;
	json_t *outcome = NULL;

	if (members_make(shim, &m))
		return outcome_error(-ENOMEM, "out of memory");
	for (; m.left < m.nr; m.left++) {
		json_decref(outcome);
		outcome = hung_up(launch) ? outcome_error(-EPIPE, "the job's shim is gone") :
			  start_process(shim, m.ranks ? (int)m.left : -1,
					json_array_get(envs, m.left), &m.pid[m.left]);
		if (!outcome_is_ok(outcome))
			break;
	}
	if (m.left < m.nr) {
		m.pid[m.left] = 0;
		members_signal(&m, SIGKILL);
		free(m.pid);
		return outcome;
	}
	*ret_members = m;
	return outcome;
}

/* A rank may have ended between the shim's answer about the ranks and the freeze. */
static bool is_child(pid_t pid)
{
	siginfo_t info;

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
}

/* Recall the failure that the checkpoint recorded. */
static void members_recall(struct members *m, const struct ranks *ranks)
{
	if (ranks->failed < 0)
		return;
	m->failed = true;
	m->failed_index = ranks->failed;
	m->status = ranks->failed_status;
	if (!m->keep_going)
		end_all(m);
}

int members_adopt(const struct shim *shim, pid_t main_pid, struct members *ret_members)
{
	struct members m;
	unsigned int i;

	if (members_make(shim, &m))
		return -ENOMEM;
	for (i = 0; i < m.nr; i++) {
		m.pid[i] = m.ranks ? shim->spec.ranks.pids[i] : main_pid;
		if (m.ranks && m.pid[i] > 0 && !is_child(m.pid[i]))
			m.pid[i] = 0;
		m.left += m.pid[i] > 0;
	}
	if (m.ranks)
		members_recall(&m, &shim->spec.ranks);
	*ret_members = m;
	return 0;
}

json_t *members_pids(const struct members *m)
{
	json_t *pids = json_array();
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		json_array_append_new(pids, json_integer(m->pid[i]));
	return pids;
}

/* ------------------------------------------------------------------- end */

void members_abort(struct members *m, int code)
{
	if (!m->failed)
		members_fail(m, (code & 0xff) << 8);
	end_all(m);
}

int members_ended(struct members *m, pid_t pid, int status)
{
	unsigned int i;

	for (i = 0; i < m->nr && m->pid[i] != pid;)
		i++;
	if (i == m->nr)
		return -1;
	m->pid[i] = 0;
	/* A limit for the shim's answer: the shim may be stopped. */
	if (!--m->left && m->asks && !m->deadline)
		m->deadline = clock_monotonic_ms() + MEMBERS_ASK_MS;
	/* Only the first failure counts: later ones end because init ended them. */
	if (status && !m->failed) {
		members_fail(m, status);
		m->failed_index = (int)i;
		if (!m->keep_going)
			end_all(m);
	}
	return (int)i;
}

bool members_over(const struct members *m, int64_t now_ms)
{
	return (!m->left && (!m->asks || m->failed)) || (m->deadline && now_ms >= m->deadline);
}

void members_agreed(struct members *m)
{
	m->asks = false;
}

int members_timeout(const struct members *m, int64_t now_ms)
{
	if (!m->deadline)
		return -1;
	return m->deadline > now_ms ? (int)(m->deadline - now_ms) : 0;
}
