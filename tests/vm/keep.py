#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What stays of a job's generations: pin, prune, fsck, list by its index, and that nobody reads it;
runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import time

import daemon
from daemon import COUNTER, USER, Node, check, equal, test, wait_for

daemon.TESTS.clear()


def job_with(node, generations, user=None):
    job = node.shell(COUNTER.format(n=100000), user=user)
    node.lines(job, 1)
    for _ in range(generations):
        node.ctl('checkpoint', str(job))
    return job


def numbers(node, job):
    return [g['generation'] for g in node.generations(job)]


def log_of(node):
    with open(node.log.name, errors='replace') as f:
        return f.read()


def end(node, job):
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)


@test
def pinned(node):
    """a pinned generation is not removed by rm, prune or --force, until it is unpinned"""
    job = job_with(node, 3)
    node.ctl('pin', '-g', '2', str(job))
    node.ctl('pin', f'{job}:2')
    equal([g['generation'] for g in node.generations(job) if g.get('pinned')], [2], 'list')
    check(b'pinned' in node.ctl('list', str(job)).stdout, 'REMARK of list')
    node.fails(1, f'ckptctl unpin {job}:2', 'rm', '--force', f'{job}:2')
    node.ctl('prune', '--keep', '1', str(job))
    equal(numbers(node, job), [2, 3], 'after prune')
    node.fails(1, 'no generation 9', 'pin', f'{job}:9')
    node.fails(1, 'is not pinned', 'unpin', str(job))
    # the pin is beside the image: the index and ckptd come and go
    node.kill()
    os.unlink(f'{node.base}/jobs/index.db')
    node.start()
    equal([g['generation'] for g in node.generations(job) if g.get('pinned')], [2], 'a new ckptd')
    end(node, job)
    node.fails(1, 'unpin', 'rm', '--force', str(job))
    equal(numbers(node, job), [2, 3], 'after rm of the job')
    node.ctl('unpin', f'{job}:2')
    node.ctl('rm', str(job))
    equal(node.left(), [], 'directory')


@test
def pruned(node):
    """prune: rules, dry run, others' jobs, and a restart from what is left"""
    job = job_with(node, 6)
    node.fails(2, 'what is to be kept', 'prune', str(job))
    done = node.json('prune', '--keep', '1', '--keep-every', '2', '--dry-run', str(job))
    equal([r['generation'] for r in done['jobs'][0]['removed']], [1, 3, 5], 'dry run')
    equal(numbers(node, job), [1, 2, 3, 4, 5, 6], 'after a dry run')
    his = job_with(node, 2, user=USER)
    done = node.json('prune', '--keep', '1', user=USER)
    equal([j['job'] for j in done['jobs']], [his], 'jobs of a user')
    equal(numbers(node, job), [1, 2, 3, 4, 5, 6], 'after another user\'s prune')
    node.fails(1, 'belongs to', 'prune', '--keep', '1', str(job), user=USER)
    node.fails(1, 'belongs to', 'pin', str(job), user=USER)
    node.fails(1, 'belongs to', 'fsck', str(job), user=USER)
    node.fails(1, 'only root', 'list', '--rebuild', user=USER)
    node.ctl('prune', '--keep', '1', '--keep-every', '2', str(job))
    equal(numbers(node, job), [2, 4, 6], 'after prune')
    # one byte: all but the last one goes
    node.ctl('prune', '--max-size', '1', str(job))
    equal(numbers(node, job), [6], 'after prune by size')
    equal(node.json('checkpoint', str(job))['generation'], 7, 'numbers go on')
    # the newest is damaged: what could be restarted from is kept
    with open(f'{node.images}/{job}/gen-7/manifest', 'r+b') as f:
        f.seek(50)
        f.write(b'\xff')
    node.ctl('prune', '--keep', '1', str(job))
    equal(numbers(node, job), [6, 7], 'the newest is damaged')
    end(node, job)
    node.ctl('restart', f'{job}:6')
    equal(node.jobs()[job]['state'], 'running', 'state')
    # what it was restarted from is not held any longer
    node.ctl('checkpoint', str(job))
    node.ctl('rm', f'{job}:6')


@test
def retained_as_configured(node):
    """retain_keep and retain_keep_every: after each checkpoint, and a restart at once after one"""
    node.kill()
    node.settings = {'retain_keep': '2', 'retain_keep_every': '4'}
    node.start()
    job = job_with(node, 7)
    wait_for('pruning', 20, lambda: numbers(node, job) == [4, 6, 7])
    for _ in range(3):
        node.ctl('checkpoint', '--kill', str(job))
        node.ctl('restart', str(job))
    node.ctl('checkpoint', str(job))
    wait_for('pruning', 20, lambda: numbers(node, job) == [4, 8, 10, 11])
    check('generation 1 removed' in log_of(node), 'the log')
    equal(node.ctl('fsck').returncode, 0, 'fsck')


@test
def kept_as_the_owner_wants(node):
    """run --keep: fewer than the site keeps, and never more, also after a restart"""
    name = 'kept-by-owner'
    job = int(node.ctl('run', '--keep', '2', '--detach', '--name', name, '--', 'sleep', '1000')
              .stdout)
    for _ in range(4):
        node.ctl('checkpoint', str(job))
    wait_for('pruning', 20, lambda: numbers(node, job) == [3, 4])
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    node.ctl('checkpoint', str(job))
    wait_for('pruning', 20, lambda: numbers(node, job) == [5, 6])
    node.ctl('kill', str(job), 'KILL')
    node.fails(2, '--keep', 'run', '--keep', '0', '--', 'true')
    node.kill()
    node.settings = {'retain_keep': '1'}
    node.start()
    job = int(node.ctl('run', '--keep', '3', '--detach', '--', 'sleep', '1000').stdout)
    for _ in range(3):
        node.ctl('checkpoint', str(job))
    wait_for('pruning', 20, lambda: numbers(node, job) == [3])
    equal(node.ctl('fsck').returncode, 0, 'fsck')


@test
def list_by_index(node):
    """list: the index is used, and gone, garbage, of a newer version it costs nothing but time"""
    job = job_with(node, 3)
    index = f'{node.base}/jobs/index.db'
    rows = node.generations(job)
    check(os.path.exists(index), 'there is no index')
    equal(os.stat(index).st_mode & 0o777, 0o600, 'mode')
    equal(node.generations(job), rows, 'again')
    os.unlink(index)
    equal(node.generations(job), rows, 'it was gone')
    with open(index, 'wb') as f:
        f.write(os.urandom(20000))
    equal(node.generations(job), rows, 'garbage')
    check('made anew' in log_of(node), 'the log')
    with open(index, 'r+b') as f:
        f.seek(60)    # the user version
        f.write(b'\0\0\0\x63')
    equal(node.generations(job), rows, 'of a newer version')
    check('newer version' in log_of(node), 'the log')
    equal(node.ctl('fsck', check=False).returncode, 1, 'fsck')
    node.ctl('fsck', '--repair')
    node.ctl('list', '--rebuild')
    equal(node.generations(job), rows, 'rebuilt')
    shutil.rmtree(f'{node.images}/{job}/gen-2')
    equal([r['generation'] for r in node.generations(job)], [1, 3], 'one is gone')


@test
def fsck_of_a_mess(node):
    """fsck: leftovers, damage, pins of what is gone; repair removes no generation"""
    job = job_with(node, 3)
    end(node, job)
    top = f'{node.images}/{job}'
    equal(node.json('fsck', '--deep')['findings'], [], 'nothing is wrong')
    os.mkdir(f'{top}/.tmp-gen-9')
    os.mkdir(f'{top}/.rm-gen-8')
    os.makedirs(f'{top}/gen-7/node-0')
    os.mkdir(f'{node.images}/77')
    node.ctl('pin', f'{job}:1')
    shutil.rmtree(f'{top}/gen-1')
    with open(f'{top}/gen-2/pages', 'r+b') as f:
        f.truncate(100)

    def kinds(*opts):
        done = node.ctl('fsck', '--json', *opts, check=False)
        equal(done.returncode, 1, 'status')
        rows = json.loads(done.stdout)['result']['findings']
        return sorted(('!' if r['repaired'] else '') + r['kind'] for r in rows)
    all_kinds = ['damaged', 'half_removed', 'no_record', 'pin_gone', 'uncommitted', 'unfinished']
    equal(kinds(), all_kinds, 'found')
    equal(kinds('--repair'), sorted(k if k in ('damaged', 'no_record') else '!' + k
                                    for k in all_kinds), 'repaired')
    equal(kinds(), ['damaged', 'no_record'], 'left')
    text = node.ctl('fsck', check=False).stdout.decode()
    check('a restart from it is refused' in text, text)
    equal(sorted(set(os.listdir(top)) - {'writes'}),
          ['.lock', 'gen-2', 'gen-3', 'history', 'job.json', 'stderr', 'stdout'],
          'what is there')
    node.ctl('restart', str(job))


@test
def fsck_and_a_living_writer(node):
    """fsck --repair during a checkpoint leaves it alone"""
    job = daemon.big_job(node, 200)
    p = subprocess.Popen(node.argv('checkpoint', str(job)), stdout=subprocess.DEVNULL)
    wait_for('the image', 30, lambda: any(n.startswith('.tmp') for n in
                                          os.listdir(f'{node.images}/{job}')))
    done = node.json('fsck', '--repair')
    equal((done['findings'], done['open']), ([], 0), 'findings')
    equal(p.wait(120 * daemon.ARGS.slow), 0, 'the checkpoint')
    node.ctl('verify', '--deep', f'{job}:1')
    equal(node.json('fsck', '--deep')['findings'], [], 'fsck')


@test
def catalog_goes_away(node):
    """image directory read-only or gone under a running ckptd: said clearly, jobs run on"""
    job = job_with(node, 3)
    subprocess.run(['mount', '--bind', node.images, node.images], check=True)
    subprocess.run(['mount', '-o', 'remount,ro,bind', node.images], check=True)
    try:
        equal(numbers(node, job), [1, 2, 3], 'list')
        equal(node.ctl('fsck').returncode, 0, 'fsck')
        for argv in (('rm', f'{job}:1'), ('pin', str(job)), ('checkpoint', str(job)),
                     ('prune', '--keep', '1', str(job))):
            message = node.fails(1, '', *argv)
            check('ead-only' in message, message)
    finally:
        subprocess.run(['umount', '-l', node.images], check=True)
    node.ctl('prune', '--keep', '1', str(job))
    equal(numbers(node, job), [3], 'after prune')
    # somebody removes all of it
    before = node.output(job).count('\n')
    os.rename(node.images, node.images + '.away')
    node.fails(1, 'No such file', 'checkpoint', str(job))
    node.fails(1, '', 'run', '--detach', '--', 'true')
    message = node.ctl('fsck', check=False).stdout.decode()
    check('No such file' in message and 'running jobs are not affected' in message, message)
    equal(node.jobs()[job]['state'], 'running', 'state')
    os.rename(node.images + '.away', node.images)
    node.lines(job, before + 1)
    equal(node.json('checkpoint', str(job))['generation'], 4, 'after it came back')


@test
def one_daemon_per_directory(node):
    """two ckptds on one socket, state directory, or name: the second leaves and names the first"""
    def second(sock, state, on=f'node {node.name}', name='other'):
        p = subprocess.run([f'{daemon.ARGS.bin}/ckptd', '-c', '/dev/null', '-s', f'socket={sock}',
                            '-s', f'state_dir={state}', '-s', f'image_dir={node.images}',
                            '-s', f'key={node.key}', '-s', f'node={name}'],
                           capture_output=True, timeout=20 * daemon.ARGS.slow)
        equal(p.returncode, 1, 'status')
        check(f'another ckptd (pid {node.daemon.pid} on {on})' in p.stderr.decode(), p.stderr)
    job = job_with(node, 1)
    second(node.socket, f'{node.base}/other')
    second(f'{node.base}/other.sock', f'{node.base}/jobs')
    second(f'{node.base}/other.sock', f'{node.base}/other', f'host {os.uname().nodename}',
           node.name)
    equal(node.jobs()[job]['state'], 'running', 'state')
    node.ctl('ps')
    # the lock goes with the process, not with the file
    node.kill()
    node.start()


@test
def clock_goes_back(node):
    """the clock goes back by a day between checkpoints: order is by number"""
    job = job_with(node, 2)
    subprocess.run(['date', '-s', '-1 day'], check=True, stdout=subprocess.DEVNULL)
    try:
        node.ctl('checkpoint', str(job))
        rows = node.generations(job)
        check(rows[2]['created'] < rows[1]['created'], 'the clock did not go back')
        node.ctl('prune', '--keep', '2', str(job))
        equal(numbers(node, job), [2, 3], 'after prune')
        node.ctl('checkpoint', '--kill', str(job))
        equal(node.json('restart', str(job))['generation'], 4, 'restarted from the newest')
    finally:
        subprocess.run(['date', '-s', '+1 day'], check=True, stdout=subprocess.DEVNULL)


@test
def two_nodes_one_directory(node):
    """nodes that share the image directory: each has an index, and prunes its own jobs only"""
    two = Node(node.base.rsplit('/', 1)[0], 'node2').start()
    try:
        job = job_with(node, 3)
        equal(numbers(two, job), [1, 2, 3], 'list of the other')
        two.fails(1, 'was last on node node1', 'prune', '--keep', '1', str(job))
        done = two.json('prune', '--keep', '1')
        check('node1' in done['jobs'][0]['skipped'], done)
        # a pin of the other node is this node's, too
        two.ctl('pin', f'{job}:1')
        node.ctl('prune', '--keep', '1', str(job))
        equal(numbers(node, job), [1, 3], 'after prune')
        equal(numbers(two, job), [1, 3], 'list of the other')
        check(os.path.exists(f'{two.base}/jobs/index.db'), 'no index of its own')
    finally:
        two.stop()


# ------------------------------------------------------------- encryption

def holding(directory, text):
    """The files below the directory that have the text, but for the job's output."""
    found = []
    for place, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(place, name)
            if name.startswith(('stdout', 'stderr')) or not os.path.isfile(path):
                continue
            with open(path, 'rb') as f:
                if text.encode() in f.read():
                    found.append(path)
    return found


def add_to_keyring(name, path):
    """As keyctl padd user NAME @u <PATH"""
    with open(path, 'rb') as f:
        data = f.read()
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.syscall(248, b'user', name.encode(), data, ctypes.c_size_t(len(data)), -4) >= 0,
          f'add_key: {ctypes.get_errno()}')


def set_key(node, source, **settings):
    node.kill()
    node.settings.update(encryption_key=source, **settings)
    node.start()


@test
def encrypted(node):
    """an encrypted job: none of it on the disk; restarted with its key, refused without"""
    marker = 'S3CRET-7f3a91'
    path = f'{node.base}/encryption.key'
    job = node.shell(f'SECRET={marker}; export SECRET; sleep 1000')
    node.ctl('checkpoint', str(job))
    check(holding(node.images, marker), 'what is not encrypted cannot be found')
    end(node, job)
    key = node.ctl('keygen', '--encryption-key', path).stdout.decode().split()[1]
    node.fails(1, 'is not replaced', 'keygen', '--encryption-key', path)
    node.ctl('rm', '--force', str(job))
    set_key(node, path, incremental='2')
    job = node.shell(f'SECRET={marker}; export SECRET; {COUNTER.format(n=60)}')
    node.lines(job, 3)
    node.ctl('checkpoint', str(job))
    node.lines(job, 6)
    node.ctl('checkpoint', '--kill', str(job))
    equal(holding(node.images, marker) + holding(f'{node.base}/jobs', marker), [], 'found it in')
    shown = node.json('show', f'{job}:2')
    equal((shown['encrypted'], shown['locked'], shown['encryption_key']), (True, False, key),
          'show')
    os.rename(path, path + '.away')
    equal(numbers(node, job), [1, 2], 'list without the key')
    check(path in node.fails(1, key, 'restart', str(job)), 'where the key was looked for')
    check(path in node.fails(1, key, 'diff', f'{job}:1', f'{job}:2'),
          'where the key was looked for')
    node.fails(1, path, 'run', '--', 'true')
    said = node.ctl('verify', '--deep', f'{job}:2').stdout.decode()
    check(key in said and said.endswith('whole\n'), 'verify without the key')
    check(node.json('show', f'{job}:2')['locked'], 'show without the key')
    node.ctl('keygen', '--encryption-key', path)
    check(path in node.fails(1, key, 'restart', str(job)), 'with another key')
    add_to_keyring('stillpoint:test', path + '.away')
    set_key(node, 'keyring:stillpoint:test')
    equal(node.ctl('verify', '--deep', f'{job}:2').stdout, b'whole\n', 'verify')
    node.ctl('restart', str(job))
    equal(node.wait(job), 9, 'status')
    equal(node.output(job), daemon.counted(60), 'output')
    equal(holding(node.images, marker), [], 'found it after the restart in')
    with open(path + '.away', 'rb') as f:
        check(f.read().hex() not in log_of(node), 'the key is in the log')


@test
def own_key(node):
    """a job with a key of its own: none of it on the disk; nothing happens without the key"""
    marker = 'S3CRET-0b88c2'
    before = job_with(node, 1)
    node.kill()
    node.settings.update(job_keys='on', incremental='2')
    node.start()
    job = node.shell(f'SECRET={marker}; export SECRET; {COUNTER.format(n=60)}')
    key = f'{node.base}/jobs/keys/{job}'
    name = node.ctl('keys', 'list', str(job)).stdout.decode().split()[-1]
    node.lines(job, 3)
    node.ctl('checkpoint', str(job))
    node.lines(job, 6)
    node.ctl('checkpoint', str(job))
    shown = node.json('show', f'{job}:2')
    equal((shown['encrypted'], shown['locked'], shown['encryption_key'], shown['job_key']),
          (True, False, name, True), 'show')
    check(shown['stored']['base'], 'the second one has no base')
    os.rename(key, key + '.away')
    check('keys take' in node.fails(1, 'is not on node', 'checkpoint', str(job)), 'what to do')
    equal(numbers(node, job), [1, 2], 'a checkpoint without the key')
    node.lines(job, 9)
    os.rename(key + '.away', key)
    node.ctl('checkpoint', '--kill', str(job))
    equal(holding(node.images, marker) + holding(f'{node.base}/jobs', marker), [], 'found it in')
    os.rename(key, key + '.away')
    equal(numbers(node, job), [1, 2, 3], 'list without the key')
    node.fails(1, 'is not on node', 'restart', str(job))
    check(node.json('show', f'{job}:3')['locked'], 'show without the key')
    check(node.ctl('verify', '--deep', f'{job}:3').stdout.endswith(b'whole\n'),
          'verify without the key')
    os.rename(key + '.away', key)
    node.ctl('merge', f'{job}:2')
    node.ctl('restart', str(job))
    equal(node.wait(job), 9, 'status')
    equal(node.output(job), daemon.counted(60), 'output')
    equal(holding(node.images, marker), [], 'found it after the restart in')
    # a job of before stays as it was, with the setting and without
    node.ctl('checkpoint', str(before))
    node.kill()
    node.settings.update(job_keys='off')
    node.start()
    equal(node.ctl('verify', '--deep', f'{job}:3').stdout, b'whole\n', 'verify with job_keys off')
    node.ctl('checkpoint', '--kill', str(before))
    node.ctl('restart', str(before))
    equal([node.json('show', f'{before}:{n}')['encrypted'] for n in (1, 2, 3)], [False] * 3,
          'images of the job of before')
    end(node, before)
    node.ctl('rm', str(job))
    check(not os.path.exists(key), 'the key of a job that was removed')


@test
def encrypted_tree(node):
    """dump and restore --standalone with a key of one's own"""
    path, image = f'{node.base}/own.key', f'{node.base}/image'
    common = ('--standalone', '--key', node.key)
    node.ctl('keygen', '--encryption-key', path)
    p = daemon.spawn(COUNTER.format(n=30), f'{node.base}/out')
    wait_for('lines', 20, lambda: os.path.getsize(f'{node.base}/out') > 10)
    node.fails(1, 'keyring', 'dump', *common, '--encryption-key', 'keyring:none', '--pid',
               str(p.pid), '--dir', image)
    check(not os.path.exists(image), 'an image without the key')
    node.fails(2, 'needs --standalone', 'dump', '--encryption-key', path, '--pid', str(p.pid),
               '--dir', image)
    node.ctl('dump', *common, '--encryption-key', path, '--pid', str(p.pid), '--dir', image,
             '--kill')
    equal(p.wait(), -9, 'killed')
    node.fails(1, '--encryption-key', 'restore', *common, '--dir', image)
    node.fails(9, '', 'restore', *common, '--encryption-key', path, '--dir', image)
    with open(f'{node.base}/out') as f:
        equal(f.read(), daemon.counted(30), 'output')


if __name__ == '__main__':
    began = time.monotonic()
    status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
