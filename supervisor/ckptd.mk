# SPDX-License-Identifier: GPL-2.0-only
# Operations (what ckptd's workers and ckptctl --standalone run) and ckptd.

OP_SOURCES := $(addprefix supervisor/,outcome.c op_args.c op_dump.c op_restore.c \
	op_doctor.c op_image.c)

$(call library,op,$(OP_SOURCES))

# Of the daemon, what the shim uses, too.
$(call library,daemon,$(addprefix supervisor/,reactor.c log.c))
