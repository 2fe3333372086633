#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A big Python heap: dictionaries, a cycle collected later, mmap, a seeded generator."""
import gc
import mmap
import random
import weakref

import phase


class Node:
    pass


def main():
    rng = random.Random(17)
    table = {rng.getrandbits(60): str(i) for i in range(100000)}
    area = mmap.mmap(-1, 1 << 20)
    area[1000:1005] = b'hello'
    a, b = Node(), Node()
    a.other, b.other = b, a
    gone = weakref.ref(a)
    state = rng.getstate()
    phase.ready()
    phase.await_go()
    phase.check(rng.getstate() == state, 'generator')
    again = random.Random(17)
    for i in range(100000):
        phase.check(table[again.getrandbits(60)] == str(i), f'entry {i}')
    phase.check(area[1000:1005] == b'hello', 'mmap')
    del a, b
    gc.collect()
    phase.check(gone() is None, 'the cycle lives')


phase.run(main)
