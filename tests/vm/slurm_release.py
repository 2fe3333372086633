#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How soon a preempted batch job of Slurm releases its node, with and without us, as TAP.

    slurm_release.py --bin DIR --work DIR [--slow FACTOR] [--only WORD] [--runs N]

Runs as root in a test VM, with the Slurm of tests/slurm/bed. The time is that from the submission
of the preempting job to its first command.
"""
import argparse
import os
import statistics
import sys
import time

import daemon
import slurm
from daemon import check, equal, test, wait_for
from slurm import RUN, Batch

daemon.TESTS.clear()

COUNTS = argparse.Namespace(runs=3)
MIB = 200
HOLD = f"""import time
data = bytearray(b'x' * ({MIB} << 20))
n = 0
while True:
    print(n, flush=True)
    n += 1
    time.sleep(0.1)
"""
ENDLESS = 'i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done'


class Release(Batch):
    """A batch job that is preempted, and how long that took."""

    def __init__(self, node):
        super().__init__(node)
        with open(f'{self.dir}/hold.py', 'w') as f:
            f.write(HOLD)

    def seconds(self):
        """Preempt what runs; seconds until the high job's first command."""
        self.touch('began')
        os.chown(f'{self.dir}/began', slurm.ALICE, slurm.ALICE)
        before = time.time()
        high = self.alice('sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high',
                          '--wrap', 'date +%s.%N >began').stdout.strip()
        began = float(self.wait('the high job', 300, lambda: self.read('began').strip()))
        self.wait_state(high, 'COMPLETED')
        return began - before

    def measure(self, what, script, *opts):
        """Seconds of each preemption of a job, in order; the job is cancelled then."""
        name = what.replace(' ', '_')
        job = self.submit(script, *opts, name=name)
        took = []
        for _ in range(COUNTS.runs):
            self.grows(name)
            restarts = int(self.show(job)['Restarts'])
            took.append(self.seconds())
            equal(int(self.wait_state(job, 'RUNNING')['Restarts']), restarts + 1, 'requeues')
        self.alice('scancel', job)
        self.wait_state(job, 'CANCELLED')
        print(f'# {what}: {" ".join(f"{s:.1f}" for s in took)} s, median '
              f'{statistics.median(took):.1f} s', flush=True)
        return statistics.median(took)


@test
def sooner(node):
    """a saved job releases its node before the grace time is over, one without us at its end"""
    batch = Release(node)
    grace = 30 * daemon.ARGS.slow
    print(f'# grace time {grace} s', flush=True)
    alone = batch.measure('a script without us', ENDLESS)
    small = batch.measure('saved', f"{RUN} -- sh -c '{ENDLESS}'")
    large = batch.measure(f'saved with {MIB} MiB', f'{RUN} -- python3 hold.py')
    check(alone >= grace, f'{alone} s without us, of {grace}')
    check(max(small, large) < grace, f'{small} and {large} s of {grace}')


@test
def ended_at_once(node):
    """a step that gets SIGTERM, as Slurm does where no job asks for a signal, releases its node at
    once, and its job is over or begins anew"""
    batch = Release(node)
    job = batch.submit(f"srun sh -c '{ENDLESS}'", '--signal=TERM@1')
    batch.grows()
    print(f'# a step that SIGTERM ends: {batch.seconds():.1f} s', flush=True)
    state = batch.show(job)['JobState']
    if state in ('PENDING', 'RUNNING'):
        wait_for('the new begin', 120, lambda: batch.read().split('\n').count('0') == 2)
    print(f'# its job is {state}', flush=True)
    batch.cancel_all()


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--runs', type=int, default=COUNTS.runs)
    _, rest = parser.parse_known_args(namespace=COUNTS)
    sys.argv[1:] = rest
    return slurm.main()


if __name__ == '__main__':
    sys.exit(main())
