// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules for sockets that are connected to somebody outside; see sock_rules.h.
 *
 * They are read anew for each socket: they are short, and were checked when they were given.
 * Nothing here touches a socket.
 */
#include "engine/core/sock_rules.h"

#include <stddef.h>
#include <string.h>

#define PATTERN_MAX	255

static const char *const sock_rule_names[] = {
	[SOCK_RULE_REFUSE] = "refuse", [SOCK_RULE_CLOSE] = "close", [SOCK_RULE_RESET] = "reset",
};

struct sock_rule_text {
	char pattern[PATTERN_MAX + 1];
	enum sock_rule action;
};

static bool sock_rule_action(const char *text, size_t len, enum sock_rule *ret)
{
	for (unsigned int i = 0; i < sizeof(sock_rule_names) / sizeof(*sock_rule_names); i++)
		if (strlen(sock_rule_names[i]) == len && !memcmp(sock_rule_names[i], text, len)) {
			*ret = (enum sock_rule)i;
			return true;
		}
	return false;
}

/* Read the rule at @text; the place behind it, or NULL if it is not well formed. */
static const char *sock_rule_read(const char *text, struct sock_rule_text *ret)
{
	size_t len = strcspn(text, ","), at = len;

	while (at && text[at - 1] != '=')
		at--;
	if (at > PATTERN_MAX || at == 1)
		return NULL;
	strcpy(ret->pattern, "*");
	if (at) {
		memcpy(ret->pattern, text, at - 1);
		ret->pattern[at - 1] = '\0';
	}
	if (!sock_rule_action(text + at, len - at, &ret->action))
		return NULL;
	return text + len;
}

/* A star stands for any text; nothing else is special, as IPv6 has brackets. */
static bool sock_rule_fits(const char *pattern, const char *peer)
{
	const char *star = NULL, *again = NULL;

	while (*peer) {
		if (*pattern == '*') {
			star = pattern++;
			again = peer;
		} else if (*pattern == *peer) {
			pattern++;
			peer++;
		} else if (star) {
			pattern = star + 1;
			peer = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool sock_rules_valid(const char *rules)
{
	struct sock_rule_text rule;

	for (;;) {
		rules = sock_rule_read(rules, &rule);
		if (!rules || !*rules)
			return rules;
		rules++;
	}
}

enum sock_rule sock_rules_decide(const char *rules, const char *peer)
{
	struct sock_rule_text rule;

	while (rules && *rules) {
		rules = sock_rule_read(rules, &rule);
		if (!rules)
			break;
		if (sock_rule_fits(rule.pattern, peer))
			return rule.action;
		if (*rules)
			rules++;
	}
	return SOCK_RULE_REFUSE;
}
