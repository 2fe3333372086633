# SPDX-License-Identifier: GPL-2.0-only
# The public library, and the frames that it shares with ckptd.

LIBCKPTCTL_SOURCES := $(wildcard libckptctl/*.c)

$(call library,wire,libckptctl/wire.c)
$(call shlib,ckptctl,$(LIBCKPTCTL_SOURCES),\
	-ljansson,0.1,libckptctl/libckptctl.map)
$(call library,ckptctl,$(LIBCKPTCTL_SOURCES))

INSTALL_INCLUDE += libckptctl/ckptctl.h libckptctl/ckptctl.f90
INSTALL_LIB += $(LIB)/libckptctl.so
INSTALL_PKGCONFIG += $(B)/gen/libckptctl.pc

# FORCE: PREFIX is another for every installation
user: $(B)/gen/libckptctl.pc
$(B)/gen/libckptctl.pc: libckptctl/libckptctl.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(libdir)|' \
		-e "s|@VERSION@|$$(sed -n 's/.*VERSION[^"]*"\(.*\)"/\1/p' libckptctl/version.h)|" \
		$< >$@

$(call unit_test,tests/unit/test_wire,tests/unit/test_wire.c,$(LIB)/libwire.a)
$(call unit_test,tests/unit/test_exclude,tests/unit/test_exclude.c,$(LIB)/libckptctl.a -ljansson)
$(call unit_test,tests/unit/test_library,tests/unit/test_library.c,$(LIB)/libckptctl.a -ljansson)
