# SPDX-License-Identifier: GPL-2.0-only
#
# The upper half: one library per ABI, from the same sources, with the ABI's own mpi.h.
#   build/lib/mpi/mpich/libmpich.so.12   build/lib/mpi/ompi/libmpi.so.40

UPPER_SOURCES := $(addprefix mpi-glue/,\
	attr.c callback.c collective.c comm.c drain.c dynamic.c epoch.c errcodes.c errhandler.c \
	file.c gather.c glue.c glue_thread.c group.c local.c meeting.c orphan.c p2p.c probe.c \
	quiesce.c rebuild.c rebuild_comm.c rebuild_file.c rebuild_request.c rebuild_type.c \
	rebuild_win.c request.c request_array.c request_io.c status_page.c tool.c type.c \
	vhandle.c win.c win_lock.c win_shared.c)
UPPER_mpich := abi_mpich.c abi_mpich_large.c
UPPER_ompi := abi_ompi.c abi_ompi_fortran.c
UPPER_INCLUDE_mpich := /usr/include/x86_64-linux-gnu/mpich
UPPER_INCLUDE_ompi := /usr/lib/x86_64-linux-gnu/openmpi/include

# no stack protector: its canary is in thread-local storage, which is the other half's below
UPPER_FLAGS = -fPIC -fvisibility=hidden -fno-stack-protector -mfsgsbase \
	-Wno-deprecated-declarations -DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -I. -I$(B)/gen/mpi-$(1) -isystem $(UPPER_INCLUDE_$(1)) \
	-DABI_HEADER='"mpi-glue/abi_$(1).h"' -include mpi-glue/mpi_visible.h

# $(1) abi, $(2) library
define _upper
$(B)/gen/mpi-$(1)/mpi/calls.h: scripts/mpi-gen mpi-glue/mpi_calls.def
	$$(call say,GEN,$$@)
	$$(Q)scripts/mpi-gen $(1) $$(@D)
$(B)/gen/mpi-$(1)/mpi/calls.c: $(B)/gen/mpi-$(1)/mpi/calls.h ;

UPPER_OBJS_$(1) := $(patsubst mpi-glue/%.c,$(B)/mpi/$(1)/%.o,$(UPPER_SOURCES)) \
	$(patsubst %.c,$(B)/mpi/$(1)/%.o,$(UPPER_$(1))) $(B)/mpi/$(1)/calls.o
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
$(eval $(call _upper,mpich,libmpich.so.12))
$(eval $(call _upper,ompi,libmpi.so.40))
