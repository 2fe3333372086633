# SPDX-License-Identifier: GPL-2.0-only
# The public library, and the frames that it shares with ckptd.

$(call library,wire,libckptctl/wire.c)
$(call shlib,ckptctl,libckptctl/handle.c libckptctl/job.c libckptctl/wire.c,\
	-ljansson,0.1,libckptctl/libckptctl.map)
$(call library,ckptctl,libckptctl/handle.c libckptctl/job.c libckptctl/wire.c)

INSTALL_INCLUDE += libckptctl/ckptctl.h

$(call unit_test,tests/unit/test_wire,tests/unit/test_wire.c,$(LIB)/libwire.a)
