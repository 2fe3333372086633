# SPDX-License-Identifier: GPL-2.0-only
# What ckptd and ckptctl need of the shim (messages, identity), and the shim.

$(call library,shim,shim/proto.c shim/identity.c shim/ranks.c)

# process management, for the shim and for tests
$(call library,pm,shim/pmi1.c shim/pmi1_kvs.c shim/fence.c shim/pm_pmi1.c shim/pm_port.c)

$(call unit_test,tests/unit/test_pmi1,tests/unit/test_pmi1.c,$(LIB)/libpm.a $(LIB)/libbase.a)
$(call unit_test,tests/unit/test_pm_pmi1,tests/unit/test_pm_pmi1.c,\
	$(LIB)/libpm.a $(LIB)/libshim.a $(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_ranks,tests/unit/test_ranks.c,\
	$(LIB)/libcli.a $(LIB)/libpm.a $(LIB)/libshim.a $(LIB)/libbase.a -ljansson -lelf)

$(call unit_test,tests/unit/test_stdio,tests/unit/test_stdio.c shim/stdio.c shim/labels.c,\
	$(LIB)/libimage.a $(LIB)/libbase.a)

$(call unit_test,tests/unit/test_follow,tests/unit/test_follow.c shim/follow.c shim/spec.c,\
	$(LIB)/libshim.a $(LIB)/libimage.a $(LIB)/libbase.a -ljansson)

# status pages of MPI ranks, for the shim and for tests
$(call library,pages,shim/pages.c shim/pages_collectives.c shim/pages_doing.c shim/pages_open.c \
	shim/pages_order.c shim/pages_stall.c)
$(call unit_test,tests/unit/test_pages,tests/unit/test_pages.c tests/unit/pages_fixture.c,\
	$(LIB)/libpages.a $(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_pages_lower,tests/unit/test_pages_lower.c \
	tests/unit/pages_fixture.c,\
	$(LIB)/libpages.a $(LIB)/libbase.a -ljansson)

$(call program,ckpt-shim,shim/main.c shim/init.c shim/restore.c shim/start.c shim/spec.c \
	shim/client.c shim/confine.c shim/try.c shim/rollback.c \
	shim/stdio.c shim/stdio_open.c shim/labels.c shim/follow.c shim/members.c \
	shim/shim_ranks.c shim/shim_pages.c,\
	$(LIB)/libpages.a $(LIB)/libshim.a $(LIB)/libpm.a $(LIB)/libwire.a $(LIB)/libop.a \
	$(LIB)/libengine.a $(LIB)/libimage.a $(LIB)/libbase.a -ljansson -lsodium -luring -lzstd \
		-lxxhash)
INSTALL_LIBEXEC += $(BIN)/ckpt-shim

# loaded by the shim of a job that needs it; its own copy of the loop's functions
CFLAGS_shim/pm_pmix.c := -isystem /usr/lib/x86_64-linux-gnu/pmix2/include
CFLAGS_shim/pm_pmix_job.c := $(CFLAGS_shim/pm_pmix.c)
$(call shlib,ckpt-pmix,shim/pm_pmix.c shim/pm_pmix_job.c base/reactor.c,-lpmix -ljansson \
	-lpthread,0.1,shim/pm_pmix.map)
INSTALL_PRIVATE_LIB += $(LIB)/libckpt-pmix.so
