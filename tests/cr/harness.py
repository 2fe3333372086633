# SPDX-License-Identifier: GPL-2.0-only
"""Processes and the kernel, as the runners of tests/cr see them.

A runner is a subreaper: whatever a test leaves behind becomes its child and is
found. Nothing here waits for ever.
"""
import contextlib
import ctypes
import errno
import os
import re
import select
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
ADDR_NO_RANDOMIZE = 0x0040000
SPLAT = re.compile(r'BUG:|\bWARNING:|Oops|panic|KASAN:|UBSAN:|general protection|Call Trace:'
                   r'|cut here|possible .*(deadlock|locking)|INFO: task|stall|lockup'
                   r'|refcount_t:|corruption|use-after-free|suspicious RCU|kmemleak:')
HARMLESS = re.compile(r'hrtimer: interrupt took|perf: interrupt took')


LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def randomized_addresses():
    """What is started meanwhile has them, also where we run without (tests/vm/agent.c)."""
    before = LIBC.personality(0xffffffff)
    LIBC.personality(before & ~ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        LIBC.personality(before)


def become_subreaper():
    if LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'cannot become a subreaper')


# ------------------------------------------------------------------ processes

def pidfd_of(pid):
    """None: it is gone; EINVAL says that it is being reaped by somebody right now."""
    try:
        return os.pidfd_open(pid)
    except OSError as e:
        if e.errno not in (errno.ESRCH, errno.EINVAL):
            raise
        return None


class Proc:
    """A process of ours: its status is asked for by pid, never guessed."""

    def __init__(self, argv, cwd=None, stdin=None, stdout=None, stderr=None,
                 new_session=True, env=None):
        null = os.open('/dev/null', os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, null if f is None else f, i)
                   for i, f in enumerate((stdin, stdout, stderr))]
        here = os.getcwd()
        try:
            if cwd:
                os.chdir(cwd)
            self.pid = os.posix_spawn(argv[0], argv, env or dict(os.environ),
                                      file_actions=actions, setsid=new_session,
                                      setsigmask=[], setsigdef=range(1, 32))
        finally:
            os.chdir(here)
            os.close(null)
        self.status = None

    def poll(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status

    def wait(self, seconds):
        pidfd = pidfd_of(self.pid)
        if pidfd is not None:
            try:
                select.select([pidfd], [], [], seconds)
            finally:
                os.close(pidfd)
        return self.poll()


class Restored:
    """The root of a restored tree. Not our child: the restorer's reaper collects it,
    so all that can be seen is whether it is gone."""

    def __init__(self, pid):
        self.pid, self.status = pid, None

    def poll(self):
        if self.status is None and is_gone(self.pid):
            self.status = 0
        return self.status

    wait = Proc.wait


def state_of(pid):
    """The letter in /proc/pid/stat; None when there is no such process."""
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rpartition(')')[2].split()[0]
    except OSError:
        return None


def is_gone(pid):
    """No thread lives any more; a leader may be a zombie while others run."""
    if state_of(pid) not in (None, 'Z', 'X'):
        return False
    try:
        return len(os.listdir(f'/proc/{pid}/task')) < 2
    except OSError:
        return True


def children():
    """Our children, zombies too; as subreaper we inherit every orphan below us."""
    with open(f'/proc/self/task/{os.getpid()}/children') as f:
        return [int(p) for p in f.read().split()]


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        p = todo.pop()
        found.append(p)
        try:
            for task in os.listdir(f'/proc/{p}/task'):
                with open(f'/proc/{p}/task/{task}/children') as f:
                    todo += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return found


def reap_orphans(keep=()):
    """Collect dead orphans, and those that their death makes. Returns the live ones."""
    live, reaped = [], True
    while reaped:
        live, reaped = [], False
        for pid in children():
            if pid in keep:
                continue
            try:
                got, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if got:
                reaped = True
            else:
                live.append(pid)
    return live


def kill_tree(pid):
    """SIGKILL pid and everything below it; stop first, so that nothing escapes."""
    stopped = set()
    while True:
        found = set(descendants(pid)) - stopped
        if not found:
            break
        for p in found:
            with contextlib.suppress(OSError):
                os.kill(p, signal.SIGSTOP)
        stopped |= found
    # those that were found: one whose parent has ended meanwhile is below pid no more
    for p in stopped:
        with contextlib.suppress(OSError):
            os.kill(p, signal.SIGKILL)


def name_of(pid):
    try:
        with open(f'/proc/{pid}/stat') as f:
            text = f.read()
        return f'{pid} {text[text.index("("):text.rindex(")") + 3]}'
    except OSError:
        return str(pid)


# ----------------------------------------------------------------- the kernel

class Kernel:
    """What the kernel says, and what the module still holds."""

    def __init__(self):
        self.lines = []
        try:
            self.fd = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.fd = -1

    def news(self):
        fresh = []
        while self.fd >= 0:
            try:
                text = os.read(self.fd, 8192).decode(errors='replace')
            except OSError as e:
                if e.errno == errno.EPIPE:
                    continue
                break
            fresh.append(text.split('\n')[0].partition(';')[2])
        self.lines = fresh
        return [s for s in fresh if SPLAT.search(s) and not HARMLESS.search(s)]

    @staticmethod
    def module_users():
        try:
            with open('/sys/module/ckpt/refcnt') as f:
                return int(f.read())
        except OSError:
            return 0
