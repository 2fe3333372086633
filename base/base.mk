# SPDX-License-Identifier: GPL-2.0-only
# What every room uses: the event loop, the log, errors, small files. Knows no other room.

$(call library,base,$(wildcard base/*.c))

$(call unit_test,tests/unit/test_reactor,tests/unit/test_reactor.c,$(LIB)/libbase.a)
$(call unit_test,tests/unit/test_typo,tests/unit/test_typo.c,$(LIB)/libbase.a)
$(call unit_test,tests/unit/test_proc_stat,tests/unit/test_proc_stat.c,$(LIB)/libbase.a)
$(call unit_test,tests/unit/test_atomic_json,tests/unit/test_atomic_json.c,\
	$(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_scheduling,tests/unit/test_scheduling.c,\
	$(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_binding,tests/unit/test_binding.c,\
	$(LIB)/libbase.a -ljansson)
