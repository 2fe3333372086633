# SPDX-License-Identifier: GPL-2.0-only
# The image library and its tests.

IMAGE_LIBS := $(LIB)/libimage.a $(LIB)/libbase.a -lpthread -luring -lzstd -lsodium -lxxhash \
	-ljansson

$(call library,image,$(wildcard image/*.c))

# with tests/unit/counted.c: what is mapped is counted
COUNTED := -Wl,--wrap=mmap,--wrap=munmap

define _image_test
$(call unit_test,tests/unit/$(1),tests/unit/$(1).c tests/unit/image_fixture.c,$(IMAGE_LIBS))
endef
$(eval $(foreach t,test_image_roundtrip test_image_key test_image_corrupt test_image_same \
	test_image_cache test_image_show test_image_account test_image_pace test_image_encrypt \
	test_image_secret test_image_rooms test_job_key,$(call _image_test,$(t))))
$(call unit_test,tests/unit/test_image_base,tests/unit/test_image_base.c \
	tests/unit/chain_fixture.c tests/unit/image_fixture.c,$(IMAGE_LIBS))
$(call unit_test,tests/unit/test_image_merge,tests/unit/test_image_merge.c \
	tests/unit/faulty_writer.c \
	tests/unit/chain_fixture.c tests/unit/image_fixture.c,$(IMAGE_LIBS))
$(call unit_test,tests/unit/test_image_faults,tests/unit/test_image_faults.c \
	tests/unit/faulty_writer.c tests/unit/image_fixture.c,$(IMAGE_LIBS))
$(call unit_test,tests/unit/test_image_budget,tests/unit/test_image_budget.c tests/unit/counted.c \
	tests/unit/image_fixture.c,$(IMAGE_LIBS) $(COUNTED) -Wl$(comma)--wrap=sched_getaffinity)
