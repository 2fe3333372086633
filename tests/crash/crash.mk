# SPDX-License-Identifier: GPL-2.0-only
#
# Power cuts (tests/vm/powercut.t): what makes a disk of a log, a program to checkpoint, and a
# library that leaves out what makes things durable.

$(call program,tests/crash/cut,tests/crash/cut.c,)
$(call program,tests/crash/steps,tests/crash/steps.c,)
$(call shlib,nosync,tests/crash/nosync.c,-ldl -luring,0.1)
