# SPDX-License-Identifier: GPL-2.0-only
#
# Checkpoint test programs: every .c here but the harness is one program;
# scripts (.sh .py .pl) are run as they are.  tests/cr/programs lists them all.

CR_PHASE    := tests/cr/phase.c tests/cr/phase_mem.c
CR_PROGRAMS := $(filter-out $(CR_PHASE),$(wildcard tests/cr/*.c))
CR_STATIC   := tests/cr/exe_static.c
CR_LIBRARY  := tests/cr/mem_excluded.c


$(foreach s,$(filter-out $(CR_STATIC) $(CR_LIBRARY),$(CR_PROGRAMS)),\
	$(call program,$(s:.c=),$(s) $(CR_PHASE),-lpthread))
$(call program,tests/cr/mem_excluded,$(CR_LIBRARY) libckptctl/exclude.c $(CR_PHASE),-lpthread)
$(call program,tests/cr/exe_static,tests/cr/exe_static.c $(CR_PHASE),-static -lpthread)

.PHONY: cr-programs check-cr-native
cr-programs: $(patsubst tests/cr/%.c,$(BIN)/tests/cr/%,$(CR_PROGRAMS))

# every program without a checkpoint, on this machine: the tests test themselves
check-cr-native: cr-programs
	tests/cr/run --flavours A
