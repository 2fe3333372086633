# SPDX-License-Identifier: GPL-2.0-only
# Levels of storage: copies of images, parity over those of a group of nodes.

LEVELS_LIBS := $(LIB)/liblevels.a $(LIB)/libbase.a $(IMAGE_LIBS) -lisal

$(call library,levels,$(wildcard levels/*.c))
$(call unit_test,tests/unit/test_levels,tests/unit/test_levels.c tests/unit/level_box.c \
	tests/unit/faulty_writer.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_level_places,tests/unit/test_level_places.c \
	tests/unit/level_box.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_rs,tests/unit/test_rs.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_groups,tests/unit/test_groups.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_erasure,tests/unit/test_erasure.c \
	tests/unit/erasure_fixture.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_erasure_faults,tests/unit/test_erasure_faults.c \
	tests/unit/erasure_fixture.c tests/unit/faulty_writer.c \
		tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_partner_choose,tests/unit/test_partner_choose.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_partner,tests/unit/test_partner.c \
	tests/unit/partner_rig.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_partner_disks,tests/unit/test_partner_disks.c \
	tests/unit/partner_rig.c tests/unit/faulty_writer.c \
		tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_partner_wire,tests/unit/test_partner_wire.c \
	tests/unit/partner_rig.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_partner_lies,tests/unit/test_partner_lies.c \
	tests/unit/partner_rig.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
$(call unit_test,tests/unit/test_parity_moves,tests/unit/test_parity_moves.c \
	tests/unit/partner_rig.c tests/unit/image_fixture.c,$(LEVELS_LIBS))
# for tests that move images about
$(call program,tests/tools/mkimage,tests/tools/mkimage.c,$(IMAGE_LIBS))
