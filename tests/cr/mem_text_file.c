// SPDX-License-Identifier: GPL-2.0-only
/*
 * An executable file mapping with relocated data: a shared library loaded by the
 * program itself after start, whose functions and variables work on.
 */
#include <dlfcn.h>

#include "tests/cr/phase.h"

static double (*cosine)(double);
static void *handle;

static void setup(void)
{
	handle = dlopen("libm.so.6", RTLD_NOW);
	if (!handle)
		cr_skip("%s", dlerror());
	*(void **)&cosine = dlsym(handle, "cos");
	cr_check(cosine, "no cos");
	cr_check(cosine(0.0) == 1.0, "cos");
}

static void verify(void)
{
	double (*sine)(double);

	cr_check(cosine(0.0) == 1.0, "cos");
	*(void **)&sine = dlsym(handle, "sin");
	cr_check(sine && sine(0.0) == 0.0, "sin");
	cr_eq(dlclose(handle), 0);
	handle = dlopen("libm.so.6", RTLD_NOW);
	cr_check(handle, "cannot load again: %s", dlerror());
}

CR_TEST(.setup = setup, .verify = verify);
