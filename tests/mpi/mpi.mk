# SPDX-License-Identifier: GPL-2.0-only
#
# MPI tests that need no VM: jobs of two ranks on this machine, with both libraries.

LOWER_TESTS := traffic

$(foreach t,$(LOWER_TESTS),$(call program,tests/mpi/lower_$(t),\
	tests/mpi/lower_job.c tests/mpi/lower_$(t).c,$(LIB)/libglue-lower.a -lpthread))
