#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Redis with its append-only file, clients over TCP and a unix socket, and a subscriber."""
import os
import shutil
import socket
import subprocess
import time

import phase

LEAST = 120
SOCKET = phase.path('redis.sock')
PROGRAM = 'redis-check-rdb'     # of redis-tools, which starts no service: one program, by its name


class Client:
    """The protocol of Redis over one connection."""

    def __init__(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.connect(address)
        self.file = self.socket.makefile('rb')

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b'*%d\r\n' % len(words) +
                            b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words))

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b'$':
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if kind == b'*':
            return [self.reply() for _ in range(int(rest))]
        if kind not in (b'+', b':'):
            raise OSError(f'Redis answered {line!r}')
        return int(rest) if kind == b':' else rest

    def ask(self, *words):
        self.send(*words)
        return self.reply()


def value(name, i):
    return f'{name}-{i}-'.encode() + bytes([i % 251]) * (i * 53 % 3000)


def client(name, address):
    c = Client(address)
    i = 0
    while i < LEAST or not phase.go():
        i += 1
        phase.check(c.ask('INCR', f'count:{name}') == i, f'{name}: another count than {i}')
        phase.check(c.ask('SET', f'{name}:{i % 50}', value(name, i)) == b'OK', 'SET')
        phase.check(c.ask('GET', f'{name}:{i % 50}') == value(name, i), f'{name}: value {i}')
        c.ask('RPUSH', 'list', f'{name} {i}')
        c.ask('PUBLISH', 'news', f'{name} {i}')
        if i == LEAST // 3:
            phase.check(c.ask('INCR', 'busy') > 0, 'INCR')
        time.sleep(0.001)


def subscriber(address):
    """Every message of each client, in order."""
    c = Client(address)
    c.ask('SUBSCRIBE', 'news')
    open(phase.path('subscribed'), 'w').close()
    last = {}
    while True:
        _, _, text = c.reply()
        if text == b'end':
            break
        name, i = text.decode().split()
        phase.check(last.get(name, 0) + 1 == int(i), f'{name}: message {i} after {last}')
        last[name] = int(i)


def start(port):
    server = subprocess.Popen(
        executable=shutil.which(PROGRAM), args=[
         'redis-server', '--port', str(port), '--bind', '127.0.0.1', '--unixsocket', SOCKET,
         '--dir', phase.DIR, '--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '',
         '--logfile', phase.path('redis.log')])
    for _ in range(2000):
        try:
            c = Client(SOCKET)
            if c.ask('PING') == b'PONG':
                return server, c
        except OSError:
            time.sleep(0.02)
    phase.check(False, 'redis-server does not answer')


def spawn(fn, *args):
    pid = os.fork()
    if pid == 0:
        fn(*args)
        os._exit(0)
    return pid


def join(pid, what):
    status = os.waitpid(pid, 0)[1]
    phase.check(status == 0, f'{what} ended with {status:#x}')


def main():
    if not shutil.which(PROGRAM):
        phase.skip('no Redis (redis-tools)')
    with socket.create_server(('127.0.0.1', 0)) as s:
        port = s.getsockname()[1]
    server, c = start(port)
    news = spawn(subscriber, ('127.0.0.1', port))
    while not os.path.exists(phase.path('subscribed')):
        time.sleep(0.01)
    names = {'tcp': ('127.0.0.1', port), 'unix': SOCKET}
    pids = [spawn(client, name, address) for name, address in names.items()]
    while int(c.ask('GET', 'busy') or 0) < len(pids):
        time.sleep(0.01)
    phase.ready()
    for pid in pids:
        join(pid, 'a client')
    c.ask('PUBLISH', 'news', 'end')
    join(news, 'the subscriber')
    before = {name: int(c.ask('GET', f'count:{name}')) for name in names}
    phase.check(c.ask('LLEN', 'list') == sum(before.values()), 'length of the list')
    phase.check(min(before.values()) >= LEAST, f'{before}')
    server.terminate()
    phase.check(server.wait(60) == 0, 'redis-server ended badly')
    # what the append-only file has
    server, c = start(port)
    after = {name: int(c.ask('GET', f'count:{name}')) for name in names}
    phase.check(after == before, f'{after} in the append-only file, not {before}')
    entries = c.ask('LRANGE', 'list', 0, -1)
    for name in names:
        mine = [e for e in entries if e.startswith(name.encode() + b' ')]
        phase.check(mine == [f'{name} {i}'.encode() for i in range(1, before[name] + 1)],
                    f'the list has lost entries of {name}')
    server.terminate()
    server.wait(60)


phase.run(main)
