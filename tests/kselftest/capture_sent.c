// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: bytes of TCP that a tree has sent to a peer outside (CKPT_TARGET_SENT).
 *
 * The peer is the test, which does not read: the child fills both queues, so that some bytes have
 * been received and the others are not acknowledged.  Both together must be what the child has
 * sent, with every byte at its place.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "tests/kselftest/capture_rig.h"

static int ends[2];		/* of the child, of the test */
static bool shuts;		/* the child says that it sends no more */

static unsigned char byte_at(uint64_t at)
{
	return (unsigned char)(at * 131 + (at >> 8));
}

static void connect_ends(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(server, (void *)&addr, sizeof(addr)) || listen(server, 1) ||
	    getsockname(server, (void *)&addr, &len) ||
	    connect(ends[0], (void *)&addr, sizeof(addr)))
		tap_bail("a connection: %s", strerror(errno));
	ends[1] = accept(server, NULL, NULL);
	close(server);
}

static void fills(void *arg)
{
	unsigned char piece[1000];
	ssize_t n = 1;

	close(ends[1]);
	while (n > 0) {
		for (size_t i = 0; i < sizeof(piece); i++)
			piece[i] = byte_at(shared->addr[0] + i);
		n = send(ends[0], piece, sizeof(piece), MSG_DONTWAIT);
		if (n > 0)
			shared->addr[0] += (uint64_t)n;
		if (n < 0 && !shared->n[0]) {
			/* what is on its way arrives and makes room once */
			shared->n[0] = 1;
			sleep_ms(slowly(200));
			n = 1;
		}
	}
	if (shuts)
		shutdown(ends[0], SHUT_WR);
	sleep_ms(slowly(200));
	am_ready();
	for (;;)
		pause();
}

/* The number of bytes in the records; *ret_wrong: of these, not as they were sent from @at on. */
static uint64_t sent_bytes(const struct recs *recs, uint64_t at, uint64_t *ret_wrong)
{
	uint64_t len = 0, wrong = 0;
	uint32_t next = 0;
	bool first = true;

	recs_for_each(hdr, recs) {
		const struct ckpt_rec_sock_sent *rec = (void *)hdr;
		const unsigned char *data = (const void *)(rec + 1);

		if (hdr->type != (CKPT_REC_SOCK_SENT | CKPT_REC_OPTIONAL))
			continue;
		wrong += !first && rec->sent_seq != next;
		for (uint32_t i = 0; i < rec->data_len; i++)
			wrong += data[i] != byte_at(at + len + i);
		len += rec->data_len;
		next = rec->sent_seq + rec->data_len;
		first = false;
	}
	*ret_wrong = wrong;
	return len;
}

/* The last bytes that were sent, from one on that the test has received or is to receive next. */
static void compare_sent(const struct recs *recs, uint64_t unread)
{
	uint64_t sent = shared->addr[0], wrong, len = sent_bytes(recs, 0, &wrong);

	tap_ok(len && len < sent && sent - len <= unread,
	       "%llu bytes sent, %llu received, %llu not acknowledged", (unsigned long long)sent,
	       (unsigned long long)unread, (unsigned long long)len);
	sent_bytes(recs, sent - len, &wrong);
	tap_is((long long)wrong, 0, "each byte is at its place");
}

static void look(unsigned int flags, bool shut)
{
	int fd, unread = 0, nr;
	struct ckpt_snapshot snapshot;
	struct recs recs;
	pid_t pid;

	connect_ends();
	shuts = shut;
	shared->addr[0] = 0;
	shared->n[0] = shared->ready = 0;
	pid = spawn(fills, NULL);
	close(ends[0]);
	wait_ready(1);
	ioctl(ends[1], SIOCINQ, &unread);
	fd = cap_open();
	tap_is(cap_target(fd, pid, flags), 0, "target");
	tap_is(cap_freeze(fd, slowly(5000), 60000, NULL), 0, "freeze");
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_DRY, &snapshot), 0, "snapshot");
	recs = recs_read(fd);
	nr = recs_count(&recs, CKPT_REC_SOCK_SENT | CKPT_REC_OPTIONAL);
	if (flags)
		compare_sent(&recs, (uint64_t)unread);
	else
		tap_is(nr, 0, "who did not ask gets no such record");
	recs_free(&recs);
	close(fd);
	close(ends[1]);
	reap(pid);
}

part(sent)
{
	look(0, false);
	look(CKPT_TARGET_SENT, false);
	look(CKPT_TARGET_SENT, true);
}
