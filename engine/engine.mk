# SPDX-License-Identifier: GPL-2.0-only
#
# libengine.a: dump and restore of one tree. A program that links it adds ENGINE_LIBS.

# these two run without libc: the compiler must not add calls to libc functions, either
CFLAGS_engine/restore/task.c := -fno-builtin -fno-tree-loop-distribute-patterns -fno-stack-protector
CFLAGS_engine/restore/task_attr.c := $(CFLAGS_engine/restore/task.c)

$(call library,engine,$(foreach f,core dump files restore kinds,$(wildcard engine/$(f)/*.c)))
# the engine's face in JSON: what ckptd's workers and ckptctl --standalone run
$(call library,op,$(wildcard engine/op/*.c))

# archives first, then what they need
ENGINE_LIBS := $(LIB)/libengine.a $(LIB)/libimage.a $(LIB)/libbase.a -lpthread -lsodium -luring \
	-lzstd -lxxhash -ljansson

$(call unit_test,tests/unit/test_state,tests/unit/test_state.c tests/unit/stream.c,\
	$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_restore_subset,tests/unit/test_restore_subset.c \
	tests/unit/stream.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump,tests/unit/test_dump.c tests/unit/dump_fixture.c \
	tests/unit/fake_kernel.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_files,tests/unit/test_dump_files.c tests/unit/dump_fixture.c \
	tests/unit/fake_kernel.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_in_place,tests/unit/test_dump_in_place.c \
	tests/unit/dump_fixture.c tests/unit/fake_kernel.c tests/unit/stream.c \
	tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_hashes,tests/unit/test_dump_hashes.c \
	tests/unit/dump_fixture.c tests/unit/fake_kernel.c tests/unit/stream.c \
	tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_closed,tests/unit/test_dump_closed.c \
	tests/unit/dump_fixture.c tests/unit/fake_kernel.c tests/unit/stream.c \
	tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_names,tests/unit/test_dump_names.c tests/unit/dump_fixture.c \
	tests/unit/fake_kernel.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_tty,tests/unit/test_dump_tty.c tests/unit/dump_fixture.c \
	tests/unit/fake_kernel.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_page_fetch,tests/unit/test_page_fetch.c tests/unit/fake_kernel.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_dump_base,tests/unit/test_dump_base.c tests/unit/fake_kernel.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_plan,tests/unit/test_plan.c tests/unit/stream.c,\
	$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_rollback_compare,tests/unit/test_rollback_compare.c \
	tests/unit/stream.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_rollback_keep,tests/unit/test_rollback_keep.c \
	tests/unit/stream.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_rollback_l0,tests/unit/test_rollback_l0.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_asker,tests/unit/test_asker.c tests/unit/stream.c,\
	$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_cpu,tests/unit/test_cpu.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_cow,tests/unit/test_cow.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_restore_memory,tests/unit/test_restore_memory.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen,tests/unit/test_reopen.c tests/unit/reopen_fixture.c \
	tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_put,tests/unit/test_reopen_put.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_closed,tests/unit/test_reopen_closed.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_since,tests/unit/test_reopen_since.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_write_journal,tests/unit/test_write_journal.c \
	tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_names,tests/unit/test_reopen_names.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_moved,tests/unit/test_reopen_moved.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_path_map,tests/unit/test_path_map.c tests/unit/stream.c,\
	$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_same,tests/unit/test_reopen_same.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))
$(call unit_test,tests/unit/test_reopen_pipe,tests/unit/test_reopen_pipe.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_kinds,tests/unit/test_kinds.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_reopen_sock,tests/unit/test_reopen_sock.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_reopen_inet,tests/unit/test_reopen_inet.c \
	tests/unit/reopen_fixture.c tests/unit/stream.c tests/unit/image_fixture.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_sock_rules,tests/unit/test_sock_rules.c,$(ENGINE_LIBS))

$(call unit_test,tests/unit/test_op_mpi,tests/unit/test_op_mpi.c,$(LIB)/libop.a $(LIB)/libbase.a \
	-ljansson)

# for the VM tests: an image against the memory it was made of
$(call program,tests/tools/dumpcheck,tests/tools/dumpcheck.c,$(ENGINE_LIBS))
$(call program,tests/tools/rolltree,tests/tools/rolltree.c,$(LIB)/libop.a $(ENGINE_LIBS) -ljansson)
$(call program,tests/tools/rolled,tests/tools/rolled.c,-lpthread -lrt)
$(call program,tests/tools/kept,tests/tools/kept.c)
$(call unit_test,tests/unit/test_content,tests/unit/test_content.c tests/unit/counted.c,\
	$(ENGINE_LIBS) $(COUNTED))
