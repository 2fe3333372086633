// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events by generic netlink.
 *
 * Events are hints: they are lost when memory is short or a listener is slow,
 * and nothing in the module depends on them.  Without a listener nothing is
 * built.  There are no commands to the kernel in this family.
 */
#include <net/genetlink.h>

#include <linux/module.h>

#include "context.h"
#include "events.h"

static const struct genl_multicast_group ckpt_event_groups[] = {
	{ .name = CKPT_GENL_EVENTS },
};

static struct genl_family ckpt_event_family __ro_after_init = {
	.name = CKPT_GENL_NAME,
	.version = CKPT_GENL_VERSION,
	.maxattr = CKPT_EVENT_A__LAST,
	.module = THIS_MODULE,
	.mcgrps = ckpt_event_groups,
	.n_mcgrps = ARRAY_SIZE(ckpt_event_groups),
};

void ckpt_event(const struct ckpt_ctx *ctx, enum ckpt_event event, u64 value)
{
	struct sk_buff *skb;
	void *head;

	if (!genl_has_listeners(&ckpt_event_family, &init_net, 0))
		return;
	skb = genlmsg_new(2 * nla_total_size_64bit(sizeof(u64)) +
			  nla_total_size(sizeof(u32)), GFP_KERNEL);
	if (!skb)
		return;
	head = genlmsg_put(skb, 0, 0, &ckpt_event_family, 0, event);
	if (!head ||
	    nla_put_u64_64bit(skb, CKPT_EVENT_A_CONTEXT, ctx->id, CKPT_EVENT_A_PAD) ||
	    nla_put_u64_64bit(skb, CKPT_EVENT_A_VALUE, value, CKPT_EVENT_A_PAD) ||
	    nla_put_u32(skb, CKPT_EVENT_A_PID, ctx->opener)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, head);
	genlmsg_multicast(&ckpt_event_family, skb, 0, 0, GFP_KERNEL);
}

int __init ckpt_events_init(void)
{
	return genl_register_family(&ckpt_event_family);
}

void ckpt_events_exit(void)
{
	genl_unregister_family(&ckpt_event_family);
}
