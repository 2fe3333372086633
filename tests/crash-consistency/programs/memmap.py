#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Heat spreads over a grid in a mapped file (numpy.memmap)."""
import sys
import time

try:
    import numpy
except ImportError:
    print('no numpy here (python3-numpy)', file=sys.stderr)
    sys.exit(77)

SIZE, STEPS = 200, 60


def main():
    grid = numpy.memmap('grid.dat', dtype='f8', mode='w+', shape=(SIZE, SIZE))
    grid[0, :] = 100
    for step in range(STEPS):
        grid[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4
        if step % 10 == 0:
            grid.flush()
            print(step, grid.sum().hex(), flush=True)
        time.sleep(0.05)
    print('end', grid.sum().hex())


if __name__ == '__main__':
    main()
