# SPDX-License-Identifier: GPL-2.0-only
# The coordinator of job-wide checkpoints: no I/O, so nothing to link with.

$(call library,coord,$(wildcard coord/*.c))

$(call unit_test,tests/unit/test_coord,tests/unit/test_coord.c,$(LIB)/libcoord.a)
# fences of a job over its nodes
$(call unit_test,tests/unit/test_fence_tree,tests/unit/test_fence_tree.c,$(LIB)/libcoord.a)
