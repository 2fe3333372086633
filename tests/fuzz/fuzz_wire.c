// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: frames of the control socket, which every user of the machine may write.  The input
 * comes through a socket, in pieces whose lengths the first byte chooses.  Held to: no frame is
 * longer than the limit, and a frame that is taken lies within what was received.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libckptctl/wire.h"
#include "tests/fuzz/fuzz.h"

#define LIMIT 4096

const char *const fuzz_corpus = "tests/fuzz/corpus/wire";

/* Take all whole frames; false: the connection is of no more use. */
static bool wire_take(struct wire_in *in)
{
	const char *body;
	size_t len;
	int n;

	while ((n = wire_next(in, &body, &len)) > 0) {
		if (len > LIMIT || len > in->len || wire_take_fd(in, 0) >= 0)
			abort();
		fuzz_touch(body, len);
		wire_consume(in);
	}
	return !n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_in in = { .limit = LIMIT };
	size_t piece = size ? 1 + data[0] * 8U : 1, at = 1;
	bool open = true;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return 0;
	while (open && at < size) {
		size_t n = size - at < piece ? size - at : piece;
		ssize_t sent = send(pair[0], data + at, n, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		at += (size_t)sent;
		while (open && wire_receive(&in, pair[1]) > 0)
			open = wire_take(&in);
	}
	wire_in_done(&in);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
