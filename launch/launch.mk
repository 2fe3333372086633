# SPDX-License-Identifier: GPL-2.0-only
# ckpt-launch, and what ckptd needs of it.

$(call library,launch,launch/order.c launch/place.c launch/launcher.c)

$(call program,ckpt-launch,launch/main.c,$(LIB)/liblaunch.a $(LIB)/libwire.a $(LIB)/libbase.a \
	-ljansson -lsystemd)
INSTALL_LIBEXEC += $(BIN)/ckpt-launch

$(call unit_test,tests/unit/test_launcher,tests/unit/test_launcher.c,\
	$(LIB)/liblaunch.a $(LIB)/libwire.a $(LIB)/libbase.a -ljansson)
