# SPDX-License-Identifier: GPL-2.0-only
#
# A program whose result depends on each bit of its memory (tests/vm/scrub.t, vote.t).

$(call program,tests/vote/sums,tests/vote/sums.c,$(LIB)/libckptctl.a -ljansson)
