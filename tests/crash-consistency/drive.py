#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files and memory of one moment, the part in the VM: run as root by tests/crash-consistency/run.

    drive.py runs  OPTION...                   runs of each program on each file system
    drive.py start OPTION... --cut N           jobs with a checkpoint each; the power is cut then
    drive.py end   OPTION... --cut N           after the next boot: they are restarted and compared

What outlives a cut is in --keep, a directory of the host: references.json, cut.json. Verdicts
are added there to results.jsonl, one a line.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import asdict

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path += [f'{HERE}/../vm', f'{HERE}/../crash']

import daemon                                                   # noqa: E402
from attempt import Attempt, Runner, kept, planned              # noqa: E402
from daemon import Failure, Node, wait_for                      # noqa: E402
from disk import sh                                             # noqa: E402
from places import KINDS, Unavailable                           # noqa: E402
from programs import BINARIES, MPI, PROGRAMS, SCRIPTS           # noqa: E402

ARGS = None
JOBS_OF_A_CUT = 8
PORT = 7040             # of the first node, for the other one
PRINTING = threading.Lock()


def copy_programs():
    """On the VM's own disk: a restart wants them unchanged, and who builds is not to be noticed."""
    for where in ('bin', 'scripts'):
        os.makedirs(f'{ARGS.work}/{where}', exist_ok=True)
    for name in ('ckptd', 'ckptctl', 'ckpt-shim', 'ckptrun'):
        shutil.copy2(f'{ARGS.bin}/{name}', f'{ARGS.work}/bin')
    for name in BINARIES:
        shutil.copy2(f'{ARGS.bin}/tests/crash-consistency/{name}', f'{ARGS.work}/bin')
    for name in SCRIPTS:
        shutil.copy2(f'{HERE}/programs/{name}', f'{ARGS.work}/scripts')
    os.sync()


def open_places():
    """Those that this kernel has; a power cut takes none that forgets everything."""
    places = []
    for name in ARGS.fs:
        place = KINDS[name](name, ARGS.work)
        if ARGS.verb != 'runs' and not place.survives:
            continue
        try:
            place.open()
            places.append(place)
        except Unavailable as e:
            note({'skip': str(e), 'program': '*', 'place': name})
    return places


def close_places():
    """The VM may be one that other tests use after us."""
    if ARGS.leave:
        for name in ARGS.fs:
            KINDS[name](name, ARGS.work).close()
        os.chdir('/')
        shutil.rmtree(ARGS.work)


def note(result):
    with PRINTING:
        with open(f'{ARGS.keep}/results.jsonl', 'a') as f:
            f.write(json.dumps(result) + '\n')
        if 'skip' in result:
            print(f'skipped  {result["program"]} on {result["place"]}: {result["skip"]}',
                  flush=True)


def report(attempt):
    if attempt.verdict == 'skipped':
        note({'skip': attempt.why, 'program': attempt.program, 'place': attempt.place})
        return attempt
    note({**asdict(attempt), 'text': attempt.text()})
    with PRINTING:
        print(f'{attempt.verdict:8} {attempt.program} on {attempt.place}, run {attempt.number}: '
              f'{attempt.text()}' + (f'\n         {attempt.why[:600]}' if attempt.why else ''),
              flush=True)
    return attempt


def references(runner, places):
    """Results of undisturbed runs, of each program on each file system."""
    path = f'{ARGS.keep}/references.json'
    known = {}
    if os.path.exists(path):
        with open(path) as f:
            known = {(r['program'], r['place']): r for r in json.load(f)}
    missing = [(program, place) for program in ARGS.programs for place in places
               if (program, place.name) not in known]
    with concurrent.futures.ThreadPoolExecutor(ARGS.parallel) as pool:
        for (program, place), result in zip(missing, pool.map(lambda m: runner.refer(*m), missing)):
            known[program, place.name] = {'program': program, 'place': place.name, **result}
            if 'skip' in result:
                note(known[program, place.name])
    with open(path, 'w') as f:
        json.dump(list(known.values()), f)
    return known


def pairs(runner, places):
    return [(program, place) for program in ARGS.programs for place in places
            if 'skip' not in runner.references[program, place.name]]


def all_runs(runner, places):
    attempts = [planned(ARGS.seed, program, place, number)
                for number in range(ARGS.first, ARGS.first + ARGS.runs)
                for program, place in pairs(runner, places)]
    with concurrent.futures.ThreadPoolExecutor(ARGS.parallel) as pool:
        for _ in pool.map(lambda a: report(runner.run(a)), attempts):
            pass


def before_cut(runner, places):
    """All jobs run at the same time; the last one's checkpoint is the moment of the others, too."""
    rng = random.Random(f'{ARGS.seed} cut {ARGS.cut}')
    chosen = pairs(runner, places)
    chosen = rng.sample(chosen, min(JOBS_OF_A_CUT, len(chosen)))
    attempts = [planned(ARGS.seed, program, place, ARGS.cut, cut=True) for program, place in chosen]
    with concurrent.futures.ThreadPoolExecutor(JOBS_OF_A_CUT) as pool:
        for _ in pool.map(runner.before_cut, attempts):
            pass
    time.sleep(rng.uniform(0, 1.5))
    with open(f'{ARGS.keep}/cut.json', 'w') as f:
        json.dump(kept(attempts), f)


def after_cut(runner):
    with open(f'{ARGS.keep}/cut.json') as f:
        attempts = [Attempt(**a) for a in json.load(f)]
    with concurrent.futures.ThreadPoolExecutor(ARGS.parallel) as pool:
        for _ in pool.map(lambda a: report(runner.after_cut(a)), attempts):
            pass


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('verb', choices=('runs', 'start', 'end'))
    parser.add_argument('--bin', required=True)
    parser.add_argument('--work', required=True)
    parser.add_argument('--keep', required=True)
    parser.add_argument('--slow', type=int, default=1)
    parser.add_argument('--fs', type=lambda t: t.split(','), default=list(KINDS))
    parser.add_argument('--programs', type=lambda t: t.split(','), default=list(PROGRAMS))
    parser.add_argument('--runs', type=int, default=1)
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--parallel', type=int, default=3)
    parser.add_argument('--cut', type=int, default=0)
    parser.add_argument('--spoil', action='store_true')
    parser.add_argument('--incremental', action='store_true')
    parser.add_argument('--leave', action='store_true', help='remove all that was made')
    return parser.parse_args()


TOP = os.path.dirname(os.path.dirname(HERE))
# nodes that are one machine must not take each other's memory for their own
MPI_ENV = {'OMPI_MCA_pml': 'ob1', 'OMPI_MCA_btl': 'self,tcp', 'OMPI_MCA_btl_tcp_if_include': 'lo',
           'OMPI_MCA_mpi_yield_when_idle': '1'}


def make_nodes():
    """Two ckptds with a common image directory; one if no program is MPI's."""
    count = 2 if any(name in MPI for name in ARGS.programs) else 1
    hosts = f'{ARGS.work}/hosts'
    nodes = []
    for i in range(1, count + 1):
        os.makedirs(f'{ARGS.work}/n{i}', exist_ok=True)
        nodes.append(Node(ARGS.work, f'n{i}'))
        nodes[-1].settings = {'mpi_dir': f'{TOP}/build/lib/mpi',
                              'lower': f'{TOP}/build/libexec/ckpt-lower'}
        if ARGS.incremental:
            nodes[-1].settings['incremental'] = '4'
        if count > 1:
            nodes[-1].settings.update(hosts=hosts, listen='127.0.0.1', allow_users='*',
                                      node_key=f'{ARGS.work}/n{i}/node.key')
    if count > 1 and not os.path.exists(hosts):
        lines = [sh(f'{ARGS.bin}/ckptctl', 'keygen', '--dir', node.base, '--node', node.name,
                    '--address', f'127.0.0.1:{PORT + i}') for i, node in enumerate(nodes)]
        with open(hosts, 'w') as f:
            f.write(''.join(f'{line} root=yes\n' for line in lines))
        os.sync()
    return nodes


def start_nodes(nodes):
    for node in nodes:
        node.start()
    if len(nodes) > 1:
        wait_for('the nodes to find each other', 30,
                 lambda: nodes[0].ctl('nodes', check=False).returncode == 0)


def act(nodes):
    places = open_places()
    runner = Runner(nodes, {}, ARGS.spoil)
    runner.references = references(runner, places)
    if ARGS.verb == 'runs':
        all_runs(runner, places)
    elif ARGS.verb == 'start':
        before_cut(runner, places)
    else:
        after_cut(runner)


def main():
    global ARGS
    ARGS = daemon.ARGS = parse()
    os.makedirs(ARGS.keep, exist_ok=True)
    if ARGS.verb != 'end':
        copy_programs()
    ARGS.bin = f'{ARGS.work}/bin'
    os.environ.update(MPI_ENV)
    # as under systemd: what is mounted here is in the jobs' namespaces, too
    sh('mount', '--make-rshared', '/')
    nodes = make_nodes()
    try:
        start_nodes(nodes)
        act(nodes)
        if ARGS.verb != 'start':
            for node in nodes:
                node.stop()
            close_places()
    except (Failure, subprocess.TimeoutExpired) as e:
        print(f'broken   {e}', flush=True)
        print(subprocess.run(['tail', '-n', '15', *(n.log.name for n in nodes)],
                             capture_output=True, text=True).stdout, flush=True)
        return 1
    finally:
        for node in nodes:
            if ARGS.verb != 'start' and node.daemon and node.daemon.poll() is None:
                node.kill()
    return 0


if __name__ == '__main__':
    sys.exit(main())
