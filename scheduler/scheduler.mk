# SPDX-License-Identifier: GPL-2.0-only
# Slurm: the launcher for batch scripts. The only program that is linked with libslurm, so that
# ckptctl runs where Slurm is not installed.

$(call program,ckpt-slurm-run,$(addprefix scheduler/slurm/,ckpt_slurm_run.c batch.c launch.c \
	saver.c),$(LIB)/libckptctl.a $(LIB)/libbase.a -lslurm -ljansson)
INSTALL_BIN += $(BIN)/ckpt-slurm-run

