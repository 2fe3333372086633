# SPDX-License-Identifier: GPL-2.0-only
# The image library and its tests.

IMAGE_LIBS := $(LIB)/libimage.a -lzstd -lsodium -lxxhash -ljansson

$(call library,image,$(wildcard image/*.c))
