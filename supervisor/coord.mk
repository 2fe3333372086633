# SPDX-License-Identifier: GPL-2.0-only
# The coordinator of job-wide checkpoints: no I/O, so nothing to link with.

COORD_SOURCES := \
	supervisor/coord.c \
	supervisor/coord_channels.c \
	supervisor/coord_commit.c \
	supervisor/coord_driver.c \
	supervisor/coord_figures.c \
	supervisor/coord_local.c \
	supervisor/coord_node.c \
	supervisor/coord_peer.c \
	supervisor/coord_record.c \
	supervisor/coord_request.c \
	supervisor/coord_restart.c \
	supervisor/coord_root.c \
	supervisor/coord_table.c \
	supervisor/coord_targets.c \
	supervisor/coord_text.c \
	supervisor/coord_tree.c \
	supervisor/coord_view.c

$(call library,coord,$(COORD_SOURCES))

$(call unit_test,tests/unit/test_coord,tests/unit/test_coord.c,$(LIB)/libcoord.a)
