# SPDX-License-Identifier: GPL-2.0-only
#
# The upper half: one library per ABI, from the same sources, with the ABI's own mpi.h.
#   build/lib/mpi/mpich/libmpich.so.12   build/lib/mpi/ompi/libmpi.so.40
#
# A program asks for its MPI library by a SONAME, and vendors give one library several. An alias,
# build/lib/mpi/mpich/libmpi.so.12, has another SONAME and nothing in it but its need of the
# library itself. Names: kinds[] of shim/ranks.c and abi_soname[] of mpi-glue/abi.

UPPER_SOURCES := \
	mpi-glue/attr.c \
	mpi-glue/callback.c \
	mpi-glue/collective.c \
	mpi-glue/comm.c \
	mpi-glue/drain.c \
	mpi-glue/lower/dynamic.c \
	mpi-glue/epoch.c \
	mpi-glue/errcodes.c \
	mpi-glue/errhandler.c \
	mpi-glue/file.c \
	mpi-glue/file_above.c \
	mpi-glue/gather.c \
	mpi-glue/glue.c \
	mpi-glue/glue_thread.c \
	mpi-glue/group.c \
	mpi-glue/local.c \
	mpi-glue/meeting.c \
	mpi-glue/orphan.c \
	mpi-glue/own.c \
	mpi-glue/p2p.c \
	mpi-glue/probe.c \
	mpi-glue/progress.c \
	mpi-glue/quiesce.c \
	mpi-glue/real_library.c \
	mpi-glue/rebuild.c \
	mpi-glue/rebuild_comm.c \
	mpi-glue/rebuild_file.c \
	mpi-glue/rebuild_request.c \
	mpi-glue/rebuild_type.c \
	mpi-glue/rebuild_win.c \
	mpi-glue/request.c \
	mpi-glue/request_array.c \
	mpi-glue/request_io.c \
	mpi-glue/status_page.c \
	mpi-glue/tool.c \
	mpi-glue/type.c \
	mpi-glue/vhandle.c \
	mpi-glue/win.c \
	mpi-glue/win_lock.c \
	mpi-glue/win_shared.c \
	mpi-glue/win_words.c
UPPER_mpich := mpi-glue/abi/abi_mpich.c mpi-glue/abi/abi_mpich_large.c
UPPER_ompi := mpi-glue/abi/abi_ompi.c mpi-glue/abi/abi_ompi_fortran.c
UPPER_INCLUDE_mpich := /usr/include/x86_64-linux-gnu/mpich
UPPER_INCLUDE_ompi := /usr/lib/x86_64-linux-gnu/openmpi/include

# no stack protector: its canary is in thread-local storage, which is the other half's below
UPPER_FLAGS = -fPIC -fvisibility=hidden -fno-stack-protector -mfsgsbase \
	-Wno-deprecated-declarations -DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -I. -I$(B)/gen/mpi-$(1) \
		-isystem $(UPPER_INCLUDE_$(1)) \
	-DABI_HEADER='"mpi-glue/abi/abi_$(1).h"' -include mpi-glue/mpi_visible.h

# $(1) abi, $(2) library
define _upper
$(B)/gen/mpi-$(1)/mpi/calls.h: scripts/mpi-gen mpi-glue/mpi_calls.def
	$$(call say,GEN,$$@)
	$$(Q)scripts/mpi-gen $(1) $$(@D)
$(B)/gen/mpi-$(1)/mpi/calls.c: $(B)/gen/mpi-$(1)/mpi/calls.h ;

UPPER_OBJS_$(1) := $(patsubst mpi-glue/%.c,$(B)/mpi/$(1)/%.o,\
	$(UPPER_SOURCES) $(UPPER_$(1))) $(B)/mpi/$(1)/calls.o
$(B)/mpi/$(1)/%.o: mpi-glue/%.c $(B)/gen/mpi-$(1)/mpi/calls.h
	$$(call say,CC,"$$< ($(1))")
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_COMMON) $$(CFLAGS) $(call UPPER_FLAGS,$(1)) -MMD -MP -c -o $$@ $$<
$(B)/mpi/$(1)/calls.o: $(B)/gen/mpi-$(1)/mpi/calls.h
	$$(call say,CC,"mpi_calls.def ($(1))")
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_COMMON) $$(CFLAGS) $(call UPPER_FLAGS,$(1)) -MMD -MP -c -o $$@ \
		$(B)/gen/mpi-$(1)/mpi/calls.c

LIBRARIES += $(LIB)/mpi/$(1)/$(2)
$(LIB)/mpi/$(1)/$(2): $$(UPPER_OBJS_$(1)) $(LIB)/libglue-lower.a
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -shared $$(CFLAGS_COMMON) $$(CFLAGS) $$(LDFLAGS) -Wl,-z,defs -Wl,-soname,$(2) \
		-o $$@ $$^ -lpthread -ldl
-include $$(UPPER_OBJS_$(1):.o=.d)
endef
# $(1) abi, $(2) library, $(3) alias
define _alias
LIBRARIES += $(LIB)/mpi/$(1)/$(3)
$(LIB)/mpi/$(1)/$(3): $(LIB)/mpi/$(1)/$(2)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -shared -nostdlib $$(LDFLAGS) -Wl,-soname,$(3) -Wl,--no-as-needed \
		-Wl,--enable-new-dtags,-rpath,'$$$$ORIGIN' -o $$@ $$<
endef
$(eval $(call _upper,mpich,libmpich.so.12))
$(eval $(call _alias,mpich,libmpich.so.12,libmpi.so.12))
$(eval $(call _upper,ompi,libmpi.so.40))
