# SPDX-License-Identifier: GPL-2.0-only
# Messages between the ckptds of several nodes.

$(call library,nodekey,$(addprefix supervisor/,node_key.c hosts.c))

NODEKEY_LIBS := $(LIB)/libnodekey.a $(LIB)/libimage.a -lsodium -lzstd -lxxhash -ljansson

$(call unit_test,tests/unit/test_hosts,tests/unit/test_hosts.c,$(NODEKEY_LIBS))
