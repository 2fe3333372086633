#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A pool of Python processes: pipes, semaphores in shared memory, a feeding thread."""
import multiprocessing

import phase


def work(n):
    if n == 40:
        phase.ready()
    if n >= 40:
        phase.await_go()
    return n * n


def main():
    try:
        pool = multiprocessing.get_context('fork').Pool(3)
    except OSError as e:
        phase.skip(f'no semaphores: {e}')
    results = pool.map(work, range(100), chunksize=5)
    pool.close()
    pool.join()
    phase.check(results == [n * n for n in range(100)], 'results')


phase.run(main)
