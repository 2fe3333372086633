# SPDX-License-Identifier: GPL-2.0-only
# Slurm: the launcher for batch scripts, the SPANK plugin, and the fronts that it puts into PATH.
# Only these know Slurm's headers and library, so that ckptctl runs where Slurm is not installed.

$(call program,ckpt-slurm-run,$(addprefix scheduler/slurm/,ckpt_slurm_run.c batch.c child.c \
	drain.c find.c launch.c launcher.c policy.c port.c request.c run.c run_requeue.c \
	run_save.c saver.c say.c script.c step.c),\
	$(LIB)/libckptctl.a $(LIB)/libbase.a -lslurm -ljansson)
$(call program,ckpt-slurm-drain,$(addprefix scheduler/slurm/,ckpt_slurm_drain.c drain.c),\
	$(LIB)/libbase.a -lslurm)
$(call program,ckpt-slurm-move,$(addprefix scheduler/slurm/,ckpt_slurm_move.c move.c),\
	$(LIB)/libbase.a -lslurm)
SLURM_PROGRAMS := ckpt-slurm-run ckpt-slurm-drain ckpt-slurm-move
INSTALL_BIN += $(addprefix $(BIN)/,$(SLURM_PROGRAMS))
SLURM_COMPLETION := $(addprefix $(B)/gen/completion/,$(SLURM_PROGRAMS))
INSTALL_COMPLETION += $(SLURM_COMPLETION)
user: $(SLURM_COMPLETION)

$(call program,ckpt-batch,scheduler/batch/ckpt_batch.c \
	scheduler/slurm/saver.c scheduler/slurm/step.c,\
	$(LIB)/libckptctl.a $(LIB)/libbase.a -ljansson)
INSTALL_BIN += $(BIN)/ckpt-batch
INSTALL_COMPLETION += $(B)/gen/completion/ckpt-batch
user: $(B)/gen/completion/ckpt-batch

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

# Of slurmctld, whose PluginDir has to name its directory.
SUBMIT := $(LIB)/slurm/job_submit_stillpoint.so
SUBMIT_OBJS := $(B)/pic/scheduler/slurm/job_submit_stillpoint.o
OBJS += $(SUBMIT_OBJS)
$(SUBMIT): $(SUBMIT_OBJS)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(CFLAGS_COMMON) $(CFLAGS) $(LDFLAGS) -o $@ $^

SLURM_FRONT := $(addprefix $(B)/libexec/slurm/,mpirun mpiexec script srun)
# not executable: their directory comes first in PATH
SLURM_SOURCED := $(addprefix $(B)/libexec/slurm/,call front)
$(B)/libexec/slurm/mpiexec: scheduler/slurm/mpirun
$(B)/libexec/slurm/mpirun: scheduler/slurm/mpirun
$(B)/libexec/slurm/script: scheduler/slurm/script
$(B)/libexec/slurm/srun: scheduler/slurm/srun
$(B)/libexec/slurm/call: scheduler/slurm/call
$(B)/libexec/slurm/front: scheduler/slurm/front
$(SLURM_FRONT):
	@mkdir -p $(@D)
	@install -m 755 $< $@
$(SLURM_SOURCED):
	@mkdir -p $(@D)
	@install -m 644 $< $@

user: $(SPANK) $(SUBMIT) $(SLURM_FRONT) $(SLURM_SOURCED)
INSTALL_SPANK += $(SPANK) $(SUBMIT)
INSTALL_SLURM_FRONT += $(SLURM_FRONT)
INSTALL_SLURM_SOURCED += $(SLURM_SOURCED)

$(call unit_test,tests/unit/test_slurm_step,tests/unit/test_slurm_step.c scheduler/slurm/step.c)
$(call unit_test,tests/unit/test_launch,tests/unit/test_launch.c scheduler/slurm/launch.c \
	scheduler/slurm/step.c)
$(call unit_test,tests/unit/test_slurm_policy,tests/unit/test_slurm_policy.c \
	scheduler/slurm/policy.c)
$(call unit_test,tests/unit/test_slurm_request,tests/unit/test_slurm_request.c \
	scheduler/slurm/request.c)
$(call unit_test,tests/unit/test_slurm_saver,tests/unit/test_slurm_saver.c \
	$(addprefix scheduler/slurm/,batch.c child.c find.c policy.c port.c request.c saver.c \
	say.c step.c),\
	$(LIB)/libckptctl.a $(LIB)/libwire.a $(LIB)/libbase.a -lslurm -ljansson)
$(call unit_test,tests/unit/test_spank,tests/unit/test_spank.c scheduler/slurm/spank_ckpt.c,\
	$(LIB)/libbase.a)
