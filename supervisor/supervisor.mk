# SPDX-License-Identifier: GPL-2.0-only
#
# libengine.a: dump and restore of one tree. Who links it adds ENGINE_LIBS.

DUMP_SOURCES := engine/core/engine.c engine/core/kdev.c engine/core/state.c \
	engine/core/state_parse.c engine/core/file_identity.c engine/dump/capture.c \
	engine/dump/content.c engine/dump/page_table.c engine/dump/page_fetch.c \
	engine/dump/dump.c \
	engine/dump/dump_content.c \
	engine/dump/dump_ends.c \
	engine/dump/dump_files.c \
	engine/dump/dump_left_out.c \
	engine/dump/dump_links.c \
	engine/dump/dump_mounts.c \
	engine/dump/dump_pages.c \
	engine/dump/dump_policy.c \
	engine/dump/dump_probe.c \
	engine/dump/dump_records.c \
	engine/dump/dump_store.c \
	engine/dump/dump_track.c \
	engine/dump/dump_tty.c \
	engine/dump/dump_unwanted.c

# the restore side: restore*.c and its nouns
RESTORE_SOURCES := \
	engine/restore/builder.c \
	engine/restore/builder_memory.c \
	engine/restore/builder_rights.c \
	engine/restore/plan.c \
	engine/restore/plan_owner.c \
	engine/restore/plan_sharing.c \
	engine/files/reopen.c \
	engine/files/reopen_carried.c \
	engine/files/reopen_check.c \
	engine/files/reopen_end.c \
	engine/files/reopen_gone.c \
	engine/files/reopen_huge.c \
	engine/files/reopen_locks.c \
	engine/files/reopen_object.c \
	engine/files/reopen_path.c \
	engine/files/reopen_pty.c \
	engine/files/reopen_put.c \
	engine/files/reopen_same.c \
	engine/restore/restore.c \
	engine/restore/restore_numbers.c \
	engine/restore/restore_subset.c \
	engine/restore/task.c \
	engine/restore/task_attr.c \
	engine/restore/tree.c engine/restore/nsinit.c engine/restore/relay.c \
	engine/restore/restate.c engine/core/cpu.c base/proc_stat.c engine/restore/remem.c engine/restore/filler.c engine/restore/placement.c engine/restore/cow.c engine/core/rights.c

# these run without a libc: the compiler must not call into one, either
CFLAGS_engine/restore/task.c := -fno-builtin -fno-tree-loop-distribute-patterns -fno-stack-protector
CFLAGS_engine/restore/task_attr.c := $(CFLAGS_engine/restore/task.c)

$(call library,engine,$(DUMP_SOURCES) $(RESTORE_SOURCES))

# archives first, then what they need
ENGINE_LIBS := $(LIB)/libengine.a $(LIB)/libimage.a -lpthread -lsodium -luring -lzstd -lxxhash -ljansson

$(call unit_test,tests/unit/test_state,tests/unit/test_state.c tests/unit/stream.c,\
	$(LIB)/libengine.a)

$(call unit_test,tests/unit/test_restore_subset,tests/unit/test_restore_subset.c tests/unit/stream.c,\
	$(LIB)/libengine.a)

$(call unit_test,tests/unit/test_dump,tests/unit/test_dump.c tests/unit/dump_fixture.c tests/unit/fake_kernel.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_files,tests/unit/test_dump_files.c tests/unit/dump_fixture.c \
	tests/unit/fake_kernel.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_names,tests/unit/test_dump_names.c tests/unit/dump_fixture.c \
	tests/unit/fake_kernel.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_tty,tests/unit/test_dump_tty.c tests/unit/dump_fixture.c tests/unit/fake_kernel.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_page_fetch,tests/unit/test_page_fetch.c tests/unit/fake_kernel.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_base,tests/unit/test_dump_base.c tests/unit/fake_kernel.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_plan,tests/unit/test_plan.c tests/unit/stream.c,\
	$(LIB)/libengine.a)
$(call unit_test,tests/unit/test_cpu,tests/unit/test_cpu.c,$(LIB)/libengine.a)
$(call unit_test,tests/unit/test_proc_stat,tests/unit/test_proc_stat.c,$(LIB)/libengine.a)
$(call unit_test,tests/unit/test_cow,tests/unit/test_cow.c,$(LIB)/libengine.a)
$(call unit_test,tests/unit/test_remem,tests/unit/test_remem.c tests/unit/stream.c \
	tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen,tests/unit/test_reopen.c tests/unit/reopen_fixture.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_put,tests/unit/test_reopen_put.c tests/unit/reopen_fixture.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_names,tests/unit/test_reopen_names.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_same,tests/unit/test_reopen_same.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_end,tests/unit/test_reopen_end.c tests/unit/reopen_fixture.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

# for the VM tests: an image against the memory it was made of
$(call program,tests/tools/dumpcheck,tests/tools/dumpcheck.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_content,tests/unit/test_content.c tests/unit/counted.c,\
	$(ENGINE_LIBS) $(COUNTED))
