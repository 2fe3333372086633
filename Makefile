# SPDX-License-Identifier: GPL-2.0-only
#
# Every command of the project; one non-recursive makefile.
#
#   make                 module for every kernel of tests/vm/matrix, and user space
#   make setup           install missing Debian packages, fetch the kernels
#   make vm              shell in a VM with the module inserted   [KERNEL=6.12]
#   make demo            the demonstration of the README
#   make check           setup, build, lint, check-unit, check-mpi, check-kernel, check-vm
#                        [SHARE=0/3] of scripts with many cases each third, SHARE=0/1 all
#   make check-vm        VM suite, both kernels                   [KERNEL=6.1] [TESTS='tests/vm/a.t']
#   make check-cluster   MPI jobs over three VMs, levels over four [KERNEL=6.1] [MPI_SUBSET=all]
#                        [TESTS='tests/cluster/levels.t']
#   make check-vm-debug  the same on a KASAN/lockdep/kmemleak kernel (built once)
#   make check-crash-consistency  files and memory after kills and power cuts, some hundred runs
#                        [KERNEL=6.1] [RUNS=5] [CUTS=8] [SEED=1]
#   make check-long      10 times as long, nightly
#   make bench           figures of docs/performance.md
#   make install         [PREFIX=/usr/local] [DESTDIR=]
#   make clean           what was built; distclean also what was fetched
#
# Rooms. A room (directory with sources) has a fragment ROOM/ROOM.mk, included
# below when it exists, which declares what the room builds with these macros:
#
#   $(call program,NAME,SOURCES,LIBS)       build/bin/NAME
#   $(call libexec,NAME,SOURCES,LIBS)       build/libexec/NAME: not for users to run
#   $(call library,NAME,SOURCES)            build/lib/libNAME.a (internal, static)
#   $(call pic_library,NAME,SOURCES)        the same, to become part of shared libraries
#   $(call shlib,NAME,SOURCES,LIBS,VERSION,MAP)
#                                           build/lib/libNAME.so.VERSION, symbol map MAP
#   $(call unit_test,NAME,SOURCES,LIBS)     build/san/bin/NAME: cmocka test that
#                                           check-unit runs, built with ASan and UBSan
#   $(call san_program,NAME,SOURCES,LIBS)   build/san/bin/NAME: a program that tests run
#
# NAME may contain directories (tests/cr/pipes). SOURCES are paths from the top.
# LIBS are linker flags (-lzstd) or internal archives, $(LIB)/libimage.a, which
# become prerequisites; in a unit test the sanitized twin is linked instead.
# Includes are -Iuapi -I. -Ibuild/gen: <linux/ckpt.h>, "image/format.h".
# A room's own flags: CFLAGS_<room> (for image/*.c: CFLAGS_image += -DX), a single
# file's: CFLAGS_image/reader.c. What `make install` puts where: INSTALL_SBIN,
# INSTALL_BIN, INSTALL_LIBEXEC, INSTALL_LIB (paths without the version), INSTALL_INCLUDE,
# INSTALL_MAN, INSTALL_COMPLETION, INSTALL_PKGCONFIG, INSTALL_UNIT, INSTALL_UDEV,
# INSTALL_MODULES_LOAD, INSTALL_SLURM_FRONT, INSTALL_SLURM_SOURCED, INSTALL_SPANK.
# Generated sources belong below build/gen/.

.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

B   := build
LIB := $(B)/lib
BIN := $(B)/bin

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

CFLAGS_COMMON := -std=gnu11 -O2 -g -D_GNU_SOURCE -Wall -Wextra \
	-Wmissing-prototypes -Wstrict-prototypes -Wno-unused-parameter
ifeq ($(CI),true)
CFLAGS_COMMON += -Werror
endif
# optimized less: half the time to compile, and the compiler knows less of how long texts get
SANITIZE := -O1 -Wno-format-truncation -fsanitize=address,undefined -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined
INCLUDES := -Iuapi -I. -I$(B)/gen

# Kernels: every one of the matrix; those with "build" get a module.
MATRIX  := tests/vm/matrix
KERNELS := $(shell awk '/^[0-9a-z]/ && $$5 == "build" { print $$1 }' $(MATRIX))
BOOTED  := $(shell awk '/^[0-9a-z]/ && $$6 == "boot" { print $$1 }' $(MATRIX))

KERNEL  ?= $(lastword $(BOOTED))

PROGRAMS   :=
LIBRARIES  :=
UNIT_TESTS :=
OBJS       :=

.PHONY: all
all: modules user

# ---------------------------------------------------------------- macros

# $(call _objs,variant,sources)
_objs = $(patsubst %.c,$(B)/$(1)/%.o,$(2))

# $(4) is the directory
define _program
PROGRAMS += $(4)/$(1)
OBJS += $(call _objs,obj,$(2))
$(4)/$(1): $(call _objs,obj,$(2)) $(filter %.a,$(3))
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_COMMON) $$(CFLAGS) $$(LDFLAGS) -o $$@ $(call _objs,obj,$(2)) $(3)
endef
program = $(eval $(call _program,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(BIN)))
libexec = $(eval $(call _program,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(B)/libexec))

define _library
LIBRARIES += $(LIB)/lib$(1).a
OBJS += $(call _objs,obj,$(2)) $(call _objs,san/obj,$(2))
$(LIB)/lib$(1).a: $(call _objs,obj,$(2))
$(B)/san/lib/lib$(1).a: $(call _objs,san/obj,$(2))
$(LIB)/lib$(1).a $(B)/san/lib/lib$(1).a:
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
library = $(eval $(call _library,$(strip $(1)),$(strip $(2))))

define _pic_library
LIBRARIES += $(LIB)/lib$(1).a
OBJS += $(call _objs,pic,$(2))
$(LIB)/lib$(1).a: $(call _objs,pic,$(2))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
pic_library = $(eval $(call _pic_library,$(strip $(1)),$(strip $(2))))

define _shlib
LIBRARIES += $(LIB)/lib$(1).so
OBJS += $(call _objs,pic,$(2))
$(LIB)/lib$(1).so: $(call _objs,pic,$(2)) $(filter %.a,$(3)) $(5)
	$$(call say,LD,$$@.$(4))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -shared $$(CFLAGS_COMMON) $$(CFLAGS) $$(LDFLAGS) -Wl,-z,defs \
		-Wl,-soname,lib$(1).so.$(firstword $(subst ., ,$(4))) \
		$(if $(5),-Wl$$(comma)--version-script=$(5)) \
		-o $$@.$(4) $(call _objs,pic,$(2)) $(3)
	@ln -sf lib$(1).so.$(4) $(LIB)/lib$(1).so.$(firstword $(subst ., ,$(4)))
	@ln -sf lib$(1).so.$(4) $$@
endef
shlib = $(eval $(call _shlib,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(strip $(4)),$(strip $(5))))
comma := ,
space := $() $()

define _san_program
OBJS += $(call _objs,san/obj,$(2))
$(B)/san/bin/$(1): $(call _objs,san/obj,$(2)) $(patsubst $(LIB)/%,$(B)/san/lib/%,$(filter %.a,$(3)))
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_COMMON) $$(SANITIZE) $$(CFLAGS) $$(LDFLAGS) -o $$@ \
		$(call _objs,san/obj,$(2)) $(patsubst $(LIB)/%.a,$(B)/san/lib/%.a,$(3))
endef
san_program = $(eval $(call _san_program,$(strip $(1)),$(strip $(2)),$(strip $(3))))
unit_test = $(eval UNIT_TESTS += $(B)/san/bin/$(strip $(1)))\
	$(call san_program,$(1),$(2),$(3) -lcmocka)

# flags of the file being compiled: its room's, its own
_flags = $(CFLAGS_COMMON) $(INCLUDES) $(CFLAGS_$(firstword $(subst /, ,$<))) $(CFLAGS_$<) $(CFLAGS)

define _compile
$(B)/$(1)/%.o: %.c
	$$(call say,CC,$$<)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(_flags) $(2) -MMD -MP -c -o $$@ $$<
endef
$(eval $(call _compile,obj,))
$(eval $(call _compile,pic,-fPIC -fvisibility=hidden))
$(eval $(call _compile,san/obj,$(SANITIZE)))

# ---------------------------------------------------------------- rooms

# in the order in which they use each other's variables
-include $(foreach r,base hosts coord image levels engine supervisor/net launch supervisor shim \
	libckptctl ckptctl web mpi-glue scheduler \
	tests tests/unit tests/mpi tests/cr tests/kselftest tests/vm tests/security tests/fuzz tests/sim \
	tests/crash tests/crash-consistency tests/vote bench docs,\
	$(sort $(wildcard $(r)/*.mk)))

-include $(sort $(OBJS:.o=.d))

# flags of one file are keyed by its path: a file that moved must take them along
$(foreach v,$(filter CFLAGS_%.c,$(.VARIABLES)),$(if $(wildcard $(v:CFLAGS_%=%)),,\
	$(error $(v) names no file: the file moved, and its flags did not)))

.PHONY: user
user: $(PROGRAMS) $(LIBRARIES)

# ---------------------------------------------------------------- kernels and module

.PHONY: setup modules modules-% FORCE
.PRECIOUS: $(B)/kernels/%/env
setup:
	scripts/setup

$(B)/kernels/debug/env: $(wildcard tests/vm/debug-kernel/*.frag)
	scripts/debug-kernel
$(B)/kernels/%/env: | $(MATRIX)
	scripts/setup --kernel $*

modules: $(KERNELS:%=modules-%)
modules-%: $(B)/kernels/%/env FORCE
	$(call say,KMOD,$(B)/kmod/$*/ckpt.ko)
	$(Q)+scripts/kmod-build $*

# ---------------------------------------------------------------- running it

# the testbed itself first, then what takes longest
VM_LONG := $(addprefix tests/vm/,smoke.t daemon.t cr.t capture.t badluck.t restore.t mpi_programs.t)
# ten minutes or more each, with a real Slurm, lost nodes, slow disks, replicas of MPI, a machine
# within the machine or programs of other people: of check-cluster
VM_CLUSTER := $(addprefix tests/vm/,crash_consistency.t devices.t anomalies.t held.t \
	slurm_short.t slurm.t slurm_script.t slurm_release.t slurm_often.t lease.t diagnose.t \
	vote_mpi.t real_programs.t scale.t no_alarm.t hang_act.t) tests/security/unit.t
# an hour and more: of check-long
VM_MEASURE := tests/vm/io_recall.t
TESTS  ?= $(VM_LONG) $(filter-out $(VM_LONG) $(VM_CLUSTER) $(VM_MEASURE),$(sort \
	$(wildcard tests/vm/*.t tests/security/*.t)))

.PHONY: vm demo bench
vm: modules-$(KERNEL) user
	scripts/vm run --kernel $(KERNEL) --module --mem 2048 --timeout 0 --tty \
		--env "PS1=$(KERNEL):\\w\\$$ " -- bash --norc

demo: setup all
	scripts/demo

# ---------------------------------------------------------------- checks
#
# `make check` runs every stage of CHECK_STAGES and ends with the sum. Each stage
# can be run alone, and is TAP programs run by scripts/tap (prove's harness); those
# that often wait, for the disk or for each other, are more at a time than CPUs.

CHECK_STAGES := setup all lint+check-kernel check-unit check-mpi check-vm

.PHONY: check lint check-unit check-mpi check-kernel check-vm check-vm-debug check-cluster \
	check-long
# one of three parts of scripts with many cases; SHARE=1/3 the second, SHARE=0/1 all
check: export TEST_SHARE := $(or $(SHARE),0/3)
check:
	@MAKEFLAGS='$(MAKEOVERRIDES)' scripts/check $(CHECK_STAGES)

lint:
	@scripts/tap lint scripts/lint

# what takes longest comes first
MPI_LONG := $(addprefix tests/mpi/,quiesce.t hosts.t erasure.t)
check-unit check-mpi: export TAP_JOBS := $(shell expr 2 "*" $$(nproc))
check-unit: $(UNIT_TESTS) $(B)/san/bin/tests/sim/sim user
	@CMOCKA_MESSAGE_OUTPUT=TAP scripts/tap check-unit $(sort $(wildcard tests/model/*.t)) \
		$(UNIT_TESTS) \
		$(sort $(wildcard tests/sim/*.t tests/fuzz/*.t tests/library/*.t tests/command/*.t))

check-mpi: user
	@scripts/tap check-mpi $(MPI_LONG) \
		$(filter-out $(MPI_LONG),$(sort $(wildcard tests/mpi/*.t)))

check-kernel: $(KERNELS:%=$(B)/kernels/%/env)
	@KERNELS='$(KERNELS)' scripts/tap check-kernel scripts/check-kernel

check-vm: $(if $(filter command line environment,$(origin KERNEL)),check-vm-$(KERNEL),check-vm-all)
.PHONY: check-vm-all
check-vm-all: export VM_SLICES ?= yes
check-vm-all: all consistency-programs
	@scripts/check-vm $(subst $(space),$(comma),$(strip $(BOOTED))) $(TESTS)
check-vm-%: modules-% user consistency-programs
	@scripts/check-vm $* $(TESTS)

# the first kernel of the matrix, and all scripts, if none is said
_said = $(filter command line environment,$(origin $(1)))
CLUSTER_KERNEL := $(if $(call _said,KERNEL),$(KERNEL),$(firstword $(BOOTED)))
CLUSTER_TESTS := $(if $(call _said,TESTS),$(TESTS),$(sort $(wildcard tests/cluster/*.t)) \
	$(VM_CLUSTER))
check-cluster: export TAP_TIMEOUT := 86400
check-cluster: modules-$(CLUSTER_KERNEL) user
	@KERNEL=$(CLUSTER_KERNEL) scripts/tap check-cluster $(CLUSTER_TESTS)

# what tests/vm/real_programs.t checkpoints: it is skipped without
.PHONY: real-programs
real-programs:
	@scripts/setup --real
check-cluster: | $(if $(filter %/real_programs.t,$(CLUSTER_TESTS)),real-programs)

# five runs of each program on each file system, and eight power cuts: half an hour or more
RUNS ?= 5
CUTS ?= 8
.PHONY: check-crash-consistency
check-crash-consistency: modules-$(CLUSTER_KERNEL) user
	tests/crash-consistency/run --kernel $(CLUSTER_KERNEL) --runs $(RUNS) --cuts $(CUTS) \
		$(if $(SEED),--seed $(SEED))

# the debug kernel is built when it is missing: 7 to 15 CPU minutes, once
check-vm-debug: modules-debug user consistency-programs
	@scripts/check-vm debug $(TESTS)

# the whole matrix of programs and flavours, on every kernel that boots; levels over four VMs
check-long: export CR_SUBSET := long
check-long: export MPI_SUBSET := all
check-long: export TAP_TIMEOUT := 28800
check-long: export VM_SLICES := no
check-long: long-programs check-vm-all check-sim-long check-levels-long check-slurm-long \
	check-recall-long check-alarm-long
# what some tests of programs of other people need, who are skipped without
.PHONY: long-programs
long-programs:
	@scripts/setup --programs
check-vm-all: | $(if $(filter check-long,$(MAKECMDGOALS)),long-programs)
.PHONY: check-sim-long check-levels-long check-slurm-long check-recall-long
check-sim-long: user
	@SIM_SEEDS=10000 scripts/tap check-sim-long tests/sim/seeds.t
check-levels-long: modules-$(CLUSTER_KERNEL) user
	@KERNEL=$(CLUSTER_KERNEL) scripts/tap check-levels-long tests/cluster/levels.t
check-slurm-long: modules-$(CLUSTER_KERNEL) user
	@KERNEL=$(CLUSTER_KERNEL) KILLS=50 scripts/tap check-slurm-long tests/vm/slurm_often.t
# hours of jobs that do not hang
.PHONY: check-alarm-long
check-alarm-long: export TAP_TIMEOUT := 28800
check-alarm-long: modules-$(CLUSTER_KERNEL) user
	@KERNEL=$(CLUSTER_KERNEL) ALARM_SECONDS=7200 TAP_COMMENTS=1 \
		scripts/tap check-alarm-long tests/vm/no_alarm.t
# recall and precision of verdicts on slow I/O; RECALL_RUNS of each kind
RECALL_RUNS ?= 30
check-recall-long: export TAP_TIMEOUT := 28800
check-recall-long: modules-$(CLUSTER_KERNEL) user
	@KERNEL=$(CLUSTER_KERNEL) RUNS=$(RECALL_RUNS) TAP_COMMENTS=1 \
		scripts/tap check-recall-long $(VM_MEASURE)

# ---------------------------------------------------------------- install, clean

PREFIX ?= /usr/local
libdir ?= $(PREFIX)/lib
# a file that a running process has mapped is replaced, never written to
install_libs = cp -d --preserve=mode --remove-destination \
	$(foreach l,$(1),$(wildcard $(l)*)) $(DESTDIR)$(2)
install_to = $(if $(strip $(2)),install -d $(DESTDIR)$(1) && install -m $(3) $(2) $(DESTDIR)$(1))

.PHONY: install clean distclean
install: user
	$(call install_to,$(PREFIX)/sbin,$(INSTALL_SBIN),755)
	$(call install_to,$(PREFIX)/bin,$(INSTALL_BIN),755)
	$(call install_to,$(PREFIX)/libexec/stillpoint,$(INSTALL_LIBEXEC),755)
	$(call install_to,$(PREFIX)/libexec/stillpoint/slurm,$(INSTALL_SLURM_FRONT),755)
	$(call install_to,$(PREFIX)/libexec/stillpoint/slurm,$(INSTALL_SLURM_SOURCED),644)
	$(call install_to,$(PREFIX)/lib/stillpoint/slurm,$(INSTALL_SPANK),755)
	$(call install_to,$(PREFIX)/include,$(INSTALL_INCLUDE),644)
	$(call install_to,$(PREFIX)/include/linux,$(wildcard uapi/linux/*),644)
	$(call install_to,$(PREFIX)/share/bash-completion/completions,$(INSTALL_COMPLETION),644)
	$(call install_to,$(libdir)/pkgconfig,$(INSTALL_PKGCONFIG),644)
	$(call install_to,$(PREFIX)/lib/systemd/system,$(INSTALL_UNIT),644)
	$(call install_to,$(PREFIX)/share/stillpoint,$(INSTALL_SHARE),644)
	$(call install_to,$(PREFIX)/lib/udev/rules.d,$(INSTALL_UDEV),644)
	$(call install_to,$(PREFIX)/lib/modules-load.d,$(INSTALL_MODULES_LOAD),644)
	@for k in $(KERNELS); do \
		[ -f $(B)/kmod/$$k/ckpt.ko ] && . $(B)/kernels/$$k/env || continue; \
		[ -n "$(DESTDIR)" ] || [ -d /lib/modules/$$KVER ] || \
			{ echo "module for $$KVER: no such kernel here"; continue; }; \
		install -D -m 644 -v $(B)/kmod/$$k/ckpt.ko \
			$(DESTDIR)/lib/modules/$$KVER/updates/ckpt.ko || exit; \
		[ -n "$(DESTDIR)" ] || depmod $$KVER || exit; \
	done
	install -d $(DESTDIR)$(libdir)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/lib/stillpoint/mpi/,mpich ompi)
	@[ -d $(DESTDIR)/etc/stillpoint ] || install -d -m 755 $(DESTDIR)/etc/stillpoint || \
		echo "the settings' directory was not made: the others are installed below $(PREFIX)"
	$(call install_libs,$(INSTALL_PRIVATE_LIB),$(PREFIX)/lib/stillpoint)
	for abi in mpich ompi; do install -m 755 $(LIB)/mpi/$$abi/*.so.* \
		$(DESTDIR)$(PREFIX)/lib/stillpoint/mpi/$$abi || exit; done
	$(call install_libs,$(INSTALL_LIB),$(libdir))
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	$(foreach s,1 3 5 7 8,$(call install_to,$(PREFIX)/share/man/man$(s),\
		$(filter %.$(s),$(INSTALL_MAN)),644)$(newline))
define newline


endef

# what was built; kernels and packages stay (distclean)
clean:
	$(call remove,$(addprefix $(B)/,obj pic san bin lib libexec gen kmod check check.failed check.again check.late vm))
	$(call remove,$(addprefix kmod/,*.o *.ko *.mod *.mod.c .*.cmd modules.order compat/*.o \
		compat/.*.cmd) modules.order Module.symvers .*.cmd)
distclean:
	$(call remove,$(B))
# VMs run as root and leave files of root
remove = rm -rf $(1) 2>/dev/null || sudo rm -rf $(1)
