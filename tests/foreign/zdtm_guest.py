#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs ZDTM programs in a virtual machine, for tests/foreign/zdtm.

  zdtm_guest.py --get DIR --work DIR --ckptctl PROGRAM --cases FILE [--workers N] [--seconds S]

A case is a line "PROGRAM TOOLS": each tool (alone, criu, stillpoint) in turn. Alone says
whether the program can run here; if it cannot, the tools are not tried. On stdout is a line of JSON
when a case begins and for each verdict. Programs run as CRIU's zdtm.py has them run: as its user
unless the description says otherwise, in namespaces of their own where they ask for these, with
the options of the description. A worker has a network, an IPC and a mount namespace.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../cr'))
from harness import LIBC, Kernel, become_subreaper, is_gone, kill_tree, reap_orphans

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x20000, 0x08000000, 0x40000000
MODULES = '''veth tun macvlan bridge unix_diag tcp_diag udp_diag raw_diag netlink_diag
    af_packet_diag nf_tables nft_compat nft_ct nft_chain_nat nf_conntrack nf_conntrack_netlink
    ip_tables ip6_tables iptable_filter ip6table_filter xt_mark xt_tcpudp xt_conntrack
    nfnetlink binfmt_misc autofs4 loop sit'''.split()
DIRS = 'bin sbin etc lib lib64 tmp usr proc run dev'.split()
LIBS = 'libc.so.6 libm.so.6 libpthread.so.0 librt.so.1 libdl.so.2'.split()
SECONDS = 60


class Verdict(Exception):
    """How a case ended, and why."""

    def __init__(self, result, stage, why=''):
        super().__init__(result)
        self.result, self.stage, self.why = result, stage, why


def description(path):
    """What zdtm.py knows of the program."""
    try:
        with open(path + '.desc') as f:
            found = eval(f.read(), {'os': os})      # as zdtm.py does
    except FileNotFoundError:
        found = {}
    return found if isinstance(found, dict) else {'flags': 'noauto'}


def tail(path, nr=3):
    try:
        with open(path, errors='replace') as f:
            return ' | '.join(line.strip() for line in f.read().splitlines()[-nr:])
    except OSError:
        return ''


def tool_environment(args):
    """With iptables and nft, which programs and CRIU call."""
    host = args.work + '/host'
    lib = 'lib/x86_64-linux-gnu'
    return {'PATH': f'{host}/usr/sbin:' + os.environ['PATH'],
            'LD_LIBRARY_PATH': f'{host}/usr/{lib}:{host}/{lib}',
            'XTABLES_LIBDIR': f'{host}/usr/{lib}/xtables'}


def call(argv, log, seconds=SECONDS, env=None, cwd=None):
    """Exit status, None if it hangs; what it says is in the file log."""
    with open(log, 'w') as out:
        proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                env=env, cwd=cwd)
        try:
            return proc.wait(seconds)
        except subprocess.TimeoutExpired:
            kill_tree(proc.pid)
            proc.wait(20)
            return None


class Case:
    def __init__(self, args, program, tool, command):
        self.args, self.program, self.tool = args, program, tool
        self.family, self.name = program.split('/')
        self.top = os.path.join(args.work, 'root')
        self.cwd = os.path.join(self.top, 'zdtm', self.family)
        self.command = command.split()
        self.desc = description(os.path.join(self.cwd, self.name))
        self.flags = self.desc.get('flags', '').split()
        flavours = self.desc.get('flavor', 'h ns uns').split()
        self.flavour = next(f for f in ('h', 'ns', 'uns') if f in flavours)
        self.scratch = os.path.join(args.work, 'scratch', f'{self.name}.{tool}')
        self.images = os.path.join(self.scratch, 'images')
        self.mounted = os.path.join(args.work, 'mounted')

    def file(self, suffix):
        return os.path.join(self.cwd, self.name + suffix)

    def clean(self):
        for pattern in ('.pid*', '.out*', '*.test*', '.*.test', '.*.state', '.state'):
            for path in glob.glob(glob.escape(self.file('')) + pattern):
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)

    def environment(self):
        env = dict(tool_environment(self.args), TMPDIR='/tmp', ZDTM_THREAD_BOMB='5')
        if 'suid' not in self.flags:
            env.update(ZDTM_UID='18943', ZDTM_GID='58467', ZDTM_GROUPS='27495 48244')
        if self.flavour != 'h':
            env.update(ZDTM_NEWNS='1', ZDTM_ROOT=self.mounted,
                       ZDTM_DEV=os.path.join(self.args.work, 'dev'))
        if self.flavour == 'uns':
            env['ZDTM_USERNS'] = '1'
        return env

    def hook(self, what):
        path = self.file('.hook')
        if os.access(path, os.X_OK):
            with open(path) as f:
                if 'pycriu' in f.read():
                    return                          # it prints only
            call([path, what], self.scratch + '/hook.log', cwd=self.top)

    def pid(self):
        try:
            with open(self.file('.pid')) as f:
                return int(f.read())
        except (OSError, ValueError):
            return None

    # -- the program

    def start(self):
        os.makedirs(self.scratch, exist_ok=True)
        self.clean()
        check = self.file('.checkskip')
        log = self.scratch + '/start.log'
        if os.access(check, os.X_OK) and call([check], log, cwd=self.top):
            raise Verdict('cannot', 'start', 'checkskip')
        cwd = self.cwd if self.flavour == 'h' else os.path.join(self.mounted, 'zdtm', self.family)
        status = call(self.command, log, env=self.environment(), cwd=cwd)
        if status != 0 or not self.pid():
            raise Verdict('cannot', 'start', f'status {status}: {tail(log)} '
                          + tail(self.file('.out.inprogress')))
        self.hook('--post-start')
        time.sleep(0.1 if self.family == 'static' else 0.5)

    def gone(self, pid, seconds=SECONDS):
        end = time.monotonic() + seconds
        while not is_gone(pid):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        reap_orphans()
        return True

    def judge(self):
        pid = self.pid()
        if not pid or is_gone(pid):
            raise Verdict('fail', 'verdict', 'it is gone: ' + tail(self.file('.out')) +
                          tail(self.file('.out.inprogress')))
        os.kill(pid, signal.SIGTERM)
        if not self.gone(pid):
            raise Verdict('fail', 'verdict', 'it does not end: ' +
                          tail(self.file('.out.inprogress')))
        text = tail(self.file('.out'), 1)
        if 'PASS' not in text.split():
            raise Verdict('fail', 'verdict', tail(self.file('.out')) +
                          tail(self.file('.out.inprogress')))

    # -- the tools

    def alone(self):
        if 'reqrst' in self.flags:
            raise Verdict('pass', 'start', 'it is right after a restore only')
        try:
            self.judge()
        except Verdict as v:
            raise Verdict('cannot', v.stage, v.why) from None
        if 'SKIP' in tail(self.file('.out'), 9):
            raise Verdict('cannot', 'verdict', tail(self.file('.out')))

    def criu(self):
        opts = self.desc.get('opts', '').split()
        dump, restore = (self.desc.get(k, '').split() for k in ('dopts', 'ropts'))
        if 'crlib' in self.flags:
            opts += ['--libdir', self.cwd + '/lib']
        if self.flavour != 'h':
            opts += ['--root', self.mounted]
            dump += ['--external', 'mnt[/dev]:ZDTM_DEV']
            restore += ['--external', f'mnt[ZDTM_DEV]:{self.args.work}/dev']
        pid = self.pid()
        os.makedirs(self.images)
        self.hook('--pre-dump')
        status = self.criu_call('dump', ['-t', str(pid)] + opts + dump)
        if status:
            raise Verdict('refused', 'dump', self.criu_errors('dump', status))
        if not self.gone(pid):
            raise Verdict('fail', 'dump', 'it was not killed')
        os.unlink(self.file('.pid'))
        self.hook('--pre-restore')
        status = self.criu_call('restore', ['-d', '--pidfile', self.file('.pid')] + opts + restore)
        if status:
            raise Verdict('fail', 'restore', self.criu_errors('restore', status))
        self.hook('--post-restore')

    def criu_call(self, what, options):
        env = dict(os.environ, **tool_environment(self.args))
        c = os.path.join(self.args.work, 'criu')
        program = [f'{c}/usr/lib64/ld-linux-x86-64.so.2', '--argv0', 'criu', '--library-path',
                   f'{c}/usr/lib/x86_64-linux-gnu:{c}/lib/x86_64-linux-gnu', f'{c}/usr/sbin/criu']
        return call(program + [what, '-D', self.images, '-o', f'{what}.log', '-v2'] + options,
                    f'{self.scratch}/criu.{what}.log', env=env, cwd=self.cwd)

    def criu_errors(self, what, status):
        try:
            with open(f'{self.images}/{what}.log', errors='replace') as f:
                found = [line.strip() for line in f if 'Error' in line]
        except OSError:
            found = []
        return f'status {status}: ' + ' | '.join(found[:3]) + (
            '' if found else tail(f'{self.scratch}/criu.{what}.log'))

    def stillpoint(self):
        pid = self.pid()
        options = []
        if '--tcp-close' in ' '.join(self.desc.get(k, '') for k in ('opts', 'ropts')):
            options = ['--sockets=reset']
        self.hook('--pre-dump')
        log = self.scratch + '/dump.log'
        status = self.ckptctl(log, 'dump', '--pid', str(pid), '--dir', self.images, '--kill',
                              '--freeze-timeout', str(SECONDS * 500), *options)
        if status:
            raise Verdict('refused' if status == 3 else 'fail', 'dump',
                          f'status {status}: ' + tail(log, 8))
        if not self.gone(pid):
            raise Verdict('fail', 'dump', 'it was not killed')
        self.hook('--pre-restore')
        log = self.scratch + '/restore.log'
        status = self.ckptctl(log, 'restore', '--dir', self.images, '--detach')
        if status:
            raise Verdict('fail', 'restore', f'status {status}: ' + tail(log, 8))
        found = re.search(r'; pid (\d+)', tail(log, 99))
        with open(self.file('.pid'), 'w') as f:
            f.write(found.group(1))
        self.hook('--post-restore')

    def ckptctl(self, log, what, *args):
        return call([self.args.ckptctl, what, '--standalone', *args], log)

    def execute(self):
        reap_orphans()
        stage = Verdict('pass', '')
        try:
            self.start()
            getattr(self, self.tool)()
            if self.tool != 'alone':
                if self.family == 'transition':
                    time.sleep(0.5)
                self.judge()
        except Verdict as v:
            stage = v
        if stage.result == 'refused':
            try:
                self.judge()            # it must have run on
            except Verdict as v:
                stage = Verdict('harmed', v.stage, f'{stage.why}; then {v.why}')
        self.end()
        return stage

    def end(self):
        if os.path.isdir(self.scratch):
            self.hook('--clean')
        end = time.monotonic() + 10
        while (left := reap_orphans()) and time.monotonic() < end:
            for pid in left:
                kill_tree(pid)
            time.sleep(0.02)
        self.clean()
        shutil.rmtree(self.scratch, ignore_errors=True)


def say(**what):
    os.write(1, (json.dumps(what)[:3900] + '\n').encode())


def prepare(args):
    """The directory of the programs is a root too, for those with a mount namespace."""
    subprocess.run(['modprobe', '-qa', *MODULES], check=False)
    with open('/proc/sys/vm/nr_hugepages', 'w') as f:
        f.write("16")
    root = os.path.join(args.work, 'root')
    if os.path.exists(args.work + '/ready'):
        return
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(root + '/zdtm')
    subprocess.run(['tar', 'xf', args.get + '/programs.tar', '-C', root + '/zdtm'], check=True)
    for d in ('criu', 'host'):
        shutil.copytree(f'{args.get}/{d}', f'{args.work}/{d}', symlinks=True)
    for d in DIRS + ['lib/x86_64-linux-gnu']:
        os.makedirs(f'{root}/{d}', exist_ok=True)
    for lib in LIBS:
        shutil.copy(f'/lib/x86_64-linux-gnu/{lib}', f'{root}/lib/x86_64-linux-gnu/')
    wanted = r'/lib(cap|bsd|md|selinux|tinfo|bpf|mnl|elf|z|zstd|pcre2-8|acl|attr|nl-.*)\.so'
    for lib in glob.glob('/lib/x86_64-linux-gnu/lib*.so.*'):
        if re.search(wanted, lib):
            shutil.copy(lib, f'{root}/lib/x86_64-linux-gnu/')
    shutil.copy('/lib64/ld-linux-x86-64.so.2', f'{root}/lib64/')
    for d in 'bin', 'sbin', 'lib', 'lib64':
        os.symlink('../' + d, f'{root}/usr/{d}')
    for program in 'sh', 'ip', 'diff', 'grep', 'sed', 'sort', 'true', 'cat':
        found = shutil.which(program)
        if found:
            shutil.copy(found, f'{root}/{"sbin" if program == "ip" else "bin"}/{program}')
    subprocess.run(['chmod', '-R', 'a+rwX', root], check=True)
    with open(args.work + '/ready', 'w'):
        pass


def become_worker(args):
    become_subreaper()
    if LIBC.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'no namespaces')
    dev, mounted = args.work + '/dev', args.work + '/mounted'
    os.makedirs(dev, exist_ok=True)
    os.makedirs(mounted, exist_ok=True)
    for command in ('mount --make-rprivate /', f'mount -t tmpfs -o mode=777 dev {dev}',
                    f'mount --bind {args.work}/root {mounted}', 'ip link set lo up'):
        subprocess.run(command.split(), check=True)
    for d in 'pts', 'net':
        os.mkdir(f'{dev}/{d}')
    for name, numbers in (('tty', (5, 0)), ('null', (1, 3)), ('net/tun', (10, 200)),
                          ('rtc', (252, 0)), ('autofs', (10, 235))):
        os.mknod(f'{dev}/{name}', 0o20666, os.makedev(*numbers))
        os.chmod(f'{dev}/{name}', 0o666)
    subprocess.run(['mount', '-t', 'mqueue', 'mqueue', '/dev/mqueue'], check=False,
                   stderr=subprocess.DEVNULL)


def work(args, plan, cases, claims):
    kernel = Kernel()
    for program, tools in cases:
        try:
            os.mkdir(os.path.join(claims, program.replace('/', '+')))
        except FileExistsError:
            continue
        for tool in tools.split(','):
            if time.monotonic() > args.end:
                return
            case = Case(args, program, tool, plan[program])
            start = time.monotonic()
            say(begin=program, tool=tool)
            verdict = case.execute()
            said = kernel.news()
            took = round(time.monotonic() - start, 1)
            say(program=program, tool=tool, flavour=case.flavour,
                flags=' '.join(case.flags), result=verdict.result, stage=verdict.stage,
                why=verdict.why[-1500:], kernel=said[:9], seconds=took)
            if verdict.result == 'cannot':
                break


def is_exclusive(args, program):
    desc = description(os.path.join(args.work, 'root/zdtm', program))
    options = ' '.join(desc.get(k, '') for k in ('opts', 'dopts', 'ropts'))
    return 'excl' in desc.get('flags', '').split() or '--link-remap' in options


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--get', required=True)
    p.add_argument('--work', required=True)
    p.add_argument('--ckptctl', required=True)
    p.add_argument('--cases', required=True)
    p.add_argument('--workers', type=int, default=3)
    p.add_argument('--seconds', type=int, default=600)
    args = p.parse_args()
    args.end = time.monotonic() + args.seconds
    os.umask(0)
    prepare(args)
    with open(args.get + '/plan') as f:
        plan = dict(line.rstrip('\n').split('\t') for line in f)
    with open(args.cases) as f:
        cases = [line.split() for line in f]
    claims = f'{args.work}/claims.{time.time_ns()}'
    os.makedirs(claims)
    rounds = [[c for c in cases if not is_exclusive(args, c[0])],
              [c for c in cases if is_exclusive(args, c[0])]]
    for some, workers in zip(rounds, (args.workers, 1)):
        pids = []
        for _ in range(workers):
            pid = os.fork()
            if not pid:
                become_worker(args)
                work(args, plan, some, claims)
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)


if __name__ == '__main__':
    main()
