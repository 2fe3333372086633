# SPDX-License-Identifier: GPL-2.0-only
#
# The lower half: what the shims link to load it, and the program it runs in.

# replaces system calls in the middle of any function: see mpi-glue/lower/lower_internal.h
LOWER_HOOKS := mpi-glue/lower/lower_fd.c mpi-glue/lower/lower_patch.c mpi-glue/lower/lower_range.c \
	mpi-glue/lower/lower_syscall.c
LOWER_HOOK_FLAGS := -mgeneral-regs-only -fno-stack-protector -fcf-protection=none \
	-fno-tree-loop-distribute-patterns -fno-builtin -fno-sanitize=all
$(foreach s,$(LOWER_HOOKS),$(eval CFLAGS_$(s) := $(LOWER_HOOK_FLAGS)))

$(call pic_library,glue-lower,$(LOWER_HOOKS) mpi-glue/lower/lower_elf.c \
	mpi-glue/lower/lower_loader.c \
	mpi-glue/lower/lower_maps.c mpi-glue/lower/lower_pool.c mpi-glue/lower/lower_stack.c \
	mpi-glue/lower/lower_switch.c mpi-glue/lower/glue_signal.c)
$(call libexec,ckpt-lower,mpi-glue/lower/lower_main.c,-rdynamic)
INSTALL_LIBEXEC += $(B)/libexec/ckpt-lower
