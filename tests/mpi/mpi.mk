# SPDX-License-Identifier: GPL-2.0-only
#
# MPI tests that need no VM: jobs of two ranks on this machine, with both libraries.

LOWER_TESTS := cost ends forget kept refuse reload signals threads traffic wide

$(foreach t,$(LOWER_TESTS),$(call program,tests/mpi/lower_$(t),\
	tests/mpi/lower_job.c tests/mpi/lower_$(t).c,$(LIB)/libglue-lower.a -lpthread))

# asks what System V's sigset() answers
CFLAGS_tests/mpi/lower_signals.c += -Wno-deprecated-declarations

# the servers of shim/pm.h alone, as a restart has them
$(call program,tests/mpi/pm_late,tests/mpi/pm_late.c,$(LIB)/libpm.a \
	$(LIB)/libshim.a $(LIB)/libbase.a -ljansson -ldl)

$(call program,tests/mpi/quiesce,tests/mpi/quiesce.c)
