# SPDX-License-Identifier: GPL-2.0-only
# The simulator: plain for many seeds and many nodes, sanitized for those of make check.

SIM_SOURCES := $(addprefix tests/sim/,sim.c world.c local.c ranks.c faults.c check.c)

$(call program,tests/sim/sim,$(SIM_SOURCES),$(LIB)/libcoord.a)
$(call san_program,tests/sim/sim,$(SIM_SOURCES),$(LIB)/libcoord.a)
