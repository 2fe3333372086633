# SPDX-License-Identifier: GPL-2.0-only
# ckptd, from its rooms.

# The daemon but for its main(), so that tests can link it.
SUPERVISOR_ROOMS := control net catalog storage devices job iotrace parts auto checkpoint restart \
	recover diagnose vote verbs
CKPTD_SOURCES := $(filter-out supervisor/ckptd.c supervisor/net/peer%,\
	$(wildcard supervisor/*.c $(SUPERVISOR_ROOMS:%=supervisor/%/*.c)))
# libnvme asks NVMe controllers for their health; ckptd can do without, and says so
ifeq ($(shell echo '\#include <libnvme.h>' | $(CC) -E - >/dev/null 2>&1 && echo yes),yes)
LIBNVME := -lnvme
CKPTD_SOURCES := $(filter-out %/nvme_ask_none.c,$(CKPTD_SOURCES))
else
$(info no libnvme-dev: this ckptd will not know the health of NVMe devices (scripts/setup))
CKPTD_SOURCES := $(filter-out %/nvme_ask.c,$(CKPTD_SOURCES))
endif
CFLAGS_supervisor/kevents.c += -I/usr/include/libnl3
CFLAGS_supervisor/diagnose/call_names.c += -I$(B)/gen/mpi-names
$(B)/gen/mpi-names/mpi/names.h: scripts/mpi-gen mpi-glue/mpi_calls.def
	$(call say,GEN,$@)
	$(Q)scripts/mpi-gen names $@
$(foreach d,obj san/obj,$(B)/$(d)/supervisor/diagnose/call_names.o): $(B)/gen/mpi-names/mpi/names.h

# BPF programs that count a job's I/O, as a header: their object is part of ckptd
BPF_ROOM := supervisor/iotrace/bpf
BPF_FLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Werror -D__TARGET_ARCH_x86 \
	-I/usr/include/$(shell $(CC) -print-multiarch)
$(B)/gen/iotrace/io_trace.skel.h: $(wildcard $(BPF_ROOM)/*.[ch])
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)clang $(BPF_FLAGS) -c $(BPF_ROOM)/io_trace.bpf.c -o $(@D)/raw.o
	$(Q)$(BPFTOOL) gen object $(@D)/io_trace.o $(@D)/raw.o
	$(Q)$(BPFTOOL) gen skeleton $(@D)/io_trace.o name io_trace >$@
BPFTOOL := $(or $(shell command -v bpftool),/usr/sbin/bpftool)
$(foreach d,obj san/obj,$(B)/$(d)/supervisor/iotrace/source_bpf.o): \
	$(B)/gen/iotrace/io_trace.skel.h

$(call library,ckptd,$(CKPTD_SOURCES))

CKPTD_LIBS := $(LIB)/libckptd.a $(LIB)/liblaunch.a $(LIB)/libshim.a $(LIB)/libwire.a \
	$(LIB)/libop.a $(LIB)/libpeer.a $(LIB)/libcoord.a \
	$(LIB)/libhosts.a $(LIB)/libengine.a $(LIB)/liblevels.a $(LIB)/libimage.a $(LIB)/libbase.a \
	-lzmq -lprotobuf-c -ljansson -lsodium -luring -lzstd -lxxhash -lsystemd -lnl-genl-3 \
		-lnl-3 -lsqlite3 -lisal -ldw -lelf -lbpf -lz -lm $(LIBNVME)

$(call program,ckptd,supervisor/ckptd.c,$(CKPTD_LIBS))
INSTALL_SBIN += $(BIN)/ckptd
INSTALL_UNIT += $(B)/gen/ckptd.service $(B)/gen/ckpt-launch.service packaging/ckpt-launch.socket
# an example: what is in /etc is the administrator's
INSTALL_SHARE += packaging/ckptd.conf $(addprefix packaging/monitoring/,prometheus-rules.yml \
	grafana-dashboard.json)

user: $(B)/gen/ckptd.service $(B)/gen/ckpt-launch.service
$(B)/gen/%.service: packaging/%.service FORCE
	@mkdir -p $(@D)
	@sed 's|@SBINDIR@|$(PREFIX)/sbin|; s|@LIBEXECDIR@|$(PREFIX)/libexec/stillpoint|' $< >$@

$(call unit_test,tests/unit/test_config,tests/unit/test_config.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_coord_record,tests/unit/test_coord_record.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_catalog,tests/unit/test_catalog.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_window,tests/unit/test_window.c supervisor/catalog/window.c,\
	$(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_retention,tests/unit/test_retention.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_catalog_index,tests/unit/test_catalog_index.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_keep,tests/unit/test_keep.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_fsck,tests/unit/test_fsck.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_rank_record,tests/unit/test_rank_record.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_rank_sources,tests/unit/test_rank_sources.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_may_run,tests/unit/test_may_run.c,$(CKPTD_LIBS))
# as root: runs programs that root alone can write
$(call unit_test,tests/unit/test_fence_command,tests/unit/test_fence_command.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_may_run_seats,tests/unit/test_may_run_seats.c \
	tests/unit/peer_fixture.c,\
	$(CKPTD_LIBS) $(foreach f,nodes_peer launch_link_pid may_run_user_check,\
		-Wl$(comma)--wrap=$(f)))
$(call unit_test,tests/unit/test_check_seats,tests/unit/test_check_seats.c \
	supervisor/parts/check_seats.c,)
$(call unit_test,tests/unit/test_lease_rule,tests/unit/test_lease_rule.c \
	supervisor/parts/lease_rule.c,)
$(call unit_test,tests/unit/test_links_match,tests/unit/test_links_match.c \
	supervisor/checkpoint/links_match.c,-ljansson)
$(call unit_test,tests/unit/test_restart_links,tests/unit/test_restart_links.c \
	supervisor/restart/restart_links.c,$(LIB)/libbase.a -ljansson -lsodium)
$(call unit_test,tests/unit/test_restart_given,tests/unit/test_restart_given.c \
	supervisor/restart/restart_given.c,-ljansson)
$(call unit_test,tests/unit/test_part_bounds,tests/unit/test_part_bounds.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_coord_driver,tests/unit/test_coord_driver.c \
	tests/unit/driver_box.c tests/unit/driver_box_rest.c \
	$(wildcard supervisor/checkpoint/coord_*.c) supervisor/checkpoint/links_match.c \
	supervisor/job/coord_record.c,\
	$(LIB)/libcoord.a $(LIB)/libshim.a $(LIB)/libop.a $(LIB)/libengine.a $(LIB)/libimage.a \
		$(LIB)/libbase.a \
	-ljansson -lsodium -luring -lzstd -lxxhash)
$(call unit_test,tests/unit/test_job_record,tests/unit/test_job_record.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_user_limits,tests/unit/test_user_limits.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_job_table,tests/unit/test_job_table.c \
	supervisor/job/job_table.c,)
$(call unit_test,tests/unit/test_scrub,tests/unit/test_scrub.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_job_floor,tests/unit/test_job_floor.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_jobs_read,tests/unit/test_jobs_read.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_job_exclude,tests/unit/test_job_exclude.c \
	supervisor/job/job_exclude.c,$(LIB)/libshim.a $(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_access,tests/unit/test_access.c \
	supervisor/control/access.c,)
$(call unit_test,tests/unit/test_confines,tests/unit/test_confines.c \
	supervisor/control/confines_parse.c,)
$(call unit_test,tests/unit/test_writes_watch,tests/unit/test_writes_watch.c,$(CKPTD_LIBS))
# as root: its clients are several users
$(call unit_test,tests/unit/test_ctl,tests/unit/test_ctl.c tests/unit/ctl_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_run_lookup,tests/unit/test_run_lookup.c \
	tests/unit/ctl_fixture.c,\
	$(CKPTD_LIBS) -Wl$(comma)--wrap=realpath -Wl$(comma)--wrap=getpwuid_r)
$(call unit_test,tests/unit/test_worker,tests/unit/test_worker.c,$(CKPTD_LIBS))

# replicas: pure
$(call unit_test,tests/unit/test_vote,tests/unit/test_vote.c supervisor/vote/section.c \
	supervisor/vote/tally.c,)
$(call unit_test,tests/unit/test_vote_images,tests/unit/test_vote_images.c \
	tests/unit/image_fixture.c,$(LIB)/libckptctl.a $(CKPTD_LIBS))
# how often to take a checkpoint: formulas, and what goes into them; no I/O
$(call unit_test,tests/unit/test_interval,tests/unit/test_interval.c supervisor/auto/interval.c,-lm)
# what to recover from: pure, against brute force
$(call unit_test,tests/unit/test_recover,tests/unit/test_recover.c supervisor/recover/choose.c \
	supervisor/recover/topology.c,)
$(call unit_test,tests/unit/test_survey,tests/unit/test_survey.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_history,tests/unit/test_history.c,$(CKPTD_LIBS))

$(call unit_test,tests/unit/test_partner_server,tests/unit/test_partner_server.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_level_config,tests/unit/test_level_config.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_flush_plan,tests/unit/test_flush_plan.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_flusher,tests/unit/test_flusher.c,\
	$(CKPTD_LIBS) -Wl$(comma)--wrap=clock_monotonic_ms)
FLUSH_BOX := tests/unit/flush_box.c tests/unit/keep_fixture.c
$(call unit_test,tests/unit/test_flush,tests/unit/test_flush.c $(FLUSH_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_flush_faults,tests/unit/test_flush_faults.c \
	$(FLUSH_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_merge,tests/unit/test_merge.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
FETCH_BOX := tests/unit/fetch_fixture.c tests/unit/keep_fixture.c
$(call unit_test,tests/unit/test_fetch,tests/unit/test_fetch.c $(FETCH_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_fetch_job,tests/unit/test_fetch_job.c $(FETCH_BOX),$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_levels_remove,tests/unit/test_levels_remove.c \
	tests/unit/keep_fixture.c,$(CKPTD_LIBS))
# for tests that move images about
$(call program,tests/tools/mkjobs,tests/tools/mkjobs.c,$(CKPTD_LIBS))
$(call program,tests/tools/mkgenerations,tests/tools/mkgenerations.c,$(CKPTD_LIBS))
$(call program,tests/tools/printmetrics,tests/tools/printmetrics.c,$(CKPTD_LIBS))
$(call program,tests/tools/mkparts,tests/tools/mkparts.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_group_level,tests/unit/test_group_level.c \
	tests/unit/image_fixture.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_level_config_group,\
	tests/unit/test_level_config_group.c,$(CKPTD_LIBS))
# what jobs read and write: pure parts, and the store
$(call unit_test,tests/unit/test_device_health,tests/unit/test_device_health.c \
	supervisor/iotrace/device_health.c,-lm)
$(call unit_test,tests/unit/test_device_store,tests/unit/test_device_store.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_nfs_stats,tests/unit/test_nfs_stats.c \
	supervisor/devices/nfs_stats.c supervisor/devices/mount_table.c,$(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_lustre_stats,tests/unit/test_lustre_stats.c \
	$(addprefix supervisor/devices/,\
	lustre_stats.c lustre_read.c asked.c),$(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_asked,tests/unit/test_asked.c supervisor/devices/asked.c,\
	$(LIB)/libbase.a)
$(call unit_test,tests/unit/test_nvme_health,tests/unit/test_nvme_health.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_source_metrics,tests/unit/test_source_metrics.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_device_peers,tests/unit/test_device_peers.c \
	tests/unit/peer_fixture.c,$(CKPTD_LIBS) $(foreach f,nodes_peer nodes_asks nodes_list,\
		-Wl$(comma)--wrap=$(f)))
$(call unit_test,tests/unit/test_anomaly,tests/unit/test_anomaly.c supervisor/iotrace/anomaly.c \
	supervisor/iotrace/dbscan.c,-lm)
$(call unit_test,tests/unit/test_iotrace,tests/unit/test_iotrace.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_io_ask,tests/unit/test_io_ask.c tests/unit/peer_fixture.c,\
	$(CKPTD_LIBS) $(foreach f,nodes_peer nodes_asks nodes_list request_answer,\
		-Wl$(comma)--wrap=$(f)))
$(call unit_test,tests/unit/test_io_anomaly,tests/unit/test_io_anomaly.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_io_own,tests/unit/test_io_own.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_io_merge,tests/unit/test_io_merge.c,$(CKPTD_LIBS))
$(call unit_test,tests/unit/test_io_store,tests/unit/test_io_store.c,$(CKPTD_LIBS))
# which rank hangs, and why: pure
$(call unit_test,tests/unit/test_hardware,tests/unit/test_hardware.c \
	supervisor/diagnose/hardware.c supervisor/devices/asked.c,$(LIB)/libbase.a -ljansson)
$(call unit_test,tests/unit/test_reach,tests/unit/test_reach.c supervisor/diagnose/reach.c \
	base/clock.c,-ljansson)
$(call unit_test,tests/unit/test_resent,tests/unit/test_resent.c \
	supervisor/diagnose/resent.c,-ljansson)
$(call unit_test,tests/unit/test_reach_round,tests/unit/test_reach_round.c \
	tests/unit/peer_fixture.c,$(CKPTD_LIBS) $(foreach f,nodes_peer nodes_asks,\
		-Wl$(comma)--wrap=$(f)))
# hangs that were found: states and record
$(call unit_test,tests/unit/test_incident,tests/unit/test_incident.c \
	supervisor/diagnose/incident.c supervisor/diagnose/incident_store.c,\
	$(LIB)/libbase.a -ljansson -lsqlite3)
$(call unit_test,tests/unit/test_act,tests/unit/test_act.c supervisor/diagnose/act.c \
	supervisor/diagnose/verdict.c)
$(call unit_test,tests/unit/test_place,tests/unit/test_place.c supervisor/diagnose/place.c)
$(call unit_test,tests/unit/test_diagnose,tests/unit/test_diagnose.c supervisor/diagnose/filter.c \
	supervisor/diagnose/match.c supervisor/diagnose/verdict.c,-lm)
