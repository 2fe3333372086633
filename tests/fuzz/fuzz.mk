# SPDX-License-Identifier: GPL-2.0-only
# Fuzz targets: replayed over their committed corpus by check-unit; searched by
# `make fuzz-NAME` (needs clang; SECONDS=60).

$(call unit_test,tests/fuzz/replay_image,tests/fuzz/replay.c tests/fuzz/fuzz_image.c,$(IMAGE_LIBS))
$(call unit_test,tests/fuzz/replay_pmi1,tests/fuzz/replay.c tests/fuzz/fuzz_pmi1.c,$(LIB)/libpm.a)
$(call unit_test,tests/fuzz/replay_peer,tests/fuzz/replay.c tests/fuzz/fuzz_peer.c,$(PEER_LIBS))

$(call unit_test,tests/fuzz/replay_state,tests/fuzz/replay.c tests/fuzz/fuzz_state.c,$(ENGINE_LIBS))
$(call unit_test,tests/fuzz/replay_wire,tests/fuzz/replay.c tests/fuzz/fuzz_wire.c,$(LIB)/libwire.a)
$(call unit_test,tests/fuzz/replay_record,tests/fuzz/replay.c tests/fuzz/fuzz_record.c,\
	$(CKPTD_LIBS))

$(call unit_test,tests/fuzz/replay_io,tests/fuzz/replay.c tests/fuzz/fuzz_io.c,$(CKPTD_LIBS))

$(B)/fuzz/fuzz_image: tests/fuzz/fuzz_image.c $(wildcard image/*.c image/*.h) \
		base/clock.c base/error.c base/reason.c
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)clang $(CFLAGS_COMMON) $(INCLUDES) -fsanitize=fuzzer,address,undefined \
		-o $@ $(filter %.c,$^) -luring -lzstd -lsodium -lxxhash -ljansson

$(B)/fuzz/image_seeds: tests/fuzz/image_seeds.c | $(LIB)/libimage.a $(LIB)/libbase.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_COMMON) $(INCLUDES) -o $@ $^ $(IMAGE_LIBS)

$(B)/fuzz/fuzz_pmi1: tests/fuzz/fuzz_pmi1.c shim/pmi1.c shim/pmi1_kvs.c
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)clang $(CFLAGS_COMMON) $(INCLUDES) -fsanitize=fuzzer,address,undefined -o $@ $^

$(B)/fuzz/fuzz_peer: tests/fuzz/fuzz_peer.c supervisor/net/peer.c supervisor/net/peer_coord.c \
		coord/coord_table.c hosts/hosts.c hosts/node_key.c base/error.c base/log.c \
			base/reason.c \
		image/fault.c | $(PEER_PROTO).h
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)clang $(CFLAGS_COMMON) $(INCLUDES) -fsanitize=fuzzer,address,undefined -o $@ $^ \
		$(PEER_PROTO).c -lprotobuf-c -lsodium

# Sources that are searched are instrumented; the rest comes from the plain archives.
fuzz_cc = $(Q)clang $(CFLAGS_COMMON) $(INCLUDES) -fsanitize=fuzzer,address,undefined -o $@

$(B)/fuzz/fuzz_state: tests/fuzz/fuzz_state.c $(wildcard engine/core/*.c) | $(LIB)/libengine.a \
		$(LIB)/libimage.a $(LIB)/libbase.a
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(fuzz_cc) $^ $(ENGINE_LIBS)

$(B)/fuzz/fuzz_wire: tests/fuzz/fuzz_wire.c libckptctl/wire.c
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(fuzz_cc) $^

$(B)/fuzz/fuzz_record: tests/fuzz/fuzz_record.c supervisor/job/job_record.c shim/ranks.c \
		supervisor/parts/may_run_user.c | $(LIB)/libckptd.a
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(fuzz_cc) $^ $(CKPTD_LIBS)

$(B)/fuzz/fuzz_io: tests/fuzz/fuzz_io.c $(addprefix supervisor/iotrace/,io_part.c \
		io_merge.c portrait.c io_judged.c anomaly.c dbscan.c) | $(LIB)/libbase.a
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(fuzz_cc) $^ $(LIB)/libbase.a -ljansson -lm

FUZZ_PLAIN := $(addprefix fuzz-,state wire record io)
.PHONY: $(FUZZ_PLAIN)
$(FUZZ_PLAIN): fuzz-%: $(B)/fuzz/fuzz_%
	@mkdir -p $(B)/fuzz/corpus-$*
	$< -max_total_time=$(or $(SECONDS),60) -timeout=20 $(B)/fuzz/corpus-$* tests/fuzz/corpus/$*

.PHONY: fuzz-image fuzz-pmi1 fuzz-peer
fuzz-peer: $(B)/fuzz/fuzz_peer
	@mkdir -p $(B)/fuzz/corpus-peer
	$(B)/fuzz/fuzz_peer -max_total_time=$(or $(SECONDS),60) -timeout=20 \
		$(B)/fuzz/corpus-peer tests/fuzz/corpus/peer

fuzz-pmi1: $(B)/fuzz/fuzz_pmi1
	@mkdir -p $(B)/fuzz/corpus-pmi1
	$(B)/fuzz/fuzz_pmi1 -max_total_time=$(or $(SECONDS),60) -timeout=20 \
		$(B)/fuzz/corpus-pmi1 tests/fuzz/corpus/pmi1

fuzz-image: $(B)/fuzz/fuzz_image $(B)/fuzz/image_seeds
	@mkdir -p $(B)/fuzz/corpus
	$(B)/fuzz/image_seeds $(B)/fuzz/corpus
	$(B)/fuzz/fuzz_image -max_total_time=$(or $(SECONDS),60) -timeout=20 -rss_limit_mb=2048 \
		$(B)/fuzz/corpus tests/fuzz/corpus/image
