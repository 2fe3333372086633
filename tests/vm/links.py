#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Jobs over two nodes that speak TCP among themselves, without MPI; runs as root in a test VM.

Options as of daemon.py.  Each node is a ckptd of this machine with a network namespace of its own,
so that it has an address and ports of its own; a bridge connects them.  The ranks are
links_peer.py's, and links_zmq.py's.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import daemon
from daemon import Failure, Node, check, equal, wait_for

HERE = os.path.dirname(os.path.realpath(__file__))
ALL = tuple(f'10.77.0.{i}' for i in range(1, 5))
ADDRESSES = ALL[:2]
WIDE = ('fd77::1', 'fd77::2')
CUT = ('10.78.0.1', '10.78.0.2')        # between which a test loses packets
SPACES = tuple(f'stillpoint{i}' for i in range(1, 5))
PORT = 7140
PEER_PORT = 5077
PIECE = 4096


def sh(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f'{" ".join(argv)}: {done.stderr}')
    return done.stdout


def make_network():
    for module in ('veth', 'bridge'):
        sh('modprobe', module)
    sh('ip', 'link', 'add', 'links', 'type', 'bridge')
    sh('ip', 'link', 'set', 'links', 'up')
    for i, space in enumerate(SPACES, 1):
        subprocess.run(['ip', 'netns', 'del', space], capture_output=True)
        sh('ip', 'netns', 'add', space)
        sh('ip', 'link', 'add', f'links{i}', 'type', 'veth', 'peer', 'name', 'cable',
           'netns', space)
        sh('ip', 'link', 'set', f'links{i}', 'master', 'links', 'up')
        sh('ip', '-n', space, 'addr', 'add', f'10.77.0.{i}/24', 'dev', 'cable')
        sh('ip', '-n', space, 'addr', 'add', f'10.78.0.{i}/24', 'dev', 'cable')
        sh('ip', '-n', space, 'addr', 'add', f'fd77::{i}/64', 'dev', 'cable', 'nodad')
        sh('ip', '-n', space, 'link', 'set', 'cable', 'up')
        sh('ip', '-n', space, 'link', 'set', 'lo', 'up')


class Pair:
    """Two nodes, n1 and n2, and a job of one rank on each; two more to take ranks."""

    def __init__(self, work):
        self.work = work
        self.nodes = []
        hosts = f'{work}/hosts'
        for i, space in enumerate(SPACES):
            os.makedirs(f'{work}/n{i + 1}', exist_ok=True)
            node = Node(work, f'n{i + 1}')
            node.prefix = ['nsenter', f'--net=/run/netns/{space}', '--']
            node.settings = {'hosts': hosts, 'listen': ALL[i], 'allow_users': '*',
                             'node_key': f'{work}/n{i + 1}/node.key'}
            self.nodes.append(node)
        with open(hosts, 'w') as f:
            for node, address in zip(self.nodes, ALL):
                f.write(sh(f'{daemon.ARGS.bin}/ckptctl', 'keygen', '--dir', node.base, '--node',
                           node.name, '--address', f'{address}:{PORT}').strip() + ' root=yes\n')
        for node in self.nodes:
            node.start()
        self.all, self.nodes = self.nodes, self.nodes[:2]
        wait_for('the nodes to find each other', 30, lambda:
                 self.nodes[0].ctl('nodes', check=False).returncode == 0)
        self.home = self.nodes[0]
        self.job = None

    def begin(self, mode, size, addresses=ADDRESSES, **env):
        self.begin_program('links_peer.py', [mode, str(size)], addresses, mode, size, **env)

    def begin_program(self, program, args, addresses=ADDRESSES, mode='', size=0, ranks=2, **env):
        self.mode, self.size, self.ranks = mode, size, ranks
        done = subprocess.run(
            [*self.home.prefix, f'{daemon.ARGS.bin}/ckptrun', '--socket', self.home.socket,
             '-n', str(ranks), '--mpi', 'none',
             '--detach', '--hosts', 'n1,n2,n3'[:3 * ranks - 1], '--', sys.executable,
             f'{self.work}/{program}', *args, *addresses],
            stdin=subprocess.DEVNULL, capture_output=True, cwd=self.work,
            env={**os.environ, 'SLOW': str(daemon.ARGS.slow), **env},
            timeout=120 * daemon.ARGS.slow)
        equal(done.returncode, 0, done.stderr.decode())
        self.job = int(done.stdout)

    def shim(self, node):
        """What the node knows of its shim of the job, if that lives."""
        try:
            with open(f'{node.base}/jobs/{self.job}/shim.json') as f:
                known = json.load(f)
        except (FileNotFoundError, ValueError):
            return None
        return known if daemon.alive(known['shim']) else None

    def output(self, rank, stream='stdout'):
        return self.home.output(self.job, f'{stream}.{rank}' if rank else stream)

    def at(self, rank):
        lines = [line for line in self.output(rank).splitlines() if line.startswith('at ')]
        return int(lines[-1].split()[1]) if lines else 0

    def gets_to(self, share):
        ranks = {'half': (1,), 'answer': (0,)}.get(self.mode, range(self.ranks))
        wait_for(f'{share:.0%} of the bytes', 120,
                 lambda: all(self.at(rank) >= share * self.size for rank in ranks))

    def results(self):
        return [self.output(rank) for rank in range(self.ranks)]

    def wait(self):
        equal(self.home.wait(self.job, timeout=300), 0,
              f'status; {self.output(0, "stderr")}{self.output(1, "stderr")}')
        return self.results()

    def undisturbed(self, mode, size, *args, **env):
        self.begin(mode, size, *args, **env)
        wanted = self.wait()
        for text in wanted:
            check('end ' in text, text)
        return wanted

    def saved_and_killed(self, mode, size, *args, share=0.3, **env):
        self.begin(mode, size, *args, **env)
        self.gets_to(share)
        done = self.home.json('checkpoint', str(self.job))
        self.gets_to(share + 0.2)
        self.home.ctl('kill', str(self.job), 'KILL')
        self.home.wait(self.job)
        return done


def goes_on(pair):
    """bytes are in flight both ways at two checkpoints, and when doctor looks: the job runs on to
    the right end"""
    wanted = pair.undisturbed('both', 6 << 20)
    pair.begin('both', 6 << 20)
    for share in (0.1, 0.35, 0.6):
        pair.gets_to(share)
        pair.home.ctl('doctor' if share > 0.5 else 'checkpoint', str(pair.job))
    equal(pair.wait(), wanted, 'result')


def restarts(pair):
    """the same, killed and restarted on the same nodes: no byte is lost or doubled"""
    wanted = pair.undisturbed('both', 6 << 20)
    pair.saved_and_killed('both', 6 << 20)
    pair.home.ctl('restart', '--dry-run', f'{pair.job}:1')
    pair.home.ctl('restart', f'{pair.job}:1')
    equal(pair.wait(), wanted, 'result')
    equal([pair.output(rank, 'stderr').split() for rank in (0, 1)],
          [['between', *ADDRESSES], ['between', *reversed(ADDRESSES)]], 'addresses')


def exchanged(pair):
    """restarted with the nodes exchanged: the ends have the addresses of the new nodes"""
    wanted = pair.undisturbed('both', 6 << 20)
    pair.saved_and_killed('both', 6 << 20)
    pair.nodes[1].ctl('restart', '--nodes', 'n2,n1', f'{pair.job}:1')
    pair.home = pair.nodes[1]
    try:
        equal(pair.wait(), wanted, 'result')
        equal([pair.output(rank, 'stderr').split() for rank in (0, 1)],
              [['between', *reversed(ADDRESSES)], ['between', *ADDRESSES]], 'addresses')
    finally:
        pair.home = pair.nodes[0]


def half_closed(pair):
    """one end has sent all and said so, and the other still reads: it finds the end where it was"""
    wanted = pair.undisturbed('half', 6 << 20)
    pair.saved_and_killed('half', 6 << 20)
    pair.home.ctl('restart', f'{pair.job}:1')
    equal(pair.wait(), wanted, 'result')


def answer(pair):
    """one end sends nothing, the other has read that and sends all: checkpointed twice"""
    wanted = pair.undisturbed('answer', 6 << 20)
    pair.saved_and_killed('answer', 6 << 20)
    pair.home.ctl('restart', f'{pair.job}:1')
    pair.gets_to(0.6)
    pair.home.ctl('checkpoint', str(pair.job))
    pair.home.ctl('kill', str(pair.job), 'KILL')
    pair.home.wait(pair.job)
    pair.home.ctl('restart', f'{pair.job}:2')
    equal(pair.wait(), wanted, 'result')


def orphan(pair):
    """one end is closed while its bytes are on their way: a rule does not cut the other end"""
    go = f'{pair.work}/read'
    pair.begin('orphan', go)
    pair.size = 1
    pair.gets_to(1)
    said = pair.home.fails(3, str(PEER_PORT), 'checkpoint', '--sockets=close', str(pair.job))
    check('no other end' in said, said)
    with open(go, 'w'):
        pass
    first, second = pair.wait()
    equal(first.splitlines()[-1], second.splitlines()[-1], 'bytes')


def many(pair):
    """eight connections, accepted by a socket of IPv6 from addresses of IPv4"""
    wanted = pair.undisturbed('many', 3 << 20)
    pair.saved_and_killed('many', 3 << 20)
    pair.nodes[1].ctl('restart', '--nodes', 'n2,n1', f'{pair.job}:1')
    pair.home = pair.nodes[1]
    try:
        equal(pair.wait(), wanted, 'result')
    finally:
        pair.home = pair.nodes[0]


def wide(pair):
    """the same over IPv6, where the second rank listens"""
    wanted = pair.undisturbed('both', 6 << 20, WIDE, LISTENER='1')
    pair.saved_and_killed('both', 6 << 20, WIDE, LISTENER='1')
    pair.nodes[1].ctl('restart', '--nodes', 'n2,n1', f'{pair.job}:1')
    pair.home = pair.nodes[1]
    try:
        equal(pair.wait(), wanted, 'result')
        equal(pair.output(0, 'stderr').split(), ['between', *reversed(WIDE)], 'addresses')
    finally:
        pair.home = pair.nodes[0]


LISTENS = '''
import socket, sys
server = socket.create_server(('', int(sys.argv[1])))
print('listens', flush=True)
kept = []
while True:
    kept.append(server.accept())
'''


class Stranger:
    """Somebody who is no part of the job, and listens on a node."""

    def __init__(self, node, port):
        self.process = subprocess.Popen([*node.prefix, sys.executable, '-c', LISTENS, str(port)],
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        equal(self.process.stdout.readline(), b'listens\n', 'the stranger')

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def stranger(pair):
    """a peer on the other node that is not the job's refuses the checkpoint; a rule that lets it go
    does not touch the job's own connections"""
    wanted = pair.undisturbed('turns', 1 << 20)
    with Stranger(pair.nodes[1], PORT + 9):
        pair.begin('turns', 1 << 20, STRANGER=f'{ADDRESSES[1]}:{PORT + 9}')
        pair.gets_to(0.1)
        said = pair.home.fails(3, f'{ADDRESSES[1]}:{PORT + 9}', 'checkpoint', str(pair.job))
        check('outside' in said and str(PEER_PORT) not in said, said)
        pair.home.fails(3, f'{ADDRESSES[1]}:{PORT + 9}', 'checkpoint', '--dry-run', str(pair.job))
        pair.home.ctl('checkpoint', '--dry-run', '--sockets=close', str(pair.job))
        generation = pair.home.json('checkpoint', '--sockets=close', str(pair.job))['generation']
        pair.home.ctl('kill', str(pair.job), 'KILL')
        pair.home.wait(pair.job)
    pair.home.ctl('restart', f'{pair.job}:{generation}')
    equal(pair.wait(), wanted, 'result')


def waiting(pair):
    """a connection that nobody has accepted refuses the checkpoint, and the job runs on"""
    go = f'{pair.work}/go'
    pair.begin('late', go)
    pair.size = 1
    pair.gets_to(1)
    said = pair.home.fails(3, str(PEER_PORT), 'checkpoint', str(pair.job))
    check('accepted' in said or 'no other end' in said, said)
    with open(go, 'w'):
        pass
    check(pair.wait()[0].endswith('end early\n'), pair.output(0))


def taken(pair):
    """the port of one end is taken, at the first node or at the second one: the restart says so
    soon, nothing of the job is left, and the next one comes to the right end"""
    for listener, node in enumerate(pair.nodes):
        wanted = pair.undisturbed('turns', 1 << 20, LISTENER=str(listener))
        pair.saved_and_killed('turns', 1 << 20, share=0.1, LISTENER=str(listener))
        began = time.monotonic()
        with Stranger(node, PEER_PORT):
            said = pair.home.fails(1, str(PEER_PORT), 'restart', f'{pair.job}:1')
        check('in use' in said, said)
        # the first node is not left waiting for the second one, nor the other way round
        # a port may get free in the first minute
        check(time.monotonic() - began < 100 * daemon.ARGS.slow, 'it took too long')
        wait_for('the end', 60, lambda: pair.home.job(pair.job)['state'] not in
                 ('running', 'starting'))
        pair.home.ctl('restart', f'{pair.job}:1')
        equal(pair.wait(), wanted, f'result with {node.name}')


def fewer_nodes(pair):
    """on one node the connections cannot be made, and the restart says so"""
    pair.saved_and_killed('turns', 1 << 20, share=0.1)
    pair.home.fails(1, 'on as many nodes', 'restart', '--dry-run', '--nodes', 'n1',
                    f'{pair.job}:1')
    pair.home.fails(1, 'on as many nodes', 'restart', '--nodes', 'n1', f'{pair.job}:1')


def begun(pair):
    """A restart whose parts are both there, and wait for each other."""
    process = subprocess.Popen(pair.home.argv('restart', f'{pair.job}:1'), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_for('both parts', 60, lambda: all(map(pair.shim, pair.nodes)))
    time.sleep(3 * daemon.ARGS.slow)
    check(process.poll() is None, 'the restart is over')
    return process


def ended_badly(pair, process):
    began = time.monotonic()
    said = process.communicate(timeout=60 * daemon.ARGS.slow)[0].decode()
    check(process.returncode not in (0, None), f'status {process.returncode}: {said}')
    check(time.monotonic() - began < 40 * daemon.ARGS.slow, 'it took too long')
    wait_for('the ends of all parts', 60, lambda: not any(map(pair.shim, pair.nodes)))
    wait_for('the end', 60, lambda: pair.home.job(pair.job)['state'] not in
             ('running', 'starting'))


def apart(pair):
    """packets between the nodes are lost while the parts connect: a part that dies then, or a kill,
    ends the restart; when they pass again, it goes on"""
    wanted = pair.undisturbed('turns', 1 << 20, CUT)
    pair.saved_and_killed('turns', 1 << 20, CUT, share=0.1)
    sh('ip', '-n', SPACES[1], 'neigh', 'replace', CUT[0], 'lladdr', '02:00:00:00:00:99', 'dev',
       'cable', 'nud', 'permanent')
    try:
        process = begun(pair)
        os.kill(pair.shim(pair.nodes[1])['shim'], signal.SIGKILL)
        ended_badly(pair, process)
        process = begun(pair)
        pair.home.ctl('kill', str(pair.job), 'KILL', check=False)
        ended_badly(pair, process)
        process = begun(pair)
    finally:
        sh('ip', '-n', SPACES[1], 'neigh', 'del', CUT[0], 'dev', 'cable')
    said = process.communicate(timeout=120 * daemon.ARGS.slow)[0].decode()
    equal(process.returncode, 0, said)
    equal(pair.wait(), wanted, 'result')


def ring(pair):
    """a ring of ZeroMQ, with threads, epoll and event descriptors of its own: no token is lost"""
    rounds = 60
    pair.begin_program('links_zmq.py', [str(rounds)], size=rounds)
    pair.gets_to(0.3)
    pair.home.ctl('checkpoint', str(pair.job))
    pair.gets_to(0.5)
    pair.home.ctl('kill', str(pair.job), 'KILL')
    pair.home.wait(pair.job)
    pair.home.ctl('restart', f'{pair.job}:1')
    for text in pair.wait():
        equal(text.splitlines()[-1], f'end {200 * rounds} {rounds} {rounds} 0', 'count')


def home_lost(pair):
    """the home of a ring of three is lost: another node restarts all, while a part still runs"""
    rounds = 80
    pair.begin_program('links_zmq.py', [str(rounds)], ALL, size=rounds, ranks=3)
    pair.gets_to(0.2)
    pair.home.ctl('checkpoint', str(pair.job))
    pair.gets_to(0.3)
    lost = pair.shim(pair.home)
    pair.home.kill()
    os.kill(lost['shim'], signal.SIGKILL)
    os.kill(lost['init'], signal.SIGKILL)
    check(pair.shim(pair.all[2]), 'the third part has ended')
    pair.home = pair.nodes[1]
    try:
        # the third rank's tree runs on in this machine, and no other node here would take it twice
        pair.home.ctl('restart', '--node-lost', '--nodes', 'n2,n4,n3', f'{pair.job}:1')
        for text in pair.wait():
            equal(text.splitlines()[-1], f'end {200 * rounds} {rounds} {rounds} 0', 'count')
    finally:
        pair.home = pair.nodes[0]
        pair.home.start()


def largest(directory):
    """Path of the largest file below."""
    return max((os.path.join(d, f) for d, _, names in os.walk(directory) for f in names),
               key=os.path.getsize)


def flip(path):
    with open(path, 'r+b') as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 1]))


def rolled_back(pair):
    """rollback while the job runs: refused if the other node's image is damaged, and it runs on;
    else the job is restarted"""
    wanted = pair.undisturbed('turns', 1 << 20)
    pair.begin('turns', 1 << 20)
    pair.gets_to(0.2)
    pair.home.ctl('checkpoint', str(pair.job))
    pair.gets_to(0.3)
    shims = [pair.shim(node) for node in pair.nodes]
    stored = largest(f'{pair.home.images}/{pair.job}/gen-1/node-1')
    flip(stored)
    pair.home.fails(1, 'node n2', 'rollback', f'{pair.job}:1')
    equal([pair.shim(node) for node in pair.nodes], shims, 'shims')
    flip(stored)
    pair.home.ctl('rollback', f'{pair.job}:1')
    check(not any(pair.shim(node) in (None, shim) for node, shim in zip(pair.nodes, shims)),
          'the parts are as they were')
    equal(pair.wait(), wanted, 'result')


TESTS = (goes_on, restarts, exchanged, half_closed, answer, orphan, many, wide, stranger, waiting,
         taken, fewer_nodes, apart, ring, home_lost, rolled_back)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', required=True)
    parser.add_argument('--work', required=True)
    parser.add_argument('--slow', type=int, default=1)
    parser.add_argument('--only')
    parser.add_argument('--slice', default='0/1')
    args = daemon.ARGS = parser.parse_args()
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(args.work)
    for program in ('links_peer.py', 'links_zmq.py'):
        shutil.copy2(f'{HERE}/{program}', args.work)
    chosen = [t for t in TESTS if not args.only or t.__name__ in args.only.split(',')]
    part, parts = map(int, args.slice.split('/'))
    chosen = chosen[part::parts]
    make_network()
    pair = Pair(args.work)
    failed = 0
    try:
        for number, test in enumerate(chosen, 1):
            try:
                test(pair)
                print(f'ok {number} - {" ".join(test.__doc__.split())}', flush=True)
            except (Failure, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f'not ok {number} - {" ".join(test.__doc__.split())}\n# {e}', flush=True)
                for node in pair.all:
                    with open(node.log.name, errors='replace') as f:
                        print('\n'.join('# ' + line for line in f.read().splitlines()[-25:]))
                pair.home.ctl('kill', str(pair.job), 'KILL', check=False)
    finally:
        for node in pair.all:
            if node.daemon.poll() is None:
                node.stop()
        subprocess.run(['ip', 'link', 'del', 'links'], capture_output=True)
        for space in SPACES:
            subprocess.run(['ip', 'netns', 'del', space], capture_output=True)
    print(f'1..{len(chosen)}')
    return failed


if __name__ == '__main__':
    sys.exit(main())
