#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One of two ranks that speak TCP with each other, for links.t; it takes no library for that.

    links_peer.py MODE BYTES ADDRESS0 ADDRESS1

Rank 0 listens, or the one that LISTENER names in the environment, at an IPv6 address or at both
kinds. A rank 0 with STRANGER, an address and a port, has a connection there, too. Each sends BYTES
that its number alone decides. The reader is slow, so queues are full most of the time. Each tells
how far it is, and at the end the digest of what it has received.  SLOW in the environment says how
much longer than usually a checkpoint may take, so that the ranks do not end before.

MODE: both   both send at the same time
      half   rank 0 sends all and says that it is the end; rank 1 answers when it has read that
      turns  each waits for a block before it sends its next one: nothing is on its way for long
      many   as both, over eight connections at once
      answer rank 0 says at once that it sends nothing; rank 1 reads that and sends all
      orphan rank 1 sends what the connection takes and closes it; rank 0 reads when FILE exists
      late   rank 1 connects, and rank 0 accepts when FILE exists (in the place of BYTES)
"""
import hashlib
import os
import random
import select
import socket
import sys
import threading
import time

PORT = 5077
PIECE = 4096
PACE = max(1, int(os.environ.get('SLOW', '1')) / 3)
LOCK = threading.Lock()


def say(*words):
    with LOCK:
        print(*words, flush=True)


class Bytes:
    """What a rank sends on its connection NUMBER."""

    def __init__(self, rank, number):
        self.source = random.Random(f'{rank} {number}')

    def next(self, n):
        return self.source.randbytes(n)


def send_all(connection, rank, number, total, end):
    data, sent = Bytes(rank, number), 0
    while sent < total:
        piece = data.next(min(PIECE, total - sent))
        connection.sendall(piece)
        sent += len(piece)
    if end:
        connection.shutdown(socket.SHUT_WR)


def receive_all(connection, rank, number, total, pause=0.004):
    """Compare each piece at once: a byte lost or doubled is found where it is."""
    data, got, digest = Bytes(rank, number), 0, hashlib.sha256()
    while got < total:
        want = data.next(min(PIECE, total - got))
        have = b''
        while len(have) < len(want):
            piece = connection.recv(len(want) - len(have))
            if not piece:
                raise SystemExit(f'end after {got + len(have)} bytes of {total}')
            have += piece
        if have != want:
            raise SystemExit(f'byte {got} to {got + len(want)} is wrong')
        digest.update(have)
        got += len(have)
        if number == 0 and got % (total // 20 // PIECE * PIECE or PIECE) == 0:
            say('at', got)
        time.sleep(pause * PACE)
    return digest.hexdigest()


def listening(count):
    """For IPv4 alone if there is one connection, so that both ends are of one family or of two."""
    if count == 1 and ':' not in sys.argv[3]:
        server = socket.socket()
        place = ('0.0.0.0', PORT)
    else:
        server = socket.socket(socket.AF_INET6)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        place = ('::', PORT)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    small(server)
    server.bind(place)
    server.listen(count)
    return server


def small(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)


def connected(address):
    while True:
        one = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
        small(one)
        try:
            one.connect((address, PORT))
            return one
        except ConnectionRefusedError:
            time.sleep(0.2)


def connect(rank, addresses, count):
    """COUNT connections between both ranks, in an order that both know; and what listens."""
    listener = int(os.environ.get('LISTENER', '0'))
    made = [None] * count
    if rank == listener:
        server = listening(count)
        for _ in range(count):
            one = server.accept()[0]
            made[one.recv(1)[0]] = one
        return made, server
    for i in range(count):
        made[i] = connected(addresses[listener])
        made[i].send(bytes([i]))
        made[i].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made, None


def both(rank, connections, total):
    digests = [''] * len(connections)

    def receive(i):
        digests[i] = receive_all(connections[i], 1 - rank, i, total)

    threads = [threading.Thread(target=send_all, args=(c, rank, i, total, False))
               for i, c in enumerate(connections)]
    threads += [threading.Thread(target=receive, args=(i,)) for i in range(len(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ' '.join(digests)


def half(rank, connection, total):
    if rank == 0:
        send_all(connection, 0, 0, total, True)
        digest = receive_all(connection, 1, 0, PIECE)
        return digest + f' end {connection.recv(1)!r}'
    digest = receive_all(connection, 0, 0, total)
    digest += f' end {connection.recv(1)!r}'
    send_all(connection, 1, 0, PIECE, False)
    return digest


def turns(rank, connection, total):
    mine, theirs, digest, done = Bytes(rank, 0), Bytes(1 - rank, 0), hashlib.sha256(), 0
    while done < total:
        if rank == 0 or done:
            connection.sendall(mine.next(PIECE))
        have = b''
        while len(have) < PIECE:
            piece = connection.recv(PIECE - len(have))
            if not piece:
                raise SystemExit('end')
            have += piece
        if have != theirs.next(PIECE):
            raise SystemExit(f'block at {done} is wrong')
        digest.update(have)
        if rank == 1 and not done:
            connection.sendall(mine.next(PIECE))
        done += PIECE
        if done % (total // 20 // PIECE * PIECE or PIECE) == 0:
            say('at', done)
        time.sleep(0.02 * PACE)
    return digest.hexdigest()


def answer(rank, connection, total):
    if rank == 0:
        connection.shutdown(socket.SHUT_WR)
        return receive_all(connection, 1, 0, total)
    end = connection.recv(1)
    if end:
        raise SystemExit(f'{end} instead of the end')
    say('at', 0)
    send_all(connection, 1, 0, total, False)
    return ''


def orphan(rank, connection, path):
    if rank == 0:
        say('at', 1)
        while not os.path.exists(path):
            time.sleep(0.1)
        digest, got = hashlib.sha256(), 0
        while piece := connection.recv(PIECE):
            digest.update(piece)
            got += len(piece)
        return f'{got} {digest.hexdigest()}'
    data, digest, sent = Bytes(1, 0), hashlib.sha256(), 0
    connection.setblocking(False)
    try:
        while True:
            piece = data.next(PIECE)
            n = connection.send(piece)
            digest.update(piece[:n])
            sent += n
            if n < len(piece):
                break
    except BlockingIOError:
        pass
    connection.close()
    say('at', 1)
    while not os.path.exists(path):
        time.sleep(0.1)
    return f'{sent} {digest.hexdigest()}'


def late(rank, addresses, path):
    if rank == 0:
        server = listening(1)
        say('at', 1)
        while not os.path.exists(path):
            time.sleep(0.1)
        one = server.accept()[0]
        return one.recv(100).decode()
    one = connected(addresses[0])
    one.send(b'early')
    say('at', 1)
    return repr(one.recv(1))


def main():
    mode, size, addresses = sys.argv[1], sys.argv[2], sys.argv[3:]
    rank = int(os.environ['STILLPOINT_RANK'])
    if mode == 'late':
        say('end', late(rank, addresses, size))
        return
    stranger = None
    if rank == 0 and 'STRANGER' in os.environ:
        stranger = socket.create_connection(os.environ['STRANGER'].rsplit(':', 1))
    connections, server = connect(rank, addresses, 8 if mode == 'many' else 1)
    if mode in ('both', 'many'):
        said = both(rank, connections, int(size))
    elif mode == 'orphan':
        say('end', orphan(rank, connections[0], size))
        return
    elif mode == 'answer':
        say('end', answer(rank, connections[0], int(size)))
        return
    elif mode == 'half':
        # the other end may have gone by the end
        say('end', half(rank, connections[0], int(size)))
        return
    else:
        said = turns(rank, connections[0], int(size))
    say('end', said)
    print('between', *(name()[0].removeprefix('::ffff:')
                       for name in (connections[0].getsockname, connections[0].getpeername)),
          file=sys.stderr, flush=True)
    # whoever is done first does not end what the other one has yet to read
    for connection in connections:
        connection.shutdown(socket.SHUT_WR)
    for connection in connections:
        select.select([connection], [], [], 60)
    del server, stranger


main()
