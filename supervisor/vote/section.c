// SPDX-License-Identifier: GPL-2.0-only
/*
 * The common point of replicas; see section.h.
 *
 * No target is below a section that a process has ended, so that nobody can be told to wait in his
 * past. A process that was past the target when it was told waits at the end of its next section;
 * one that waits at the target may be what another one needs to get there, so the target is raised
 * as soon as that is seen. Nobody can pass the end at which the foremost will wait: so all meet at
 * the second target at the latest.
 */
#include "supervisor/vote/section.h"

/* The section at whose end the process waits, or will wait. */
static uint64_t section_stop(const struct section_member *m)
{
	if (section_waits(m) || m->until > m->section)
		return section_waits(m) ? m->section : m->until;
	return m->section + 1;
}

enum section_step section_decide(const struct section_member *members, size_t nr,
				 uint64_t *ret_target)
{
	uint64_t highest = members[0].section, stop = 0;
	bool wait = true, together = true, told = members[0].until;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (members[i].section > highest)
			highest = members[i].section;
		if (section_stop(&members[i]) > stop)
			stop = section_stop(&members[i]);
		wait = wait && section_waits(&members[i]);
		together = together && members[i].section == members[0].section;
		told = told && members[i].until == members[0].until;
	}
	if (wait && together && told)
		return SECTION_MET;
	if (!wait && told && stop <= members[0].until)
		return SECTION_WAIT;
	*ret_target = wait ? highest : told ? stop : highest + 1;
	return SECTION_TELL;
}
