// SPDX-License-Identifier: GPL-2.0-only
/*
 * step.h for test programs in Fortran, to which it is CALL MT_STEP() and CALL MT_LAST(). Built
 * into each.
 */
#include "step.h"

void mt_step_(void);
void mt_step_(void)
{
	step();
}

void mt_last_(void);
void mt_last_(void)
{
	step_last();
}
