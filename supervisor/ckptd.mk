# SPDX-License-Identifier: GPL-2.0-only
# Operations (what ckptd's workers and ckptctl --standalone run) and ckptd.

OP_SOURCES := $(addprefix supervisor/,outcome.c op_args.c op_dump.c op_restore.c \
	op_doctor.c op_image.c duration.c)

$(call library,op,$(OP_SOURCES))

# Of the daemon, what the shim uses, too.
$(call library,daemon,$(addprefix supervisor/,reactor.c log.c))

# The daemon but for its main(), so that tests can link it.
CKPTD_SOURCES := $(addprefix supervisor/,daemon.c config.c ctl.c close_apart.c verbs.c \
	verbs_job.c verbs_checkpoint.c verbs_stats.c ranks_up.c job_images.c job_restore.c verbs_restart.c restarting.c restart_before.c restart_times.c verbs_list.c verbs_ranks.c verbs_tree.c verbs_image.c \
	verbs_nodes.c nodes.c parts.c parts_fence.c parts_home.c parts_away.c parts_start.c parts_place.c parts_fetch.c parts_forget.c parts_pin.c parts_try.c \
	fence_tree.c store.c store_door.c store_ask.c verbs_store.c \
	jobs.c job.c job_end.c job_kill.c ends.c launch.c rank_record.c rank_sources.c rank_link.c leave_out.c job_dump.c job_checkpoint.c job_memory.c schedule.c history.c \
	coord_driver.c coord_request.c coord_commit.c coord_local.c coord_figures.c coord_peer.c coord_record.c worker.c channel.c catalog.c catalog_claim.c catalog_parts.c first_key.c name_lock.c generation.c seal.c private.c kevents.c \
	catalog_index.c listing.c pin.c retention.c prune.c prune_levels.c unwanted.c unwanted_note.c keeper.c past.c merge.c merger.c verbs_merge.c tiers.c place_memo.c tier_group.c group_level.c group_encode.c group_rebuild.c scratch.c ticket.c verbs_ticket.c holdings.c promote.c promotion.c promotion_collect.c promotion_merge.c promotion_remove.c promoter.c levels_report.c levels_remove.c fetch.c fetch_image.c fetch_record.c fetching.c fsck.c verbs_keep.c verbs_fsck.c)
CFLAGS_supervisor/kevents.c += -I/usr/include/libnl3

$(call library,ckptd,$(CKPTD_SOURCES))

CKPTD_LIBS := $(LIB)/libckptd.a $(LIB)/libshim.a $(LIB)/libwire.a \
	$(LIB)/libinterval.a $(LIB)/libop.a $(LIB)/libpeer.a $(LIB)/libcoord.a $(LIB)/libdaemon.a \
	$(LIB)/libnodekey.a $(LIB)/libengine.a $(LIB)/liblevels.a $(LIB)/libimage.a \
	-lzmq -lprotobuf-c -ljansson -lsodium -luring -lzstd -lxxhash -lsystemd -lnl-genl-3 -lnl-3 -lsqlite3 -lisal -lm

$(call program,ckptd,supervisor/ckptd.c,$(CKPTD_LIBS))
INSTALL_SBIN += $(BIN)/ckptd
INSTALL_UNIT += $(B)/gen/ckptd.service
# an example: what is in /etc is the administrator's
INSTALL_SHARE += packaging/ckptd.conf

user: $(B)/gen/ckptd.service
$(B)/gen/ckptd.service: packaging/ckptd.service FORCE
	@mkdir -p $(@D)
	@sed 's|@SBINDIR@|$(PREFIX)/sbin|' $< >$@

$(call unit_test,tests/unit/test_config,tests/unit/test_config.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_coord_record,tests/unit/test_coord_record.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_catalog,tests/unit/test_catalog.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_retention,tests/unit/test_retention.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_catalog_index,tests/unit/test_catalog_index.c tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_keep,tests/unit/test_keep.c tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_fsck,tests/unit/test_fsck.c tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_rank_record,tests/unit/test_rank_record.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_rank_sources,tests/unit/test_rank_sources.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_coord_driver,tests/unit/test_coord_driver.c tests/unit/driver_box.c tests/unit/driver_box_rest.c,\
	$(LIB)/libcoord.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libengine.a $(LIB)/libimage.a \
	-ljansson -lsodium -luring -lzstd -lxxhash)
$(call unit_test,tests/unit/test_job_floor,tests/unit/test_job_floor.c tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_leave_out,tests/unit/test_leave_out.c supervisor/leave_out.c,$(LIB)/libshim.a -ljansson)
$(call unit_test,tests/unit/test_worker,tests/unit/test_worker.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_reactor,tests/unit/test_reactor.c,$(LIB)/libdaemon.a)

# fences of a job over its nodes, sans-IO
$(call library,fence-tree,supervisor/fence_tree.c)
$(call unit_test,tests/unit/test_fence_tree,tests/unit/test_fence_tree.c,$(LIB)/libfence-tree.a)

# how often to take a checkpoint: formulas, and what goes into them; no I/O
$(call library,interval,supervisor/interval.c supervisor/advice.c)
$(call unit_test,tests/unit/test_interval,tests/unit/test_interval.c,$(LIB)/libinterval.a -lm)
$(call unit_test,tests/unit/test_history,tests/unit/test_history.c,$(CKPTD_LIBS))

$(call unit_test,tests/unit/test_store,tests/unit/test_store.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_tiers,tests/unit/test_tiers.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_promote,tests/unit/test_promote.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_promoter,tests/unit/test_promoter.c,$(CKPTD_LIBS))
PROMOTION_BOX := tests/unit/promotion_box.c tests/unit/keep_fixture.c
$(call unit_test,tests/unit/test_promotion,tests/unit/test_promotion.c $(PROMOTION_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_promotion_faults,tests/unit/test_promotion_faults.c $(PROMOTION_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_merge,tests/unit/test_merge.c tests/unit/keep_fixture.c,$(CKPTD_LIBS))
FETCH_BOX := tests/unit/fetch_fixture.c tests/unit/keep_fixture.c
$(call unit_test,tests/unit/test_fetch,tests/unit/test_fetch.c $(FETCH_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_fetch_job,tests/unit/test_fetch_job.c $(FETCH_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_levels_remove,tests/unit/test_levels_remove.c tests/unit/keep_fixture.c,$(CKPTD_LIBS))
# for tests that move images about
$(call program,tests/tools/mkparts,tests/tools/mkparts.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_group_level,tests/unit/test_group_level.c tests/unit/image_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_tier_group,tests/unit/test_tier_group.c,$(CKPTD_LIBS))
