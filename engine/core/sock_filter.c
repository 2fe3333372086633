// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classic filter of a socket; see sock_filter.h.
 *
 * The kernel tells the instructions as they were given, and checks them when they are set, so an
 * image that lies gives at worst another filter that its owner could have set himself.
 */
#include "engine/core/sock_filter.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/filter.h>

#define PER_PIECE	(sizeof(((struct engine_sock_option *)0)->value) / \
			 sizeof(struct sock_filter))

/* getsockopt(2) counts instructions here, not bytes. */
static int sock_filter_read(int fd, struct sock_filter *code, socklen_t room)
{
	socklen_t nr = room;

	if (getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, code, &nr))
		return -errno;
	return nr > BPF_MAXINSNS ? -EMSGSIZE : (int)nr;
}

int sock_filter_pieces(int fd)
{
	int nr = sock_filter_read(fd, NULL, 0);

	if (nr == -EACCES)
		return 0;	/* a BPF program: the module refuses the socket */
	return nr < 0 ? nr : (int)((nr + PER_PIECE - 1) / PER_PIECE);
}

int sock_filter_get(int fd, unsigned int nr, struct engine_sock_option *ret)
{
	struct sock_filter code[BPF_MAXINSNS];
	int all = sock_filter_read(fd, code, BPF_MAXINSNS), at = 0;

	if (all < 0)
		return all;
	for (unsigned int i = 0; i < nr; i++) {
		int some = all - at < (int)PER_PIECE ? all - at : (int)PER_PIECE;

		if (some <= 0)
			return -EAGAIN;
		ret[i] = (struct engine_sock_option){
			.level = SOL_SOCKET, .name = SO_ATTACH_FILTER,
			.len = (uint32_t)(some * sizeof(*code)),
		};
		memcpy(ret[i].value, code + at, ret[i].len);
		at += some;
	}
	return at == all ? 0 : -EAGAIN;
}

bool sock_filter_is_piece(const struct engine_sock_option *option)
{
	return option->level == SOL_SOCKET && option->name == SO_ATTACH_FILTER;
}

int sock_filter_set(int fd, const struct engine_sock_option *options, unsigned int nr)
{
	struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog program = { .filter = code };

	for (unsigned int i = 0; i < nr; i++) {
		size_t some = options[i].len / sizeof(*code);

		if (!sock_filter_is_piece(&options[i]))
			continue;
		if (some > PER_PIECE || some * sizeof(*code) != options[i].len ||
		    some > BPF_MAXINSNS - (size_t)program.len)
			return -EBADMSG;
		memcpy(code + program.len, options[i].value, options[i].len);
		program.len = (unsigned short)(program.len + some);
	}
	if (!program.len)
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ?
	       -errno : 0;
}
