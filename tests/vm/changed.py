#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files that a job first changes after a checkpoint, and a restart from it; runs in a test VM.

A restart either finds files as of the generation, or is refused, or says what it does not know.
Options as of daemon.py, whose ckptd (Node) each test gets.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import daemon
from daemon import USER, check, equal, test, wait_for

daemon.TESTS.clear()

WAIT = 'echo ready; while [ ! -e go ]; do sleep 0.1; done; '
# each changes `in`, in its way
CHANGES = {
    'written': 'echo new >in',
    'appended': 'echo new >>in',
    'in place': 'echo new 1<>in',
    'cut by its path': 'python3 -c "import os; os.truncate(\'in\', 1)"',
    'removed': 'rm in',
    'renamed': 'mv in out',
    'replaced': 'echo new >tmp; mv tmp in',
    'written by a new name': 'ln in also; echo new >also',
}


def put(path, text):
    with open(path, 'w') as f:
        f.write(text)


def get(path):
    with open(path) as f:
        return f.read()


def names(d):
    return sorted(os.listdir(d))


def scratch():
    d = tempfile.mkdtemp(prefix='changed-', dir=daemon.ARGS.work)
    os.chmod(d, 0o777)
    put(f'{d}/in', 'old\n')
    os.chown(f'{d}/in', USER, USER)
    os.utime(f'{d}/in', (1000, 1000))
    return d


def begin(node, d, action, checkpoints=1):
    """A job that was checkpointed, and then does @action when there is a file `go`."""
    job = node.run('/bin/sh', '-c', f'{WAIT}{action}; echo done; sleep 1000', user=USER,
                   opts=('--chdir', d))
    node.lines(job, 1)
    for _ in range(checkpoints):
        node.ctl('checkpoint', str(job))
    return job


def let_go(node, d, job, lines=2):
    put(f'{d}/go', '')
    node.lines(job, lines)


def crash(node, job):
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)


def put_back(d):
    """As cp -p does."""
    put(f'{d}/in', 'old\n')
    os.chown(f'{d}/in', USER, USER)
    os.utime(f'{d}/in', (1000, 1000))


def refused(node, job, d, reason='FILE_'):
    """The restart and its dry run are refused, name the file and the option, and touch nothing."""
    before = names(d)
    for opts in ((), ('--dry-run',)):
        message = node.fails(3, f'{d}/in', 'restart', *opts, str(job))
        check(reason in message and '--accept-changed' in message, message)
    equal(names(d), before, 'names')


@test
def changed_after(node):
    """an input that is changed in any way after the checkpoint: refused, until it is put back"""
    for what, action in CHANGES.items():
        d = scratch()
        job = begin(node, d, action)
        let_go(node, d, job)
        crash(node, job)
        refused(node, job, d)
        os.unlink(f'{d}/go')
        put_back(d)
        # nobody knows what a file was that was cut before it could be looked at; kernels from
        # 6.10 on look at it before an open cuts it
        if what == 'cut by its path':
            node.fails(3, '--accept-changed', 'restart', str(job))
        if what in ('written', 'cut by its path'):
            node.ctl('restart', '--accept-changed', str(job))
        else:
            done = node.json('restart', str(job))
            check('may be newer' not in ' '.join(done.get('notes', [])), done)
        equal(node.job(job)['state'], 'running', what)
        crash(node, job)
        node.ctl('rm', str(job))
        shutil.rmtree(d)


@test
def opened_alone(node):
    """a file that the job opens for writing after the checkpoint, and does not write: no change"""
    d = scratch()
    job = begin(node, d, 'exec 9<>in')
    let_go(node, d, job)
    crash(node, job)
    os.unlink(f'{d}/go')
    node.ctl('restart', str(job))
    crash(node, job)


@test
def made_after(node):
    """files that the job makes after the checkpoint are moved aside, and it makes them again"""
    d = scratch()
    job = begin(node, d, 'echo one >>log; mkdir step; echo x >step/tmp; mv step/tmp step/out; '
                         'ln log also; rm also')
    let_go(node, d, job)
    crash(node, job)
    done = node.json('restart', str(job))
    check('that the job made after the checkpoint' in ' '.join(done['notes']), done)
    node.lines(job, 2)
    equal(get(f'{d}/log'), 'one\n', 'a log that began after the checkpoint')
    equal(names(f'{d}/step'), ['out'], 'a directory')
    equal([n for n in names(d) if n.startswith('.')],
          ['.log.stillpoint-newer-1', '.step.stillpoint-newer-1'], 'kept')
    crash(node, job)


@test
def links_known(node):
    """symbolic links that the job changes before and after the checkpoint: as they were"""
    d = scratch()
    job = node.run('/bin/sh', '-c', f'ln -s step.1 latest; ln -s x gone; rm gone; ln -s y stays; '
                   f'{WAIT}ln -sfn step.2 latest; ln -s z gone; ln -s made new; rm stays; '
                   'echo done; sleep 1000', user=USER, opts=('--chdir', d))
    node.lines(job, 1)
    check(node.json('checkpoint', str(job))['files_closed']['complete'], 'all is known')
    let_go(node, d, job)
    crash(node, job)
    os.unlink(f'{d}/go')
    node.ctl('restart', '--dry-run', str(job))
    equal(os.readlink(f'{d}/latest'), 'step.2', 'a dry run changes nothing')
    node.ctl('restart', str(job))
    equal([os.readlink(f'{d}/{n}') for n in ('latest', 'stays')], ['step.1', 'y'], 'targets')
    equal([n for n in names(d) if n[0] != '.'], ['in', 'latest', 'stays'], 'names')
    equal(os.readlink(f'{d}/.latest.stillpoint-newer-1'), 'step.2', 'the newer link')
    # the next checkpoint and restart know them, too
    node.ctl('checkpoint', str(job))
    let_go(node, d, job)
    crash(node, job)
    os.unlink(f'{d}/go')
    node.ctl('restart', str(job))
    equal(os.readlink(f'{d}/latest'), 'step.1', 'once more')
    let_go(node, d, job)
    crash(node, job)


@test
def links_first_changed(node):
    """a link that the job first changes after the checkpoint: refused, until it is put back"""
    for action in ('ln -sfn new cur', 'rm cur'):
        d = scratch()

        def put_link():
            if os.path.lexists(f'{d}/cur'):
                os.unlink(f'{d}/cur')
            os.symlink('old', f'{d}/cur')
            os.chown(f'{d}/cur', USER, USER, follow_symlinks=False)
            os.utime(f'{d}/cur', (1000, 1000), follow_symlinks=False)
        put_link()
        job = begin(node, d, action)
        let_go(node, d, job)
        crash(node, job)
        for opts in (('--dry-run',), ()):
            message = node.fails(3, f'{d}/cur', 'restart', *opts, str(job))
            check('--accept-changed' in message, message)
        put_link()
        os.unlink(f'{d}/go')
        node.ctl('restart', str(job))
        crash(node, job)
        shutil.rmtree(d)


# the shell has the file open at its end; dd writes the file's first bytes
LONG = 'exec 9>long; dd if=/dev/zero bs=1M count=65 status=none >&9; '
REWRITE = 'printf new | dd of=long conv=notrunc bs=3 status=none; '


def first_bytes(d):
    with open(f'{d}/long', 'rb') as f:
        return f.read(3)


@test
def long_written_in_place(node):
    """a long file that had only grown: refused if the job writes it in place later, else cut"""
    for action, reason in ((REWRITE, 'FILE_CHANGED'), ('echo more >&9; ', None)):
        d = scratch()
        job = node.run('/bin/sh', '-c', f'{LONG}{WAIT}{action}echo done; sleep 1000', user=USER,
                       opts=('--chdir', d))
        node.lines(job, 1)
        node.ctl('checkpoint', str(job))
        let_go(node, d, job)
        crash(node, job)
        os.unlink(f'{d}/go')
        if reason:
            for opts in (('--dry-run',), ()):
                message = node.fails(3, f'{d}/long', 'restart', *opts, str(job))
                check(reason in message and '--accept-changed' in message, message)
            node.ctl('restart', '--accept-changed', str(job))
        else:
            node.ctl('restart', str(job))
        equal(os.stat(f'{d}/long').st_size, 65 << 20, 'its length')
        crash(node, job)
        shutil.rmtree(d)


@test
def long_known_in_place(node):
    """a long file that the job had written in place by the checkpoint is kept, and put back"""
    d = scratch()
    job = node.run('/bin/sh', '-c', f'{LONG}{REWRITE}{WAIT}{REWRITE.replace("new", "NEW")}'
                   'echo done; sleep 1000', user=USER, opts=('--chdir', d))
    node.lines(job, 1)
    node.ctl('checkpoint', str(job))
    let_go(node, d, job)
    crash(node, job)
    equal(first_bytes(d), b'NEW', 'newer content')
    os.unlink(f'{d}/go')
    node.ctl('restart', str(job))
    equal(first_bytes(d), b'new', 'content')
    crash(node, job)


@test
def directory_removed(node):
    """an empty directory that the job removes is made anew; one that it renames is refused"""
    for action, path in (('rmdir old/deep old', None), ('rm -r full', 'full/file'),
                         ('mv old new; mkdir old', 'old')):
        d = scratch()
        for name in ('old', 'old/deep', 'full'):
            os.mkdir(f'{d}/{name}')
            os.chown(f'{d}/{name}', USER, USER)
        put(f'{d}/full/file', 'old')
        os.chown(f'{d}/full/file', USER, USER)
        job = begin(node, d, action)
        let_go(node, d, job)
        crash(node, job)
        if path:
            node.fails(3, f'{d}/{path}', 'restart', '--dry-run', str(job))
            node.fails(3, f'{d}/{path}', 'restart', str(job))
        else:
            os.unlink(f'{d}/go')
            node.ctl('restart', '--dry-run', str(job))
            check('old' not in names(d), 'a dry run makes nothing')
            done = node.json('restart', str(job))
            check(f'removed the directory {d}/old/deep' in ' '.join(done['notes']), done)
            equal((names(f'{d}/old'), os.stat(f'{d}/old').st_uid), (['deep'], USER), 'directories')
            crash(node, job)
        node.ctl('rm', str(job))
        shutil.rmtree(d)


@test
def older_generation(node):
    """changes in later runs count for an earlier generation, and not for a later one"""
    d = scratch()
    job = begin(node, d, 'while [ ! -e go2 ]; do sleep 0.1; done; echo new >>in', 1)
    put(f'{d}/go', '')
    time.sleep(1)
    node.ctl('checkpoint', str(job))
    crash(node, job)
    node.ctl('restart', str(job))
    put(f'{d}/go2', '')
    node.lines(job, 2)
    # this one has the changed file
    node.ctl('checkpoint', str(job))
    crash(node, job)
    node.ctl('restart', f'{job}:3')
    equal(get(f'{d}/in'), 'old\nnew\n', 'the changed file')
    crash(node, job)
    for generation in (1, 2):
        node.fails(3, f'{d}/in', 'restart', f'{job}:{generation}')
    put_back(d)
    os.unlink(f'{d}/go2')
    node.ctl('restart', f'{job}:1')
    crash(node, job)


@test
def nobody_is_left(node):
    """the job's shim and ckptd die with the job: the module still knows what the job changed"""
    d = scratch()
    job = begin(node, d, CHANGES['renamed'])
    shim = daemon.json.loads(get(f'{node.base}/jobs/{job}/shim.json'))
    let_go(node, d, job)
    node.kill()
    for name in ('shim', 'init'):
        os.kill(shim[name], signal.SIGKILL)
    node.start()
    wait_for('the end of the job', 20, lambda: node.job(job)['state'] != 'running')
    refused(node, job, d)


@test
def node_is_gone(node):
    """the journal has the change within seconds; without the log's end the restart says so"""
    d = scratch()
    job = begin(node, d, CHANGES['in place'])
    journal = f'{node.images}/{job}/writes'
    let_go(node, d, job)
    wait_for('the journal', 20, lambda: os.path.exists(journal) and f'{d}/in' in get(journal))
    equal(os.stat(journal).st_mode & 0o777, 0o600, 'mode of the journal')
    as_of_cut = get(journal)
    crash(node, job)
    refused(node, job, d)
    # as after a power cut: what came later is not in the journal
    lines = as_of_cut.splitlines(keepends=True)
    check(lines[-1].startswith('T '), lines[-1])
    put(journal, as_of_cut)
    os.unlink(f'{d}/go')
    refused(node, job, d)
    put_back(d)
    done = node.json('restart', str(job))
    check('ended with its node' in ' '.join(done['notes']), done['notes'])
    crash(node, job)
    os.unlink(journal)
    done = node.json('restart', str(job))
    check('not known here which files' in ' '.join(done['notes']), done['notes'])
    crash(node, job)


@test
def our_own_files(node):
    """what the job's init writes for Stillpoint is none of the job's changes"""
    for _ in range(3):
        d = scratch()
        job = begin(node, d, 'true')
        with open(f'{node.base}/jobs/{job}/shim.json') as f:
            os.kill(daemon.json.load(f)['shim'], signal.SIGKILL)
        put(f'{d}/go', '')
        # nobody reads its pipes any more: it ends by itself, and its init notes how
        node.wait(job)
        node.ctl('restart', str(job))
        journal = get(f'{node.images}/{job}/writes')
        check(node.base not in journal, journal)
        crash(node, job)


@test
def mounted_later(node):
    """a file system that was mounted after the job began: closed files are not called complete"""
    d = scratch()
    os.mkdir(f'{d}/late')
    subprocess.run(['mount', '--bind', d, d], check=True)
    subprocess.run(['mount', '--make-shared', d], check=True)
    try:
        job = begin(node, d, 'echo x >late/file')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=1777', 'none', f'{d}/late'],
                       check=True)
        let_go(node, d, job)
        for _ in range(2):
            equal(node.json('checkpoint', str(job))['files_closed'],
                  {'known': True, 'complete': False, 'since': 0}, 'files_closed')
        crash(node, job)
        done = node.json('restart', str(job))
        check('did not know all files' in ' '.join(done['notes']), done['notes'])
        crash(node, job)
    finally:
        subprocess.run(['umount', '-l', f'{d}/late'], check=False)
        subprocess.run(['umount', '-l', d], check=True)


@test
def without_journal(node):
    """a job without a PID namespace has no journal: its restart says that files may be newer"""
    job = node.run('/bin/sh', '-c', 'echo ready; sleep 1000', opts=('--host-ns',))
    node.lines(job, 1)
    node.ctl('checkpoint', str(job))
    crash(node, job)
    done = node.json('restart', str(job))
    check('did not know all files' in ' '.join(done.get('notes', [])), done)
    crash(node, job)


@test
def unknown_stays_unknown(node):
    """a generation that did not know all files: later checkpoints and restarts say so again"""
    d = scratch()
    job = begin(node, d, 'true', 0)
    node.ctl('checkpoint', '--files', 'ignore', '--kill', str(job))
    done = node.json('restart', '--files', 'ignore', str(job))
    done = node.json('checkpoint', str(job))
    equal((done['files_closed']['known'], done['files_closed']['complete']), (True, False),
          'the next checkpoint')
    crash(node, job)
    done = node.json('restart', str(job))
    check('did not know all files' in ' '.join(done['notes']), done['notes'])
    equal(node.json('checkpoint', str(job))['files_closed']['complete'], False, 'and the next')
    crash(node, job)


if __name__ == '__main__':
    began = time.monotonic()
    status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
