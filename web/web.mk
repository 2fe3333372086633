# SPDX-License-Identifier: GPL-2.0-only
# The web pages: a program of its own, since ckptd and ckptctl speak no HTTP.

WEB_STATIC := web/static/style.css web/static/page.js web/static/icon.svg
WEB_PURE := web/html.c web/guard.c web/route.c web/timeline.c
WEB_LIBS := $(LIB)/libckptctl.a $(LIB)/libbase.a -lmicrohttpd -ljansson -lpthread

$(call program,ckptweb,$(wildcard web/*.c),$(WEB_LIBS))
INSTALL_BIN += $(BIN)/ckptweb
INSTALL_COMPLETION += $(B)/gen/completion/ckptweb
user: $(B)/gen/completion/ckptweb

# the static files, as arrays in the program
$(B)/obj/web/server.o $(B)/san/obj/web/server.o: $(B)/gen/web/assets.h
$(B)/gen/web/assets.h: web/embed $(WEB_STATIC)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)web/embed $(WEB_STATIC) >$@

$(call unit_test,tests/unit/test_web,tests/unit/test_web.c $(WEB_PURE),\
	$(LIB)/libbase.a -ljansson)
# a page with the answers of a test
$(call unit_test,tests/unit/test_page_io,tests/unit/test_page_io.c $(WEB_PURE) \
	$(wildcard web/page*.c),$(LIB)/libbase.a -ljansson)
