#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Python threads with a chain of hashes each, and a log that stays open."""
import hashlib
import threading

import phase

THREADS = 4
counts, digests = [0] * THREADS, [b''] * THREADS


def chain(i, log, lock):
    digest = bytes([i])
    while not phase.go():
        for _ in range(50):
            digest = hashlib.sha256(digest).digest()
            counts[i] += 1
        with lock:
            log.write(f'{i} {counts[i]}\n')
    digests[i] = digest


def main():
    lock = threading.Lock()
    with open(phase.path('log'), 'w') as log:
        threads = [threading.Thread(target=chain, args=(i, log, lock)) for i in range(THREADS)]
        for t in threads:
            t.start()
        phase.ready()
        for t in threads:
            t.join()
    last = [0] * THREADS
    with open(phase.path('log')) as log:
        for line in log:
            i, n = map(int, line.split())
            phase.check(n == last[i] + 50, f'line {line!r} after {last[i]}')
            last[i] = n
    phase.check(last == counts, f'log ends with {last}, not {counts}')
    for i in range(THREADS):
        digest = bytes([i])
        for _ in range(counts[i]):
            digest = hashlib.sha256(digest).digest()
        phase.check(digest == digests[i], f'chain {i}')


phase.run(main)
