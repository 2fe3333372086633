# SPDX-License-Identifier: GPL-2.0-only
# The command.  Linked statically with our own libraries: it must work where
# nothing is installed yet.

# not before there is an engine to link
ifneq ($(and $(wildcard supervisor/dump.c),$(wildcard supervisor/restore.c),$(wildcard image/reader.c)),)
$(call program,ckptctl,$(wildcard ckptctl/*.c),\
	$(LIB)/libckptctl.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libengine.a $(LIB)/libimage.a \
	-lsmartcols -ljansson -lsodium -lzstd -lxxhash)
INSTALL_BIN += $(BIN)/ckptctl
endif
