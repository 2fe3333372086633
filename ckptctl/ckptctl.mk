# SPDX-License-Identifier: GPL-2.0-only
# The command.  Linked statically with our own libraries: it must work where
# nothing is installed yet.

$(call program,ckptctl,$(wildcard ckptctl/*.c),\
	$(LIB)/libckptctl.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libengine.a $(LIB)/libimage.a \
	-lsmartcols -ljansson -lsodium -lzstd -lxxhash)
INSTALL_BIN += $(BIN)/ckptctl
INSTALL_COMPLETION += $(B)/gen/completion/ckptctl

user: $(B)/gen/completion/ckptctl
$(B)/gen/completion/ckptctl: ckptctl/completion.bash
	@mkdir -p $(@D)
	@cp $< $@
