#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A job is confined by what confines its caller: control groups, namespaces, rights; in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets.
"""
import contextlib
import ctypes
import functools
import json
import os
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../vm'))

import daemon                                                               # noqa: E402
from daemon import USER, check, equal, killing_for_memory, test, wait_for   # noqa: E402

daemon.TESTS.clear()

ROOT = '/sys/fs/cgroup'
# hierarchies of v1 may be left of earlier tests in the same machine
SHOW = ('grep ^0:: /proc/self/cgroup; cat /proc/self/loginuid; echo; '
        'grep NoNewPrivs /proc/self/status')
COUNT = 'i=0; while :; do echo n$i; i=$((i+1)); sleep 0.1; done'
LIBC = ctypes.CDLL(None, use_errno=True)


class Group:
    """A control group (v2) with limits; removed at the end."""

    def __init__(self, name, **limits):
        self.name = f'/t{os.getpid()}-{name}'
        self.dir = ROOT + self.name
        with open(f'{ROOT}/cgroup.subtree_control', 'w') as f:
            f.write('+memory +pids')
        os.mkdir(self.dir)
        self.set(**limits)

    def set(self, **limits):
        for name, value in limits.items():
            with open(f'{self.dir}/{name.replace("_", ".")}', 'w') as f:
                f.write(str(value))

    def pids(self):
        with open(f'{self.dir}/cgroup.procs') as f:
            return [int(n) for n in f.read().split()]

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.set(cgroup_kill=1)
        wait_for('the group is empty', 10, lambda: not self.pids())
        os.rmdir(self.dir)


def confined(node, group, *args, user=USER, nnp=True, loginuid=None):
    """ckptctl ARGS, from the group, by a user with no_new_privs."""
    def enter():
        if group:
            with open(f'{group.dir}/cgroup.procs', 'w') as f:
                f.write('0')
        if loginuid is not None:
            with open('/proc/self/loginuid', 'w') as f:
                f.write(str(loginuid))
        os.chdir('/')
        if nnp:
            check(LIBC.prctl(38, 1, 0, 0, 0) == 0, 'no_new_privs')

    return subprocess.run(node.argv(*args, user=user), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, preexec_fn=enter,
                          timeout=60 * daemon.ARGS.slow)


def refused(done, *words):
    equal(done.returncode, 1, f'status ({done.stderr})')
    for word in words:
        check(word in done.stderr, f'{word!r} is not in {done.stderr!r}')


def status_of(pid, name):
    with open(f'/proc/{pid}/status') as f:
        return next(line.split()[1] for line in f if line.startswith(name + ':'))


def names_of(pids):
    """{pid: name} of those that are there."""
    names = {}
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names[pid] = status_of(pid, 'Name')
    return names


def group_of(pid):
    with open(f'/proc/{pid}/cgroup') as f:
        return f.read().strip().split('::')[1]


# ------------------------------------------------------------ control groups

@test
def run_stands_beside_caller(node):
    """run: the job has the caller's control group, audit id and no_new_privs"""
    with Group('a') as a:
        done = confined(node, a, 'run', '--', 'sh', '-c', SHOW, loginuid=1234)
        equal(done.stdout, f'0::{a.name}\n1234\nNoNewPrivs:\t1\n', done.stderr)
        done = confined(node, a, 'run', '--', 'sh', '-c', SHOW, nnp=False)
        check('NoNewPrivs:\t0' in done.stdout, done.stdout + done.stderr)
        job = int(confined(node, a, 'run', '-d', '--', 'sleep', '1000').stdout)
        # sleep, init and the shim
        equal(len(a.pids()), 3, 'processes in the group')
        equal({group_of(p) for p in a.pids()}, {a.name}, 'groups')
        node.ctl('kill', str(job), 'KILL')


@test
def memory_limit_holds(node):
    """run: the limit on the memory of the caller's control group kills the job"""
    hog = 'b = bytearray(160 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\nprint("all of it")'
    with Group('m', memory_max=80 << 20) as m:
        with killing_for_memory(m.name):
            done = confined(node, m, 'run', '--', 'python3', '-c', hog)
        equal((done.returncode, done.stdout), (137, ''), done.stderr)
    equal(confined(node, None, 'run', '--', 'python3', '-c', hog).stdout, 'all of it\n', 'free')


@test
def pids_limit_holds(node):
    """run: the limit on processes holds for the job, and refuses one that it has no room for"""
    forks = ('import os, time\nn = 0\ntry:\n for i in range(40):\n  if not os.fork():\n'
             '   time.sleep(3); os._exit(0)\n  n += 1\nexcept OSError: pass\nprint(n)')
    with Group('p', pids_max=12) as p:
        done = confined(node, p, 'run', '--', 'python3', '-c', forks)
        check(0 < int(done.stdout) < 12, done.stdout + done.stderr)
        wait_for('the job has ended', 10, lambda: not p.pids())
        # ckptctl alone fills it
        p.set(pids_max=1)
        refused(confined(node, p, 'run', '--', 'true'), p.name, 'pids.max')
    equal(len(node.jobs('--all')), 1, 'jobs: what does not start leaves none')


@test
def restart_stands_beside_caller(node):
    """restart: the job goes into the group of who restarts, with his no_new_privs and audit id"""
    with Group('a') as a, Group('b') as b:
        job = int(confined(node, a, 'run', '-d', '--', 'sh', '-c', COUNT, nnp=False).stdout)
        node.lines(job, 3)
        node.ctl('checkpoint', '--kill', str(job), user=USER)
        wait_for('nothing is left in the first group', 10, lambda: not a.pids())
        done = confined(node, b, 'restart', str(job), loginuid=77)
        equal(done.returncode, 0, done.stderr)
        n = node.output(job).count('\n')
        node.lines(job, n + 3)
        equal(a.pids(), [], 'the first group')
        names = names_of(b.pids())
        check({'sh', 'ckpt-init', 'ckpt-shim'} <= set(names.values()), names)
        for pid in (p for p in names if names[p] != 'sleep'):
            equal(status_of(pid, 'NoNewPrivs'), '1', f'no_new_privs of {names[pid]}')
            with open(f'/proc/{pid}/loginuid') as f:
                equal(f.read(), '77', f'audit id of {names[pid]}')
        # a job in a group of the user's can be checkpointed
        node.ctl('checkpoint', str(job), user=USER)
        node.ctl('kill', str(job), 'KILL')
        node.wait(job)
        equal(node.output(job).split('\n')[:3], ['n0', 'n1', 'n2'], 'output')


@test
def restart_refused_without_room(node):
    """restart: no room in the caller's group refuses it; it can be asked again from elsewhere"""
    with Group('p', pids_max=1) as p:
        job = int(confined(node, None, 'run', '-d', '--', 'sh', '-c', COUNT).stdout)
        node.lines(job, 1)
        node.ctl('checkpoint', '--kill', str(job), user=USER)
        refused(confined(node, p, 'restart', str(job)), p.name, 'pids.max')
        equal(node.job(job)['state'], 'saved', 'state')
        equal(confined(node, None, 'restart', str(job)).returncode, 0, 'from elsewhere')
        node.ctl('kill', str(job), 'KILL')


@test
def frozen_group(node):
    """run: a frozen group of the caller does not hold up ckptd; the job starts when it thaws"""
    with Group('f') as f, socket.socket(socket.AF_UNIX) as sock:
        ready, go = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            with open(f'{f.dir}/cgroup.procs', 'w') as procs:
                procs.write('0')
            sock.connect(node.socket)
            os.write(ready[1], b'.')
            os.read(go[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        # the socket is the child's by SO_PEERCRED: get it here by its number
        fd = LIBC.syscall(438, LIBC.syscall(434, pid, 0), sock.fileno(), 0)
        f.set(cgroup_freeze=1)
        says(fd, 'run', argv=['true'], env=[], cwd='/')
        wait_for('the shim', 10, lambda: len(f.pids()) == 2)
        for _ in range(3):
            node.ctl('ps', timeout=5)
        f.set(cgroup_freeze=0)
        answer = json.loads(socket.socket(fileno=os.dup(fd)).recv(1 << 16)[12:])
        check(answer['ok'], answer)
        os.close(fd)
        os.write(go[1], b'.')
        os.waitpid(pid, 0)


@test
def groups_of_v1(node):
    """run, restart: the job is in the caller's group of a v1 hierarchy; one not seen is refused"""
    top = f'{node.base}/v1'
    os.mkdir(top)
    subprocess.run(['mount', '-t', 'cgroup', '-o', 'none,name=stillpoint-t', 'none', top],
                   check=True)
    os.mkdir(f'{top}/a b')

    def enter():
        with open(f'{top}/a b/cgroup.procs', 'w') as f:
            f.write('0')

    def asks(*args):
        return subprocess.run(node.argv(*args), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, preexec_fn=enter)
    show = ['run', '--', 'grep', 'stillpoint-t', '/proc/self/cgroup']
    line = 'name=stillpoint-t:/a b\n'
    check(asks(*show).stdout.endswith(line), 'run')
    job = node.shell('while :; do grep stillpoint-t /proc/self/cgroup; sleep 0.1; done')
    node.ctl('checkpoint', '--kill', str(job))
    n = node.output(job).count('\n')
    equal(asks('restart', str(job)).returncode, 0, 'restart')
    node.lines(job, n + 3)
    check(node.output(job).endswith(line), 'group after the restart')
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)
    # a hierarchy that has groups lives on without a mount
    procs = os.open(f'{top}/a b/cgroup.procs', os.O_WRONLY)
    subprocess.run(['umount', '-l', top], check=True)
    done = subprocess.run(node.argv(*show), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, preexec_fn=lambda: os.write(procs, b'0'))
    refused(done, 'name=stillpoint-t:/a b', 'ckptd does not see it')
    os.close(procs)
    subprocess.run(['mount', '-t', 'cgroup', '-o', 'none,name=stillpoint-t', 'none', top],
                   check=True)
    wait_for('the group is empty', 10, lambda: not open(f'{top}/a b/cgroup.procs').read())
    os.rmdir(f'{top}/a b')
    subprocess.run(['umount', top], check=True)


def says(fd, verb, **args):
    """Send a request on a connection."""
    body = json.dumps({'verb': verb, 'args': args}).encode()
    os.write(fd, struct.pack('<IHHI', 0x54504b43, 1, 0, len(body)) + body)


@test
def caller_that_ended(node):
    """run: a caller that has ended is refused, also as a zombie, which has no control group"""
    for reaped in (False, True):
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(node.socket)
            socket.send_fds(theirs, [b'.'], [sock.fileno()])
            os._exit(0)
        fd = socket.recv_fds(ours, 1, 1)[1][0]
        os.waitid(os.P_PID, pid, os.WEXITED | (0 if reaped else os.WNOWAIT))
        says(fd, 'run', argv=['true'], env=[], cwd='/')
        answer = json.loads(os.read(fd, 1 << 16)[12:])
        check(not answer['ok'] and 'has ended' in answer['error']['text'], answer)
        os.close(fd)
        if not reaped:
            os.waitpid(pid, 0)
    equal(node.jobs('--all'), {}, 'jobs')


# --------------------------------------------------- namespaces and sandboxes

@test
def namespaces_entered(node):
    """run: the job is in the caller's network, UTS and cgroup namespace"""
    names = ('net', 'uts', 'cgroup')
    script = '; '.join(f'readlink /proc/self/ns/{n}' for n in names)
    own = [os.readlink(f'/proc/self/ns/{n}') for n in names]
    with Group('n') as g:
        run = ' '.join(node.argv('run', '--', 'sh', '-c', f"'{script}'"))
        done = subprocess.run(['sh', '-c', f'echo 0 >{g.dir}/cgroup.procs; '
                               f'exec unshare -n -u -C sh -c "{script}; {run}"'],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        lines = done.stdout.split()
        equal(lines[3:], lines[:3], f'namespaces ({done.stderr})')
        for mine, theirs in zip(own, lines):
            check(mine != theirs, f'{mine} is not another namespace')


@test
def namespaces_checkpointed(node):
    """a job in its caller's namespaces is checkpointed, and restarted in those of who restarts"""
    names = 'echo $(readlink /proc/self/ns/net /proc/self/ns/uts /proc/self/ns/cgroup)'
    script = f'while :; do {names}; sleep 0.1; done'

    def asks(*args):
        done = subprocess.run(['unshare', '-n', '-u', '-C', 'sh', '-c', f'{names}; exec "$@"', 'sh',
                               *node.argv(*args)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        equal(done.returncode, 0, done.stderr)
        return done.stdout.split('\n')

    theirs, job = asks('run', '-d', '--', 'sh', '-c', script)[:2]
    node.lines(int(job), 3)
    equal(set(node.output(job).split('\n')[:3]), {theirs}, 'namespaces')
    check(b'NAMESPACE' not in node.ctl('doctor', job, check=False).stdout, 'doctor')
    node.ctl('checkpoint', '--dry-run', job)
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        shim = json.load(f)['shim']
    # as long as they are held, no others get their numbers
    held = [os.open(f'/proc/{shim}/ns/{n}', os.O_RDONLY) for n in ('net', 'uts', 'cgroup')]
    node.ctl('checkpoint', '--kill', job)
    n = node.output(job).count('\n')
    others = asks('restart', job)[0]
    check(not set(others.split()) & set(theirs.split()), f'{others} are others than {theirs}')
    node.lines(int(job), n + 4)
    equal(set(node.output(job).split('\n')[n + 2:n + 4]), {others}, 'after the restart')
    node.ctl('kill', job, 'KILL')
    for fd in held:
        os.close(fd)


@test
def callers_refused(node):
    """run, restart: callers that cannot be followed are refused, root too, and told why"""
    def asks(*before):
        return subprocess.run([*before, *node.argv('run', '--', 'true')], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)

    refused(asks('unshare', '-U', '-r'), 'user namespace')
    refused(asks('unshare', '-p'), 'PID namespace')
    refused(asks('unshare', '-p', '-f'), 'PID namespace')
    refused(asks('unshare', '-T'), 'time namespace')
    refused(asks('unshare', '-m'), 'mount namespace')
    top = f'{node.base}/top'
    os.mkdir(top)
    subprocess.run(['mount', '--rbind', '/', top], check=True)
    # where mounts are shared, as below systemd, the copies' end would be that of /dev and /proc
    subprocess.run(['mount', '--make-rprivate', top], check=True)
    refused(asks('chroot', top), 'chroot')
    subprocess.run(['umount', '-R', '-l', top], check=True)
    equal(node.jobs('--all'), {}, 'jobs')


def keyring_of_ckptd():
    """In ckptd: a session keyring with a key of root's, as a daemon that got one at its start."""
    LIBC.syscall(250, 1, None)
    check(LIBC.syscall(248, b'user', b'secret-of-root', b'x' * 32, 32, -3) > 0, 'add_key')


FIND_KEY = ('import ctypes; l = ctypes.CDLL(None); '
            'print("found" if l.syscall(249, b"user", b"secret-of-root", None, 0) > 0 else "none", '
            'flush=True)')


@test
def keyring_and_capabilities(node):
    """run, restart: no key of ckptd's session keyring, and the caller's capability bounding set"""
    node.leave()
    preset, subprocess.Popen = subprocess.Popen, functools.partial(
        subprocess.Popen, preexec_fn=keyring_of_ckptd)
    try:
        node.start()
    finally:
        subprocess.Popen = preset
    with open(f'/proc/{node.daemon.pid}/status') as f:
        check('CapBnd' in f.read(), 'status')
    equal(node.ctl('run', '--', 'python3', '-c', FIND_KEY).stdout, b'none\n', 'key of root')
    script = f'i=0; while :; do python3 -c \'{FIND_KEY}\'; grep CapBnd /proc/self/status; done'
    limited = ['setpriv', '--bounding-set', '-sys_admin,-net_raw', *node.argv()]
    full = int(status_of('self', 'CapBnd'), 16)
    less = f'CapBnd:\t{full & ~(1 << 21) & ~(1 << 13):016x}'
    done = subprocess.run([*limited, 'run', '-d', '--', 'sh', '-c', script],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    job = int(done.stdout)
    node.lines(job, 4)
    equal(set(node.output(job).split('\n')[:4]), {'none', less}, 'run')
    node.ctl('kill', str(job), 'KILL')
    # a job of all capabilities is restarted with less
    job = node.shell(script)
    node.lines(job, 4)
    check(less not in node.output(job), 'the caller here has all')
    node.ctl('checkpoint', '--kill', str(job))
    n = node.output(job).count('\n')
    done = subprocess.run([*limited, 'restart', str(job)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr)
    node.lines(job, n + 6)
    lines = node.output(job).split('\n')
    equal(set(lines[n + 2:n + 6]), {'none', less}, f'restart ({lines[n:]})')
    node.ctl('kill', str(job), 'KILL')


PROFILE = """profile stillpoint_t flags=(attach_disconnected) {
  file, signal, network, unix, ptrace, capability,
  deny /etc/hostname r,
}
"""


@test
def apparmor_profile(node):
    """run: the job is under the caller's AppArmor profile; restart: such a caller is refused"""
    where = '/proc/self/attr/apparmor/current'
    if not os.path.exists('/sbin/apparmor_parser') or not os.path.exists(where):
        print('# no AppArmor here: nothing is tested')
        return
    if not os.path.isdir('/sys/kernel/security/apparmor'):
        subprocess.run(['mount', '-t', 'securityfs', 'none', '/sys/kernel/security'], check=True)
    subprocess.run(['apparmor_parser', '-r', '-K'], input=PROFILE.encode(), check=True)
    script = f'cat {where}; cat /etc/hostname || echo denied'

    def profile():
        with open('/proc/self/attr/apparmor/exec', 'w') as f:
            f.write('exec stillpoint_t')

    def asks(*args):
        return subprocess.run(node.argv(*args), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, preexec_fn=profile)
    done = asks('run', '--', 'sh', '-c', script)
    equal(done.stdout, 'stillpoint_t (enforce)\ndenied\n', done.stderr)
    equal(node.ctl('run', '--', 'cat', where).stdout, b'unconfined\n', 'without a profile')
    job = node.shell(COUNT)
    node.ctl('checkpoint', '--kill', str(job))
    refused(asks('restart', str(job)), 'stillpoint_t')
    node.ctl('restart', str(job))
    node.ctl('kill', str(job), 'KILL')


@test
def seccomp_refused(node):
    """run, restart: a caller under a seccomp filter is refused"""
    class Filter(ctypes.Structure):
        _fields_ = [('code', ctypes.c_ushort), ('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte),
                    ('k', ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.POINTER(Filter))]

    allow = Filter(0x06, 0, 0, 0x7fff0000)
    program = Program(1, ctypes.pointer(allow))

    def filtered():
        check(LIBC.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, 'seccomp')

    job = node.shell(COUNT)
    node.ctl('checkpoint', '--kill', str(job))
    for args in (('run', '--', 'true'), ('restart', str(job))):
        done = subprocess.run(node.argv(*args), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, preexec_fn=filtered)
        refused(done, 'seccomp')
    # all else can be asked from a sandbox
    equal(subprocess.run(node.argv('ps'), stdin=subprocess.DEVNULL, capture_output=True,
                         preexec_fn=filtered).returncode, 0, 'ps')


# ------------------------------------------------------------- who may connect

def has_settings(node, **settings):
    node.leave()
    node.settings = settings
    node.start()


@test
def allowed_users(node):
    """ckptd: allow_users and allow_groups let in whom they name, and root; others hear why"""
    done = confined(node, None, 'ps')
    equal(done.returncode, 0, f'by default everybody may ({done.stderr})')
    has_settings(node, allow_users='1,daemon')
    refused(confined(node, None, 'run', '--', 'true'), 'allow_users', 'allow_groups', str(USER))
    refused(confined(node, None, 'ps'), 'allow_users')
    node.ctl('ps')
    equal(node.ctl('ps', user=1).returncode, 0, 'a user of the list')
    has_settings(node, allow_users='1', allow_groups=f'daemon,{USER}')
    equal(confined(node, None, 'ps').returncode, 0, 'by the group')
    has_settings(node, allow_groups='daemon')
    refused(confined(node, None, 'ps'), 'allow_groups')
    done = subprocess.run(['setpriv', '--reuid', '5000', '--regid', '5000', '--groups', '7,1',
                           *node.argv('ps')], stdin=subprocess.DEVNULL, capture_output=True)
    equal(done.returncode, 0, f'by a supplementary group ({done.stderr})')
    has_settings(node, allow_users='*')
    equal(confined(node, None, 'ps').returncode, 0, 'everybody')


@test
def socket_of_group(node):
    """ckptd: the socket has socket_group and socket_mode"""
    has_settings(node, socket_group='daemon', socket_mode='0660')
    st = os.stat(node.socket)
    equal((st.st_gid, st.st_mode & 0o777), (1, 0o660), 'group and mode')
    refused(confined(node, None, 'ps'), 'Permission denied')
    node.ctl('ps')


if __name__ == '__main__':
    sys.exit(daemon.main())
