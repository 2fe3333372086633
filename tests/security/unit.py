#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ckptd in the sandbox of its unit: a real systemd in the VM starts it, and jobs are free of it.

Options as of daemon.py.  The program boots systemd in PID, mount and cgroup namespaces, and calls
itself in these; there each test gets a ckptd (UnitNode) that systemd has started from the units as
they are installed.  A system call that the filter forbids kills, so that none is overlooked.
Tests of daemon.py and confine.py are run as well: what they show has to hold in the sandbox.
"""
import importlib
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../vm'))

import daemon                                                               # noqa: E402
from daemon import check, equal, test, wait_for                             # noqa: E402

# All that holds outside of a sandbox has to hold in it. Each import clears the list of tests.
WANTED = {
    'daemon': ('nice_values', 'checkpoint_and_restart', 'python_with_threads', 'closed_in_shm',
               'host_namespace_job', 'terminal_job', 'input_survives',
               'checkpoints_by_themselves', 'users_and_their_jobs', 'closed_files',
               'files_closed_before', 'dry_runs'),
    'levels': ('promoted_and_fetched',),
    'incremental': ('merged_by_hand',),
    'changed': ('changed_after', 'mounted_later', 'our_own_files'),
    'confine': ('run_stands_beside_caller', 'restart_stands_beside_caller', 'frozen_group',
                'namespaces_entered', 'namespaces_checkpointed',
                'callers_refused', 'seccomp_refused'),
}
OTHERS = []
for module, names in WANTED.items():
    importlib.import_module(module)
    chosen = [f for f in daemon.TESTS if f.__name__ in names]
    assert len(chosen) == len(names), module
    OTHERS += chosen
    daemon.TESTS.clear()
confine = sys.modules['confine']

TOP = os.path.realpath(f'{os.path.dirname(os.path.abspath(__file__))}/../..')
GROUP = f'/sys/fs/cgroup/systemd-test-{os.getpid()}'     # the root of systemd's control groups
UNITS = '/etc/systemd/system'
COUNT = confine.COUNT


def systemctl(*args, **how):
    return subprocess.run(['systemctl', '--no-pager', *args], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120 * daemon.ARGS.slow, **how)


def main_pid(unit):
    return int(systemctl('show', '-P', 'MainPID', unit).stdout)


class Service:
    """A unit, as the subprocess.Popen that daemon.py has."""

    def __init__(self, unit):
        self.unit = unit
        self.pid = main_pid(unit)
        self.returncode = None

    def poll(self):
        return None if daemon.alive(self.pid) else 0

    def send_signal(self, signo):
        os.kill(self.pid, signo)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout=60):
        wait_for('the end of ckptd', timeout, lambda: self.poll() is not None)
        wait_for('systemd', 20, lambda: systemctl('is-active', self.unit).stdout.strip() in
                 ('inactive', 'failed'))


def drop_in(unit, text):
    os.makedirs(f'{UNITS}/{unit}.d', exist_ok=True)
    with open(f'{UNITS}/{unit}.d/test.conf', 'w') as f:
        f.write(text)


class UnitNode(daemon.Node):
    def start(self):
        settings = {
            'socket': self.socket, 'state_dir': f'{self.base}/jobs', 'image_dir': self.images,
            'key': self.key, 'node': self.name, 'log_level': 'debug', **self.settings,
        }
        sets = ' '.join(f'--set {name}={value}' for name, value in settings.items())
        drop_in('ckptd.service', f"""[Unit]
DefaultDependencies=no
StartLimitIntervalSec=0
[Service]
Restart=no
SystemCallErrorNumber=kill
StandardOutput=append:{self.log.name}
StandardError=inherit
ExecStart=
ExecStart={daemon.ARGS.bin}/ckptd --launcher /run/stillpoint/launch.sock --config /dev/null {sets}
""")
        for unit in ('ckpt-launch.service', 'ckpt-launch.socket'):
            drop_in(unit, '[Unit]\nDefaultDependencies=no\nStartLimitIntervalSec=0\n' +
                    ('' if unit.endswith('socket') else f"""[Service]
StandardOutput=append:{self.log.name}
StandardError=inherit
ExecStart=
ExecStart={daemon.ARGS.bin}/ckpt-launch
"""))
        systemctl('daemon-reload', check=True)
        done = systemctl('start', 'ckptd.service')
        check(not done.returncode, f'systemctl start: {done.stderr}' +
              systemctl('status', 'ckptd.service', 'ckpt-launch.socket').stdout)
        self.daemon = Service('ckptd.service')
        wait_for('ckptd', 20, self.try_connect)
        return self

    def stop(self):
        if self.daemon:
            super().stop()
        systemctl('stop', 'ckpt-launch.socket', 'ckpt-launch.service')


def status_of(pid):
    with open(f'/proc/{pid}/status') as f:
        return dict(re.findall(r'^(\w+):\s*(.*)$', f.read(), re.M))


def writes(pid, path):
    """May a process in @pid's mount namespace write @path?"""
    return subprocess.run(['nsenter', '-t', str(pid), '-m', 'test', '-w', path]).returncode == 0


@test
def nvme_answers(node):
    """the sandbox lets ckptd ask an NVMe controller for its health"""
    def controllers():
        return node.json('dev', 'list', '--interval', '100ms')['nvme']['controllers']

    wait_for('what the controllers say', 60, controllers)
    check(all(c['answered'] for c in controllers()), controllers())


@test
def ckptd_is_confined(node):
    """ckptd has a filter, few capabilities, a read-only system; launcher and jobs have not"""
    pid, launcher = node.daemon.pid, main_pid('ckpt-launch.service')
    own, free = status_of(pid), status_of(launcher)
    equal((own['NoNewPrivs'], own['Seccomp']), ('1', '2'), 'ckptd')
    equal((free['NoNewPrivs'], free['Seccomp']), ('0', '0'), 'the launcher')
    check(int(own['CapBnd'], 16).bit_count() == 16, f'capabilities {own["CapBnd"]}')
    equal(free['CapBnd'], status_of(os.getpid())['CapBnd'], 'capabilities of the launcher')
    for path in ('/usr', '/etc', '/proc/sys/kernel'):
        check(not writes(pid, path), f'ckptd may write {path}')
    check(writes(launcher, '/usr') and writes(launcher, '/etc'), 'what the launcher may write')
    check(writes(pid, '/etc/stillpoint') and writes(pid, node.images), 'its own directories')
    show = 'grep -E "^(NoNewPrivs|Seccomp|CapBnd):" /proc/self/status; readlink /proc/self/ns/uts'
    job = node.ctl('run', '--', 'sh', '-c', show).stdout
    here = subprocess.run(['sh', '-c', show], capture_output=True).stdout
    equal(job, here, 'a job is as its caller')
    check(systemctl('show', '-P', 'ControlGroup', 'ckptd.service').stdout.strip() ==
          confine.group_of(pid), 'the control group of ckptd')


@test
def restored_job_is_free(node):
    """restart: a restored job has no filter and all of its caller's capabilities, as before"""
    job = node.shell(COUNT)
    node.lines(job, 2)
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    node.lines(job, node.output(job).count('\n') + 2)
    init = node.jobs()[job]['init_pid']
    with open(f'/proc/{init}/task/{init}/children') as f:
        pid = int(f.read().split()[0])
    got, want = status_of(pid), status_of(os.getpid())
    for name in ('NoNewPrivs', 'Seccomp', 'CapBnd', 'CapEff'):
        equal(got[name], want[name], name)
    equal(os.readlink(f'/proc/{init}/ns/net'), os.readlink('/proc/self/ns/net'), 'network')
    node.ctl('kill', str(job), 'KILL')


@test
def launcher_dies(node):
    """SIGKILL of the launcher: jobs run on, systemd starts another, and jobs start again"""
    job = node.shell(COUNT)
    node.lines(job, 2)
    old = main_pid('ckpt-launch.service')
    os.kill(old, signal.SIGKILL)
    daemon.running_on(node, job)

    def runs():
        done = node.ctl('run', '--', 'true', check=False)
        check(not done.returncode or b'launcher' in done.stderr, done.stderr)
        return not done.returncode
    wait_for('jobs start', 30, runs)
    check(main_pid('ckpt-launch.service') not in (0, old), 'another launcher')
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    daemon.running_on(node, job)
    systemctl('restart', 'ckpt-launch.service', check=True)
    daemon.running_on(node, job)
    wait_for('jobs start', 30, runs)
    node.ctl('kill', str(job), 'KILL')


@test
def no_launcher(node):
    """without a launcher: jobs run and are saved; run, restart and a dry run say what is missing"""
    job = node.shell(COUNT)
    saved = node.shell(COUNT)
    node.lines(job, 2)
    node.lines(saved, 2)
    node.ctl('checkpoint', '--kill', str(saved))
    systemctl('stop', 'ckpt-launch.socket', 'ckpt-launch.service', check=True)
    node.ctl('checkpoint', str(job))
    daemon.running_on(node, job)
    for words in (['run', '--', 'true'], ['restart', str(saved)],
                  ['restart', '--dry-run', str(saved)]):
        node.fails(1, 'the launcher of jobs (ckpt-launch) is not there', *words)
    systemctl('start', 'ckpt-launch.socket', check=True)
    wait_for('a restart', 30, lambda: not node.ctl('restart', str(saved), check=False).returncode)
    daemon.running_on(node, saved)
    daemon.running_on(node, job)
    for each in (job, saved):
        node.ctl('kill', str(each), 'KILL')


@test
def restarts_by_systemd(node):
    """systemctl restart ckptd: jobs run on, and the next ckptd finds them"""
    job = node.shell(COUNT)
    node.lines(job, 2)
    systemctl('restart', 'ckptd.service', check=True)
    node.daemon = daemon_now = Service('ckptd.service')
    wait_for('ckptd', 20, node.try_connect)
    daemon.running_on(node, job)
    node.ctl('checkpoint', str(job))
    equal(status_of(daemon_now.pid)['Seccomp'], '2', 'filter')
    node.ctl('kill', str(job), 'KILL')


@test
def tree_is_not_restored_in_the_sandbox(node):
    """restore by directory: refused, with what to do; --standalone does it"""
    p = subprocess.Popen(['setsid', 'sleep', '1000'], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    node.ctl('dump', '--kill', '--dir', f'{node.base}/image', '--pid', str(p.pid))
    p.wait()
    node.fails(1, '--standalone', 'restore', '--detach', '--dir', f'{node.base}/image')
    check(not daemon.alive(p.pid), 'nothing was restored')


# ------------------------------------------------------------------------ main

def into(group):
    """For subprocess: begin in the control group, which is made if it is not there."""
    def enter():
        with open(f'{group}/cgroup.procs', 'w') as f:
            f.write('0')
    os.makedirs(group, exist_ok=True)
    return enter


def boot(log):
    """Start systemd in namespaces of its own; the process that is 1 in there."""
    for name in ('ckptd.service', 'ckpt-launch.service'):
        subprocess.run(['cp', f'{TOP}/build/gen/{name}', UNITS], check=True)
    subprocess.run(['cp', f'{TOP}/packaging/ckpt-launch.socket', UNITS], check=True)
    with open(f'{UNITS}/test.target', 'w') as f:
        f.write('[Unit]\nDescription=Test\nDefaultDependencies=no\n')
    script = ('umount /sys/fs/cgroup && mount --make-rshared / && '
              'mount -t cgroup2 cgroup2 /sys/fs/cgroup && '
              'mount -t tmpfs -o mode=755 run /run && exec env -i container=test '
              'PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system '
              '--unit=test.target --log-target=console --show-status=no')
    top = subprocess.Popen(['unshare', '--fork', '--kill-child', '--pid', '--mount', '--cgroup',
                            '--mount-proc', 'sh', '-c', script], stdin=subprocess.DEVNULL,
                           stdout=log, stderr=log, preexec_fn=into(GROUP))

    def first():
        with open(f'/proc/{top.pid}/task/{top.pid}/children') as f:
            pids = f.read().split()
        if not pids:
            return None
        with open(f'/proc/{pids[0]}/comm') as f:
            return f.read() == 'systemd\n' and int(pids[0])
    pid = wait_for('systemd', 30, first)
    # a group that has processes of its own can pass no controllers on
    with open('/sys/fs/cgroup/cgroup.procs', 'w') as f:
        f.write(str(top.pid))
    return top, pid


def is_up(pid, enter):
    """systemd takes the processor to itself while it begins: it is asked when there is a socket."""
    time.sleep(0.5)
    return os.path.exists(f'/proc/{pid}/root/run/systemd/private') and subprocess.run(
        [*enter, 'systemctl', 'is-active', 'test.target'], capture_output=True,
        text=True).stdout == 'active\n'


def outer():
    work = sys.argv[sys.argv.index('--work') + 1]
    slow = int(sys.argv[sys.argv.index('--slow') + 1]) if '--slow' in sys.argv else 1
    os.makedirs(work, exist_ok=True)
    daemon.ARGS = type('Args', (), {'slow': slow})
    with open(f'{work}/systemd.log', 'w+') as log:
        top = None
        try:
            top, pid = boot(log)
            enter = ['nsenter', '-t', str(pid), '-m', '-p', '-C']
            wait_for('systemd answers', 120, lambda: is_up(pid, enter))
            status = subprocess.run([*enter, sys.executable, *sys.argv, '--inner'],
                                    preexec_fn=into(f'{GROUP}/callers')).returncode
        except daemon.Failure as e:
            print(f'not ok 1 - systemd starts\n# {e}')
            status = 1
        if status:
            log.seek(0)
            print('\n'.join('# ' + line for line in log.read().splitlines()[-40:]))
        if top:
            top.kill()
            top.wait()
    return status


def inner():
    sys.argv.remove('--inner')
    daemon.Node = UnitNode
    daemon.TESTS += OTHERS
    with daemon.khugepaged_rests():
        return daemon.main()


if __name__ == '__main__':
    sys.exit(inner() if '--inner' in sys.argv else outer())
