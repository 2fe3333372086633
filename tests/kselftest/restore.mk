# SPDX-License-Identifier: GPL-2.0-only
# The restore side of the module, by hand; runs in the VM (tests/vm/restore.t).

$(call program,tests/kselftest/restore_test,\
	tests/kselftest/restore_test.c tests/kselftest/restore_test_mm.c \
	tests/kselftest/restore_test_pages.c tests/kselftest/restore_test_proc.c \
	tests/kselftest/restore_test_beside.c tests/kselftest/restore_test_killed.c \
	tests/kselftest/restore_test_files.c tests/kselftest/restore_test_fuzz.c \
	tests/kselftest/restore_test_rollback.c tests/kselftest/restore_test_l0.c \
	tests/kselftest/restore_test_aio.c \
	tests/kselftest/restore_rig.c tests/kselftest/restore_payload.c,\
	-static-pie -lpthread)
CFLAGS_tests/kselftest/restore_payload.c := -fno-stack-protector -fno-jump-tables \
	-fno-builtin -fcf-protection=none -fno-pic -mno-red-zone
