# SPDX-License-Identifier: GPL-2.0-only
# The capture side of the module, by hand; runs in the VM (tests/vm/capture.t).

$(call program,tests/kselftest/capture_test,\
	tests/kselftest/capture_test.c tests/kselftest/capture_rig.c \
	tests/kselftest/capture_state.c tests/kselftest/capture_pages.c \
	tests/kselftest/capture_waits.c tests/kselftest/capture_luck.c \
	tests/kselftest/capture_refuse.c tests/kselftest/capture_many.c \
	tests/kselftest/capture_exclude.c tests/kselftest/capture_track.c \
	tests/kselftest/capture_races.c tests/kselftest/capture_interrupted.c \
	tests/kselftest/capture_killed.c tests/kselftest/capture_bounds.c \
	tests/kselftest/capture_suspend.c tests/kselftest/capture_owner.c \
	tests/kselftest/capture_layout.c tests/kselftest/capture_writes.c \
	tests/kselftest/capture_writes_state.c tests/kselftest/capture_lease.c \
	tests/kselftest/capture_mqueue.c \
	tests/kselftest/capture_sample.c tests/kselftest/capture_sent.c \
	tests/kselftest/capture_fail.c tests/kselftest/capture_fuzz.c,\
	-static-pie -lpthread)
