# SPDX-License-Identifier: GPL-2.0-only
# Which nodes there are and by which keys they are known: for ckptd, and for ckptctl keygen.

$(call library,hosts,$(wildcard hosts/*.c))

HOSTS_LIBS := $(LIB)/libhosts.a $(LIB)/libbase.a -lsodium

$(call unit_test,tests/unit/test_hosts,tests/unit/test_hosts.c,$(HOSTS_LIBS))
$(call unit_test,tests/unit/test_credential,tests/unit/test_credential.c,\
	$(HOSTS_LIBS) -ljansson)
$(call unit_test,tests/unit/test_wrap,tests/unit/test_wrap.c,$(HOSTS_LIBS))
