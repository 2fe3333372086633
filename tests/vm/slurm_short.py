#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One preemption of a batch job of Slurm, its account and its memory limit, as TAP.

    slurm_short.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM, with the Slurm of tests/slurm/bed, and slurmdbd for sacct.
"""
import os
import re
import sys

import daemon
import slurm
from daemon import check, equal, killing_for_memory, test, wait_for
from slurm import RUN, Batch

daemon.TESTS.clear()

ROUNDS = 100
WORK = f"""import time
data = bytearray(b'x' * (60 << 20))
for n in range({ROUNDS}):
    for i in range(100000):
        pass
    print(f'n{{n}}', flush=True)
    time.sleep(0.05)
print('end')
"""
LIMIT_MIB = 100
BIG = """import os, time
print('up', flush=True)
while not os.path.exists('go'):
    time.sleep(0.1)
data = b'x' * (400 << 20)
print('had it', flush=True)
time.sleep(600)
"""


def seconds(text):
    """Of a time as sacct writes it: [[DAYS-]HOURS:]MINUTES:SECONDS."""
    days, _, rest = text.rpartition('-')
    total = 0
    for part in rest.split(':'):
        total = total * 60 + float(part)
    return int(days or 0) * 86400 + total


def account(batch, job, runs):
    """What sacct says of the batch steps of all runs of a job: (CPU seconds, most memory in KiB)"""
    def rows():
        text = batch.alice('sacct', '-D', '-n', '-P', '-j', job, '-o',
                           'JobID,TotalCPU,MaxRSS,State').stdout
        found = [line.split('|') for line in text.split('\n') if line.startswith(f'{job}.batch|')]
        return len(found) == runs and all(row[2] for row in found) and found
    found = wait_for(f'the account of {runs} runs', 60, rows)
    print(f'# {found}', flush=True)
    memory = [int(re.sub(r'\..*|K', '', row[2])) for row in found]
    return sum(seconds(row[1]) for row in found), max(memory)


@test
def preempted_once(node):
    """a preempted job has the output of an undisturbed one, and sacct about the same figures"""
    batch = Batch(node)
    with open(f'{batch.dir}/work.py', 'w') as f:
        f.write(WORK)
    command = f'{RUN} -- python3 work.py; echo status $?'
    alone = batch.submit(command, name='alone')
    batch.wait_state(alone, 'COMPLETED', seconds=300)
    job = batch.submit(command)
    batch.grows(lines=ROUNDS // 2)
    batch.preempt(job)
    batch.wait_state(job, 'COMPLETED', seconds=300)
    equal(batch.read(), ''.join(f'n{n}\n' for n in range(ROUNDS)) + 'end\nstatus 0\n', 'output')
    equal(batch.read('alone'), batch.read(), 'the undisturbed output')
    want, got = account(batch, alone, 1), account(batch, job, 2)
    print(f'# undisturbed: {want[0]:.1f} s of CPU, {want[1]} KiB; '
          f'preempted: {got[0]:.1f} s, {got[1]} KiB', flush=True)
    # the dump and the restore are accounted for as well; CPU time of a run that is ended by the
    # requeue is not (KI-188)
    check(0.2 * want[0] <= got[0] <= 2 * want[0] + 5, f'CPU time: {got}, undisturbed {want}')
    check(61440 <= min(want[1], got[1]) and got[1] <= 2 * want[1],
          f'memory: {got}, undisturbed {want}')


@test
def memory_limit(node):
    """the memory limit of the batch job holds for what it launches, also after a restart, and
    detached"""
    batch = Batch(node)
    with open(f'{batch.dir}/big.py', 'w') as f:
        f.write(BIG)
    with killing_for_memory(''):
        limits_hold(node, batch)


def limits_hold(node, batch):
    # the limit holds without us: else nothing would be shown
    batch.touch('go')
    bare = batch.submit('python3 big.py; echo status $?', f'--mem={LIMIT_MIB}', name='bare')
    wait_for('the end without us', 60, lambda: 'status' in batch.read('bare'))
    equal(batch.read('bare'), 'up\nstatus 137\n', 'output without us')
    os.unlink(f'{batch.dir}/go')
    job = batch.submit(f'{RUN} -- python3 big.py; echo status $?', f'--mem={LIMIT_MIB}')
    wait_for('the program', 60, lambda: batch.read() == 'up\n')
    batch.preempt(job)
    away = batch.submit('ckptctl run --detach -- python3 big.py; sleep 600', f'--mem={LIMIT_MIB}',
                        name='away')
    number = int(wait_for('the detached job', 60, lambda: batch.read('away').strip()).split()[-1])
    wait_for('the detached program', 60, lambda: logged(node, number) == 'up\n')
    batch.touch('go')
    wait_for(f'the end ({batch.read("out.err")})', 60, lambda: 'status' in batch.read())
    equal(batch.read(), 'up\nstatus 137\n', 'output')
    wait_for('the end of the detached one', 60, lambda: number not in node.jobs())
    equal(logged(node, number), 'up\n', 'output of the detached one')
    batch.alice('scancel', away)


def logged(node, number):
    try:
        with open(f'{node.images}/{number}/stdout') as f:
            return f.read()
    except FileNotFoundError:
        return ''


def main():
    os.environ['BED_ACCOUNTS'] = 'yes'
    os.environ['BED_MEMORY'] = 'yes'
    return slurm.main()


if __name__ == '__main__':
    sys.exit(main())
