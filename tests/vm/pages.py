#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The web pages of jobs that run, as TAP; runs in a test VM, with the module.

Options as of daemon.py, whose ckptd (Node) each test gets. The pages are asked for and checked by
the class Web of tests/command/web.py.
"""
import glob
import os
import re
import subprocess
import sys

import daemon
from daemon import COUNTER, USER, check, equal, test, wait_for

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '../..'))
sys.path.insert(0, f'{TOP}/tests/command')
from web import OTHER, Web  # noqa: E402

daemon.TESTS.clear()


@test
def job_that_runs(node):
    """a user's job with checkpoints, a copy of each on a level, and a restart: the page has each
    generation, its pause, its levels and the restart, as list and stats say; another user's has
    none of it"""
    place = f'{node.base}/level-p'
    os.mkdir(place, 0o700)
    node.leave()
    node.settings = {'level.p': f'posix:{place}'}
    node.start()
    job = node.shell(COUNTER.format(n=100000), user=USER, opts=('--name', 'counter'))
    node.lines(job, 1)
    for _ in range(3):
        node.ctl('checkpoint', str(job), user=USER)
    wait_for('copies', 60, lambda: all(
        [s['state'] for s in g['levels']] == ['here', 'here'] for g in node.generations(job)))
    with Web(node) as web, Web(node, user=OTHER) as other:
        text = web.page('/')
        check('counter' in text and 'state running' in text, text)
        node.ctl('kill', str(job), 'KILL', user=USER)
        node.wait(job)
        node.ctl('restart', str(job), user=USER, timeout=120)
        text = web.page(f'/job/{job}')
        rows = node.json('list', str(job), user=USER)['jobs'][0]['generations']
        equal([int(n) for n in re.findall(r'<tr id="g(\d+)"', text)],
              [g['generation'] for g in reversed(rows)], 'rows')
        for g in rows:
            pause = g['pause_ns']
            shown = f'{pause / 1e6:.2f} ms' if pause < 10000000 else f'{pause / 1e6:.0f} ms'
            row = re.search(rf'<tr id="g{g["generation"]}".*?</tr>', text, re.S)[0]
            check(f'>{shown}<' in row, f'{shown} is not in {row}')
            equal(row.count('<td>here</td>'), 2, 'levels')
        equal(text.count('class="mark"'), 3, 'generations in the picture')
        check(text.count('class="l-here"') >= 6, 'marks of levels')
        check('Restarted from generation 3' in text and '<h2>Restarts</h2>' in text, text)
        check('<h2>Copies to levels</h2>' in text, text)
        equal(web.api(f'stats?job={job}')['result'],
              node.json('stats', str(job), user=USER), 'stats')
        equal(other.get(f'/job/{job}')[0] in (403, 404), True, "another's job")
        check('counter' not in other.page('/'), 'the page of another user')


@test
def ranks_of_a_job(node):
    """the page that says whether an MPI job hangs has its verdict and a row for each rank"""
    node.leave()
    node.settings = {'mpi_dir': f'{TOP}/build/lib/mpi', 'lower': f'{TOP}/build/libexec/ckpt-lower'}
    node.start()
    program = glob.glob(f'{TOP}/build/examples/pages.*/poisson')[0]
    done = subprocess.run(
        ['setpriv', '--reuid', str(USER), '--regid', str(USER), '--clear-groups', '--',
         f'{daemon.ARGS.bin}/ckptrun', '--socket', node.socket, '-n', '2', '--detach', '--',
         program, '200', '100000000', '0.05'], stdin=subprocess.DEVNULL, capture_output=True,
        cwd='/', env={**os.environ, 'HOME': '/'}, timeout=120 * daemon.ARGS.slow)
    equal(done.returncode, 0, f'ckptrun: {done.stderr.decode()}')
    job = int(done.stdout)
    with Web(node, '--timeout', '60') as web:
        wait_for('its ranks', 60, lambda: len(node.json('ps', '--mpi', str(job))['mpi_ranks']) == 2)
        text = wait_for('the verdict', 60, lambda: verdict(web, job))
        check('Does it hang?' in text, text)
        equal(len(re.findall(r'<th scope="row" class="n">[01]</th>', text)), 2, 'ranks')
        check('MPI ranks' in web.page(f'/job/{job}'), 'the number of ranks')


def verdict(web, job):
    status, _, text = web.get(f'/job/{job}/hang')
    return status == 200 and ('No rank hangs' in text or 'is not confirmed' in text) and text


if __name__ == '__main__':
    sys.exit(daemon.main())
