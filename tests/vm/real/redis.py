# SPDX-License-Identifier: GPL-2.0-only
"""Redis with an append-only file, a client by TCP and one by a unix socket: redis.py GO ROUNDS."""
import shutil
import signal
import socket

from rounds import HOME, begin, expect, rounds, say

SOCKET = f'{HOME}/redis.sock'


class Client:
    def __init__(self, family, address):
        self.socket = socket.socket(family)
        self.socket.connect(address)
        self.file = self.socket.makefile('rb')

    def ask(self, *words):
        self.socket.sendall(' '.join(map(str, words)).encode() + b'\r\n')
        line = self.file.readline()[:-2]
        if line[:1] == b'$':
            return self.file.read(int(line[1:]) + 2)[:-2].decode()
        return int(line[1:]) if line[:1] == b':' else line.decode()


def ready():
    try:
        return Client(socket.AF_UNIX, SOCKET).ask('PING') == '+PONG'
    except OSError:
        return False


with socket.create_server(('127.0.0.1', 0)) as free:
    port = free.getsockname()[1]
server = begin('Redis', 60, [
    # of redis-tools, which starts no service: one program, by its name
    shutil.which('redis-server') or shutil.which('redis-check-rdb'), '--port', str(port),
    '--bind', '127.0.0.1', '--unixsocket', SOCKET, '--dir', HOME, '--appendonly', 'yes',
    '--save', ''], ready)
tcp = Client(socket.AF_INET, ('127.0.0.1', port))
unix = Client(socket.AF_UNIX, SOCKET)
for n in rounds():
    expect(tcp.ask('INCR', 'count'), 2 * n - 1, 'count by TCP')
    expect(unix.ask('INCR', 'count'), 2 * n, 'count by a unix socket')
    tcp.ask('SET', f'key:{n % 20}', 'x' * (n * 37 % 3000))
    say(n, unix.ask('STRLEN', f'key:{n % 20}'), unix.ask('RPUSH', 'list', n),
        tcp.ask('GET', 'count'))
server.send_signal(signal.SIGTERM)
expect(server.wait(60), 0, 'status of Redis')
