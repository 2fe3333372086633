# SPDX-License-Identifier: GPL-2.0-only
# Slurm: the launcher for batch scripts, the SPANK plugin, and the mpirun that it puts into PATH.
# Only these know Slurm's headers and library, so that ckptctl runs where Slurm is not installed.

$(call program,ckpt-slurm-run,$(addprefix scheduler/slurm/,ckpt_slurm_run.c batch.c launch.c \
	saver.c),$(LIB)/libckptctl.a $(LIB)/libbase.a -lslurm -ljansson)
INSTALL_BIN += $(BIN)/ckpt-slurm-run
INSTALL_COMPLETION += $(B)/gen/completion/ckpt-slurm-run
user: $(B)/gen/completion/ckpt-slurm-run

# Slurm's programs have the functions that the plugin calls, so some of its symbols are undefined.
SPANK := $(LIB)/slurm/spank_ckpt.so
SPANK_OBJS := $(B)/pic/scheduler/slurm/spank_ckpt.o $(B)/pic/base/duration.o
OBJS += $(SPANK_OBJS)
CFLAGS_scheduler/slurm/spank_ckpt.c = \
	-DSPANK_CKPT_FRONT='"$(PREFIX)/libexec/stillpoint/slurm"'
$(SPANK): $(SPANK_OBJS)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(CFLAGS_COMMON) $(CFLAGS) $(LDFLAGS) -o $@ $^

SLURM_FRONT := $(addprefix $(B)/libexec/slurm/,mpirun mpiexec)
$(SLURM_FRONT): scheduler/slurm/mpirun
	@mkdir -p $(@D)
	@install -m 755 $< $@

user: $(SPANK) $(SLURM_FRONT)
INSTALL_SPANK += $(SPANK)
INSTALL_SLURM_FRONT += $(SLURM_FRONT)

$(call unit_test,tests/unit/test_launch,tests/unit/test_launch.c scheduler/slurm/launch.c)
