# SPDX-License-Identifier: GPL-2.0-only
# Messages between the ckptds of several nodes.

$(call library,peer,$(wildcard supervisor/net/peer*.c) $(B)/gen/supervisor/net/peer.pb-c.c)

PEER_PROTO := $(B)/gen/supervisor/net/peer.pb-c
$(PEER_PROTO).h: supervisor/net/peer.proto
	$(call say,PROTO,$<)
	@mkdir -p $(B)/gen
	$(Q)protoc-c --c_out=$(B)/gen $<
$(PEER_PROTO).c: $(PEER_PROTO).h ;
$(foreach o,obj san/obj,$(foreach f,peer nodes,$(B)/$(o)/supervisor/net/$(f).o)): $(PEER_PROTO).h

PEER_LIBS := $(LIB)/libpeer.a $(LIB)/libcoord.a $(HOSTS_LIBS) \
	-ljansson -lzmq -lprotobuf-c -lpthread

$(call unit_test,tests/unit/test_peer,tests/unit/test_peer.c tests/unit/peer_fixture.c,$(PEER_LIBS))
$(call unit_test,tests/unit/test_peer_ask,tests/unit/test_peer_ask.c \
	tests/unit/peer_fixture.c,$(PEER_LIBS))
