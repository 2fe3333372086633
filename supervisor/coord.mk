# SPDX-License-Identifier: GPL-2.0-only
# The coordinator of job-wide checkpoints: no I/O, so nothing to link with.

COORD_SOURCES := $(sort $(wildcard supervisor/coord*.c))

$(call library,coord,$(COORD_SOURCES))

$(call unit_test,tests/unit/test_coord,tests/unit/test_coord.c,$(LIB)/libcoord.a)
