// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of the kernel module: received and logged, nothing more.
 *
 * Events are hints and can be lost, so nothing depends on them; ckptd's knowledge of a job
 * comes from its own workers. The netlink family comes and goes with the module: when the
 * socket reports that it is gone, listening ends.
 */
#include "supervisor/kevents.h"

#include <errno.h>
#include <stdlib.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include <linux/ckpt.h>

#include "supervisor/daemon.h"

struct kevents {
	struct daemon *daemon;
	struct nl_sock *sock;
	struct reactor_source *source;
};

static const char *event_name(int event)
{
	static const char *const names[] = {
		[CKPT_EVENT_FROZEN] = "frozen",
		[CKPT_EVENT_THAWED] = "thawed",
		[CKPT_EVENT_EXPIRED] = "the maximum pause passed",
		[CKPT_EVENT_REFUSED] = "refused",
		[CKPT_EVENT_EXITED] = "a thread died while parked",
		[CKPT_EVENT_LOST] = "memory ran short, the snapshot was dropped",
		[CKPT_EVENT_RESTORED] = "restored",
	};

	if (event <= 0 || event >= (int)(sizeof(names) / sizeof(names[0])) || !names[event])
		return "event";
	return names[event];
}

static int kevents_on_event(struct nl_msg *msg, void *arg)
{
	struct kevents *kevents = arg;
	struct nlattr *attrs[CKPT_EVENT_A__LAST + 1] = { 0 };
	struct genlmsghdr *hdr = nlmsg_data(nlmsg_hdr(msg));
	uint64_t context = 0, value = 0;
	uint32_t pid = 0;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, CKPT_EVENT_A__LAST, NULL) < 0)
		return NL_OK;
	if (attrs[CKPT_EVENT_A_CONTEXT])
		context = nla_get_u64(attrs[CKPT_EVENT_A_CONTEXT]);
	if (attrs[CKPT_EVENT_A_VALUE])
		value = nla_get_u64(attrs[CKPT_EVENT_A_VALUE]);
	if (attrs[CKPT_EVENT_A_PID])
		pid = nla_get_u32(attrs[CKPT_EVENT_A_PID]);
	log_line(&kevents->daemon->common.log,
		 hdr->cmd == CKPT_EVENT_EXPIRED || hdr->cmd == CKPT_EVENT_LOST ?
		 LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG,
		 "module: context %llu of pid %u: %s (%llu)",
		 (unsigned long long)context, (unsigned int)pid,
		 event_name(hdr->cmd), (unsigned long long)value);
	return NL_OK;
}

static void kevents_on_readable(uint32_t events, void *arg)
{
	struct kevents *kevents = arg;
	int err = nl_recvmsgs_default(kevents->sock);

	/* Overrun: some events are lost, which is harmless. */
	if (err >= 0 || err == -NLE_NOMEM || err == -NLE_AGAIN)
		return;
	log_debug(&kevents->daemon->common.log, "module: no more events: %s", nl_geterror(err));
	reactor_remove(kevents->source);
	kevents->source = NULL;
}

static int kevents_join(struct nl_sock *sock)
{
	int group;

	if (genl_connect(sock))
		return -ENOENT;
	group = genl_ctrl_resolve_grp(sock, CKPT_GENL_NAME, CKPT_GENL_EVENTS);
	if (group < 0 || nl_socket_add_membership(sock, group) ||
	    nl_socket_set_nonblocking(sock))
		return -ENOENT;
	nl_socket_disable_seq_check(sock);
	return 0;
}

int kevents_open(struct daemon *daemon, struct kevents **ret_kevents)
{
	struct kevents *kevents = calloc(1, sizeof(*kevents));
	int err = -ENOMEM;

	if (!kevents)
		return err;
	kevents->daemon = daemon;
	kevents->sock = nl_socket_alloc();
	if (kevents->sock)
		err = kevents_join(kevents->sock);
	if (!err) {
		nl_socket_modify_cb(kevents->sock, NL_CB_VALID, NL_CB_CUSTOM,
				    kevents_on_event, kevents);
		err = reactor_fd(daemon->common.reactor, nl_socket_get_fd(kevents->sock),
				 EPOLLIN, kevents_on_readable, kevents, &kevents->source);
	}
	if (err) {
		kevents_close(kevents);
		return err;
	}
	*ret_kevents = kevents;
	return 0;
}

void kevents_close(struct kevents *kevents)
{
	if (!kevents)
		return;
	reactor_remove(kevents->source);
	if (kevents->sock)
		nl_socket_free(kevents->sock);
	free(kevents);
}
