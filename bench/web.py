#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How long the web pages take: make bench-web [BENCH_RUNS=31]

    bench/web.py --bin DIR --work DIR

As root, on this machine, without a module. ckptd has two jobs, of 100 and of 10,000 generations, on
a file system in memory; each page is asked for RUNS times, in turns, and the least, the median and
the longest time are printed, with the processor time of ckptd and ckptweb for a page.
"""
import os
import statistics
import sys
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..'))
sys.path.insert(0, f'{TOP}/tests/command')
import web  # noqa: E402
from command import daemon  # noqa: E402
from daemon import equal, test  # noqa: E402

daemon.TESTS.clear()
RUNS = int(os.environ.get('RUNS', '31'))
PAGES = {'100': '/job/2', '10,000, the newest': '/job/1', '10,000, in the middle':
         '/job/1?before=5000', 'findings': '/findings', 'jobs': '/?all=1'}


def cpu(*pids):
    """Seconds of these processes and of their children that have ended."""
    ticks = 0
    for pid in pids:
        with open(f'/proc/{pid}/stat') as f:
            ticks += sum(map(int, f.read().rsplit(')', 1)[1].split()[11:15]))
    return ticks / os.sysconf('SC_CLK_TCK')


@test
def pages(node):
    """pages of jobs with many generations"""
    with web.images_in_memory(node):
        web.mkjob(node, 1)
        web.mkjob(node, 2)
        web.mkgenerations(node, 1, 10000)
        web.mkgenerations(node, 2, 100)
        with web.Web(node) as server:
            times = {name: [] for name in PAGES}
            used = dict.fromkeys(PAGES, 0)
            for _ in range(RUNS):
                for name, path in PAGES.items():
                    before = cpu(node.daemon.pid, server.process.pid)
                    began = time.monotonic()
                    equal(server.get(path)[0], 200, path)
                    times[name].append((time.monotonic() - began) * 1000)
                    used[name] += cpu(node.daemon.pid, server.process.pid) - before
    print(f'# {"page":24} {"least":>8} {"median":>8} {"longest":>8} {"processor":>10}   ms')
    for name, each in times.items():
        print(f'# {name:24} {min(each):8.0f} {statistics.median(each):8.0f} {max(each):8.0f} '
              f'{used[name] / RUNS * 1000:10.0f}')


if __name__ == '__main__':
    sys.exit(daemon.main())
