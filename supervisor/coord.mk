# SPDX-License-Identifier: GPL-2.0-only
# The coordinator of job-wide checkpoints: no I/O, so nothing to link with.

COORD_SOURCES := \
	coord/coord.c \
	coord/coord_channels.c \
	supervisor/checkpoint/coord_commit.c \
	supervisor/checkpoint/coord_driver.c \
	supervisor/checkpoint/coord_figures.c \
	supervisor/checkpoint/coord_local.c \
	coord/coord_node.c \
	supervisor/checkpoint/coord_peer.c \
	supervisor/job/coord_record.c \
	supervisor/checkpoint/coord_request.c \
	coord/coord_restart.c \
	coord/coord_root.c \
	coord/coord_table.c \
	coord/coord_targets.c \
	coord/coord_text.c \
	coord/coord_tree.c \
	coord/coord_view.c

$(call library,coord,$(COORD_SOURCES))

$(call unit_test,tests/unit/test_coord,tests/unit/test_coord.c,$(LIB)/libcoord.a)
