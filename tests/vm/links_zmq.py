#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A ring of ranks with ZeroMQ, for links.t: tokens go round, and each rank counts what passes.

    links_zmq.py ROUNDS ADDRESS0 ADDRESS1

ZeroMQ has threads, epoll and event descriptors of its own, sends when it likes, and would connect
again, without the messages that were lost, if a connection broke.
"""
import os
import sys
import time

import zmq

PORT = 5200
TOKENS = 200


def main():
    rounds, addresses = int(sys.argv[1]), sys.argv[2:]
    rank, ranks = int(os.environ['STILLPOINT_RANK']), int(os.environ['STILLPOINT_RANKS'])
    after = (rank + 1) % ranks
    context = zmq.Context()
    before, ahead = context.socket(zmq.PULL), context.socket(zmq.PUSH)
    before.bind(f'tcp://0.0.0.0:{PORT + rank}')
    ahead.connect(f'tcp://{addresses[after]}:{PORT + after}')
    if rank == 0:
        for token in range(TOKENS):
            ahead.send_json([token, 0])
    passed, wrong = [0] * TOKENS, 0
    for n in range(rounds * TOKENS):
        token, hops = before.recv_json()
        # each token comes once in a round, with a hop for each rank before
        wrong += hops != passed[token] * ranks + rank + (rank == 0) * ranks - 1
        passed[token] += 1
        if rank != 0 or passed[token] < rounds:
            ahead.send_json([token, hops + 1])
        if n % TOKENS == 0:
            print('at', n // TOKENS + 1, flush=True)
        time.sleep(0.001)
    print('end', sum(passed), min(passed), max(passed), wrong, flush=True)
    before.close()
    ahead.close(linger=-1)
    context.term()


main()
