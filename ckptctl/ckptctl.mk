# SPDX-License-Identifier: GPL-2.0-only
# The command.  Linked statically with our own libraries: it must work where
# nothing is installed yet.

$(call library,cli,$(filter-out %/main.c %/ckptrun.c,$(wildcard ckptctl/*.c)))

$(call program,ckptctl,ckptctl/main.c,\
	$(LIB)/libcli.a $(LIB)/libckptctl.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libhosts.a \
		$(LIB)/libengine.a $(LIB)/liblevels.a $(LIB)/libimage.a $(LIB)/libbase.a \
	-lsmartcols -ljansson -lsodium -luring -lzstd -lxxhash -lelf)
$(call program,ckptrun,ckptctl/ckptrun.c,\
	$(LIB)/libcli.a $(LIB)/libckptctl.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libhosts.a \
		$(LIB)/libengine.a $(LIB)/liblevels.a $(LIB)/libimage.a $(LIB)/libbase.a \
	-lsmartcols -ljansson -lsodium -luring -lzstd -lxxhash -lelf)
INSTALL_BIN += $(BIN)/ckptctl $(BIN)/ckptrun
INSTALL_COMPLETION += $(B)/gen/completion/ckptctl $(B)/gen/completion/ckptrun

user: $(B)/gen/completion/ckptctl $(B)/gen/completion/ckptrun
# one file for both: bash-completion looks for it by the command's name
$(B)/gen/completion/%: ckptctl/completion.bash
	@mkdir -p $(@D)
	@cp $< $@

$(call unit_test,tests/unit/test_recover_policy,tests/unit/test_recover_policy.c \
	ckptctl/recover_policy.c,)
$(call unit_test,tests/unit/test_lost_nodes,tests/unit/test_lost_nodes.c ckptctl/lost_nodes.c,\
	-ljansson)
$(call unit_test,tests/unit/test_recover_nodes,tests/unit/test_recover_nodes.c \
	ckptctl/recover_nodes.c,-ljansson)
# stacks as a tree
$(call unit_test,tests/unit/test_stack_tree,tests/unit/test_stack_tree.c \
	ckptctl/stack_tree.c,)
# as root: becomes another user
$(call unit_test,tests/unit/test_diag_place,tests/unit/test_diag_place.c,\
	$(LIB)/libcli.a $(LIB)/libckptctl.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libhosts.a \
		$(LIB)/libengine.a $(LIB)/liblevels.a $(LIB)/libimage.a $(LIB)/libbase.a \
	-lsmartcols -ljansson -lsodium -luring -lzstd -lxxhash -lelf)
# runs the command
$(call unit_test,tests/unit/test_copy,tests/unit/test_copy.c \
	tests/unit/image_fixture.c,$(IMAGE_LIBS))
