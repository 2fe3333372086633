#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The demo's job: an iterative solver with threads and an open output file.

    compute.py OUTPUT STEPS

Solves the 2-D Poisson equation by red-black Gauss-Seidel on a small grid while
four threads each extend a SHA-256 chain over its state, and writes one line per
step to OUTPUT, kept open the whole time. The result depends on nothing but
STEPS, so that two runs can be compared byte for byte.

It knows nothing of checkpoints.
"""
import hashlib
import math
import sys
import threading

SIZE = 24
THREADS = 4


def sweep(grid, source, colour):
    """One half sweep; returns the sum of squared updates."""
    total = 0.0
    for i in range(1, SIZE - 1):
        row, up, down = grid[i], grid[i - 1], grid[i + 1]
        for j in range(1 + (i + colour) % 2, SIZE - 1, 2):
            new = 0.25 * (up[j] + down[j] + row[j - 1] + row[j + 1] + source[i][j])
            total += (new - row[j]) ** 2
            row[j] = new
    return total


class Chain(threading.Thread):
    """Hashes what it is handed, once per step, for as long as the solver runs."""

    def __init__(self, name, start, finish):
        super().__init__(name=name)
        self.digest = name.encode()
        self.state = b''
        self.begin, self.finish = start, finish
        self.running = True

    def run(self):
        while True:
            self.begin.wait()
            if not self.running:
                return
            for _ in range(200):
                self.digest = hashlib.sha256(self.digest + self.state).digest()
            self.finish.wait()


def main(path, steps):
    start, finish = threading.Barrier(THREADS + 1), threading.Barrier(THREADS + 1)
    chains = [Chain(f'chain{n}', start, finish) for n in range(THREADS)]
    for chain in chains:
        chain.start()
    grid = [[0.0] * SIZE for _ in range(SIZE)]
    source = [[math.sin(3.0 * i * j / SIZE) / SIZE for j in range(SIZE)]
              for i in range(SIZE)]
    with open(path, 'w', buffering=1) as out:
        for step in range(steps):
            residual = math.sqrt(sweep(grid, source, 0) + sweep(grid, source, 1))
            for chain in chains:
                chain.state = repr(grid[SIZE // 2]).encode()
            start.wait()
            finish.wait()
            marks = ' '.join(chain.digest.hex()[:16] for chain in chains)
            out.write(f'{step} {residual!r} {marks}\n')
        for chain in chains:
            chain.running = False
        start.wait()
        for chain in chains:
            chain.join()
        out.write(f'done {sum(map(sum, grid))!r}\n')


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
