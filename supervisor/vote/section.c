// SPDX-License-Identifier: GPL-2.0-only
/*
 * The common point of replicas; see section.h.
 *
 * No target is below a section that a member has ended, so that no member can be told to wait in
 * its past. Once all wait, the highest section is the target, and nobody can pass it any more: so
 * all meet at the second target at the latest.
 */
#include "supervisor/vote/section.h"

enum section_step section_decide(const struct section_member *members, size_t nr,
				 uint64_t *ret_target)
{
	uint64_t highest = members[0].section;
	bool wait = true, together = true, told = members[0].until;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (members[i].section > highest)
			highest = members[i].section;
		wait = wait && section_waits(&members[i]);
		together = together && members[i].section == members[0].section;
		told = told && members[i].until == members[0].until;
	}
	if (wait && together && told)
		return SECTION_MET;
	if (!wait && told)
		return SECTION_WAIT;
	*ret_target = wait ? highest : highest + 1;
	return SECTION_TELL;
}
