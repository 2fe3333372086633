# SPDX-License-Identifier: GPL-2.0-only
#
# Files and memory of one moment (tests/crash-consistency/run): programs whose result depends on
# their files, and the tier that checkpoints, kills and restarts each of them several times.

CONSISTENCY     := tests/crash-consistency/programs
CONSISTENCY_BIN := $(BIN)/tests/crash-consistency
CONSISTENCY_MPI := mpiio ranks
CONSISTENCY_C   := $(filter-out $(CONSISTENCY_MPI:%=$(CONSISTENCY)/%.c),\
	$(wildcard $(CONSISTENCY)/*.c))
$(foreach s,$(CONSISTENCY_C),\
	$(call program,tests/crash-consistency/$(basename $(notdir $(s))),$(s),))

# whoever only builds needs neither Fortran nor MPI: these are made when they are run
$(CONSISTENCY_BIN)/direct: $(CONSISTENCY)/direct.f90
	$(call say,FC,$<)
	@mkdir -p $(@D)
	$(Q)gfortran -O1 -g -o $@ $<
$(CONSISTENCY_MPI:%=$(CONSISTENCY_BIN)/%): $(CONSISTENCY_BIN)/%: $(CONSISTENCY)/%.c \
		$(CONSISTENCY)/step.h
	$(call say,MPICC,$<)
	@mkdir -p $(@D)
	$(Q)mpicc.openmpi $(CFLAGS_COMMON) -o $@ $<

.PHONY: consistency-programs
consistency-programs: $(CONSISTENCY_C:$(CONSISTENCY)/%.c=$(CONSISTENCY_BIN)/%) \
	$(CONSISTENCY_BIN)/direct $(CONSISTENCY_MPI:%=$(CONSISTENCY_BIN)/%)
