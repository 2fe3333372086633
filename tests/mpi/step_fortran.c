// SPDX-License-Identifier: GPL-2.0-only
/* step.h for test programs in Fortran, to which it is CALL MT_STEP(). Built into each. */
#include "step.h"

void mt_step_(void);
void mt_step_(void)
{
	step();
}
