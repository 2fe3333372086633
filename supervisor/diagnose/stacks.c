// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwinds with libdw; see stacks.h. Owns nothing beyond a call. Everything that needs root's rights
 * is opened first: memory and mappings of the processes. Then the process becomes the owner, and
 * reads files and unwind tables that the owner may have made up to harm it; it must not do so as
 * root. A stack that cannot be unwound is left out.
 */
#include "supervisor/diagnose/stacks.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/diagnose/row.h"

#define STACKS_DEPTH	64
#define STACKS_PROCESSES 512	/* each holds a descriptor */
#define STACKS_MEMORY	(64UL << 20)	/* of the lists of mappings, which the owner makes long */

struct stack {
	const struct sampled_thread *thread;
	struct places *places;	/* those of another row of the same process, too */
	bool shared;		/* they are that row's to close */
	json_t *row;		/* the row's "thread", borrowed */
};

struct unwinding {
	const struct stack_source *of;
	uint64_t ip[STACKS_DEPTH];
	unsigned int nr;
};

/* ------------------------------------------------------- callbacks of libdw */

static bool stacks_memory(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *result, void *arg)
{
	const struct unwinding *u = arg;

	return places_read(u->of->places, at, result, sizeof(*result));
}

static pid_t stacks_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	const struct unwinding *u = arg;

	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return u->of->tid;
}

/* x86-64: by the numbers that DWARF gives them; without the module only two are known. */
static bool stacks_registers(Dwfl_Thread *thread, void *arg)
{
	static const int preserved[] = { 6, 3, 12, 13, 14, 15 };
	const struct unwinding *u = arg;
	Dwarf_Word sp = u->of->last->sp;

	dwfl_thread_state_register_pc(thread, u->of->last->ip);
	for (unsigned int i = 0; i < 6; i++) {
		Dwarf_Word word = u->of->last->preserved[i];

		if (!dwfl_thread_state_registers(thread, preserved[i], 1, &word))
			return false;
	}
	return dwfl_thread_state_registers(thread, 7, 1, &sp);
}

static const Dwfl_Thread_Callbacks stacks_threads = {
	.next_thread = stacks_thread, .memory_read = stacks_memory,
	.set_initial_registers = stacks_registers,
};

/* Debug information is not needed to unwind, and looking for it may ask the network. */
static int stacks_no_debug(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **found)
{
	return -1;
}

static const Dwfl_Callbacks stacks_files = {
	.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = stacks_no_debug,
};

static int stacks_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwinding *u = arg;
	Dwarf_Addr pc;
	bool exact;

	if (u->nr == STACKS_DEPTH || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	/* a return address is behind the call, and may be in the next function */
	u->ip[u->nr++] = exact ? pc : pc - 1;
	return DWARF_CB_OK;
}

/* ----------------------------------------------------------------- stacks */

static void stacks_unwind(struct unwinding *u)
{
	const struct stack_source *of = u->of;
	Dwfl *dwfl = dwfl_begin(&stacks_files);

	if (!dwfl)
		return;
	dwfl_report_begin(dwfl);
	if (!of->report(dwfl, of->arg) && !dwfl_report_end(dwfl, NULL, NULL) &&
	    dwfl_attach_state(dwfl, NULL, of->pid, &stacks_threads, u))
		dwfl_getthread_frames(dwfl, of->tid, stacks_frame, u);
	dwfl_end(dwfl);
	if (!u->nr)
		u->ip[u->nr++] = of->last->ip;
}

json_t *stacks_frames(const struct stack_source *of)
{
	struct unwinding u = { .of = of };
	json_t *frames = json_array();
	struct place place;

	if (of->last->known)
		stacks_unwind(&u);
	for (unsigned int i = 0; i < u.nr && places_find(of->places, u.ip[i], &place); i++)
		json_array_append_new(frames, row_place(&place));
	return frames;
}

static int stacks_report_process(Dwfl *dwfl, void *arg)
{
	const struct stack *stack = arg;

	return dwfl_linux_proc_report(dwfl, stack->thread->pid);
}

static void stacks_take(struct stack *stack, unsigned int nr_samples)
{
	const struct stack_source of = {
		.places = stack->places, .pid = stack->thread->pid, .tid = stack->thread->tid,
		.last = &stack->thread->sample[nr_samples - 1], .report = stacks_report_process,
		.arg = stack,
	};

	json_object_set_new(stack->row, "frames", stacks_frames(&of));
}

static const struct sampled_thread *stacks_find(const struct threads *threads, json_int_t tid)
{
	for (size_t i = 0; i < threads->nr; i++) {
		if (threads->thread[i].tid == tid)
			return &threads->thread[i];
	}
	return NULL;
}

/* The places of the stack's process: those of an earlier row, or new ones. */
static int stacks_open_places(struct stack *stack, const struct stack *before, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (before[i].thread->pid != stack->thread->pid)
			continue;
		stack->places = before[i].places;
		stack->shared = true;
		return 0;
	}
	return places_open(stack->thread->pid, &stack->places);
}

/* As root: what belongs to each row. Rows beyond a bound get no stack. */
static size_t stacks_open(struct stack *stacks, json_t *rows, const struct threads *threads)
{
	size_t i, nr = 0, memory = 0;
	const json_t *row;

	json_array_foreach(rows, i, row) {
		json_t *thread = json_object_get(row, "thread");
		const struct sampled_thread *t =
			stacks_find(threads, json_integer_value(json_object_get(thread, "tid")));

		if (!t || nr == STACKS_PROCESSES || memory > STACKS_MEMORY)
			continue;
		stacks[nr] = (struct stack){ .thread = t, .row = thread };
		if (stacks_open_places(&stacks[nr], stacks, nr))
			continue;
		memory += stacks[nr].shared ? 0 : places_size(stacks[nr].places);
		nr++;
	}
	return nr;
}

int stacks_become(uid_t uid, gid_t gid)
{
	if (!uid)
		return 0;
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

int stacks_add(json_t *rows, const struct threads *threads, uid_t uid, gid_t gid)
{
	struct stack *stacks = calloc(STACKS_PROCESSES, sizeof(*stacks));
	size_t nr;
	int err;

	if (!stacks)
		return -ENOMEM;
	nr = stacks_open(stacks, rows, threads);
	err = stacks_become(uid, gid);
	for (size_t i = 0; !err && i < nr; i++)
		stacks_take(&stacks[i], threads->nr_samples);
	for (size_t i = 0; i < nr; i++)
		places_close(stacks[i].shared ? NULL : stacks[i].places);
	free(stacks);
	return err;
}
