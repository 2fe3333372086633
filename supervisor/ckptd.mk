# SPDX-License-Identifier: GPL-2.0-only
# Operations (what ckptd's workers and ckptctl --standalone run) and ckptd.

OP_SOURCES := \
	base/outcome.c \
	engine/op/op_args.c \
	engine/op/op_dump.c \
	engine/op/op_restore.c \
	engine/op/op_doctor.c \
	engine/op/op_image.c \
	base/duration.c

$(call library,op,$(OP_SOURCES))

# Of the daemon, what the shim uses, too.
$(call library,daemon,\
	base/reactor.c \
	base/log.c)

# The daemon but for its main(), so that tests can link it.
CKPTD_SOURCES := \
	supervisor/daemon.c \
	supervisor/config.c \
	supervisor/control/ctl.c \
	base/close_apart.c \
	supervisor/verbs/verbs.c \
	supervisor/verbs/verbs_job.c \
	supervisor/verbs/verbs_checkpoint.c \
	supervisor/verbs/verbs_stats.c \
	supervisor/checkpoint/ranks_up.c \
	supervisor/job/job_images.c \
	supervisor/job/job_restore.c \
	supervisor/verbs/verbs_restart.c \
	supervisor/restart/restarting.c \
	supervisor/restart/restart_before.c \
	supervisor/restart/restart_times.c \
	supervisor/verbs/verbs_list.c \
	supervisor/verbs/verbs_ranks.c \
	supervisor/verbs/verbs_tree.c \
	supervisor/verbs/verbs_image.c \
	supervisor/verbs/verbs_nodes.c \
	supervisor/net/nodes.c \
	supervisor/parts/parts.c \
	supervisor/parts/parts_fence.c \
	supervisor/parts/parts_home.c \
	supervisor/parts/parts_away.c \
	supervisor/parts/parts_start.c \
	supervisor/parts/parts_place.c \
	supervisor/parts/parts_fetch.c \
	supervisor/parts/parts_forget.c \
	supervisor/parts/parts_pin.c \
	supervisor/parts/parts_try.c \
	coord/fence_tree.c \
	supervisor/storage/store.c \
	supervisor/storage/store_door.c \
	supervisor/storage/store_ask.c \
	supervisor/verbs/verbs_store.c \
	supervisor/job/jobs.c \
	supervisor/job/job.c \
	supervisor/job/job_end.c \
	supervisor/job/job_kill.c \
	supervisor/job/ends.c \
	supervisor/job/launch.c \
	supervisor/job/rank_record.c \
	supervisor/job/rank_sources.c \
	supervisor/job/rank_link.c \
	supervisor/job/leave_out.c \
	supervisor/job/job_dump.c \
	supervisor/checkpoint/job_checkpoint.c \
	supervisor/job/job_memory.c \
	supervisor/auto/schedule.c \
	supervisor/catalog/history.c \
	supervisor/checkpoint/coord_driver.c \
	supervisor/checkpoint/coord_request.c \
	supervisor/checkpoint/coord_commit.c \
	supervisor/checkpoint/coord_local.c \
	supervisor/checkpoint/coord_figures.c \
	supervisor/checkpoint/coord_peer.c \
	supervisor/job/coord_record.c \
	supervisor/control/worker.c \
	supervisor/control/channel.c \
	supervisor/catalog/catalog.c \
	supervisor/catalog/catalog_claim.c \
	supervisor/catalog/catalog_parts.c \
	supervisor/catalog/first_key.c \
	supervisor/catalog/name_lock.c \
	supervisor/catalog/generation.c \
	supervisor/catalog/seal.c \
	supervisor/catalog/private.c \
	supervisor/kevents.c \
	supervisor/catalog/catalog_index.c \
	supervisor/catalog/listing.c \
	supervisor/catalog/pin.c \
	supervisor/catalog/retention.c \
	supervisor/storage/prune.c \
	supervisor/storage/prune_levels.c \
	supervisor/catalog/unwanted.c \
	supervisor/job/unwanted_note.c \
	supervisor/auto/keeper.c \
	supervisor/parts/past.c \
	supervisor/catalog/merge.c \
	supervisor/auto/merger.c \
	supervisor/verbs/verbs_merge.c \
	supervisor/storage/tiers.c \
	supervisor/storage/place_memo.c \
	supervisor/storage/tier_group.c \
	supervisor/storage/group_level.c \
	supervisor/storage/group_encode.c \
	supervisor/storage/group_rebuild.c \
	supervisor/storage/scratch.c \
	supervisor/storage/ticket.c \
	supervisor/verbs/verbs_ticket.c \
	supervisor/storage/holdings.c \
	supervisor/storage/promote.c \
	supervisor/storage/promotion.c \
	supervisor/storage/promotion_collect.c \
	supervisor/storage/promotion_merge.c \
	supervisor/storage/promotion_remove.c \
	supervisor/auto/promoter.c \
	supervisor/storage/levels_report.c \
	supervisor/storage/levels_remove.c \
	supervisor/storage/fetch.c \
	supervisor/storage/fetch_image.c \
	supervisor/storage/fetch_record.c \
	supervisor/auto/fetching.c \
	supervisor/catalog/fsck.c \
	supervisor/verbs/verbs_keep.c \
	supervisor/verbs/verbs_fsck.c
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
$(call unit_test,tests/unit/test_leave_out,tests/unit/test_leave_out.c supervisor/job/leave_out.c,$(LIB)/libshim.a -ljansson)
$(call unit_test,tests/unit/test_worker,tests/unit/test_worker.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_reactor,tests/unit/test_reactor.c,$(LIB)/libdaemon.a)

# fences of a job over its nodes, sans-IO
$(call library,fence-tree,coord/fence_tree.c)
$(call unit_test,tests/unit/test_fence_tree,tests/unit/test_fence_tree.c,$(LIB)/libfence-tree.a)

# how often to take a checkpoint: formulas, and what goes into them; no I/O
$(call library,interval,supervisor/auto/interval.c supervisor/auto/advice.c)
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
