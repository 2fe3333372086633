#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An asyncio server over TCP with four clients, a timer, signals and a thread for what blocks."""
import asyncio
import hashlib
import os
import signal
import socket

import phase

CLIENTS = 4
LEAST = 60


def message(client, i):
    return f'{client} {i} '.encode() + bytes([i % 256]) * (i * 37 % 5000)


async def read(reader):
    size = int.from_bytes(await reader.readexactly(4), 'big')
    return await reader.readexactly(size)


def write(writer, data):
    writer.write(len(data).to_bytes(4, 'big') + data)


async def client(number, port):
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    i = 0
    while i < LEAST or not phase.go():
        data = message(number, i)
        write(writer, data)
        await writer.drain()
        digest = await read(reader)
        phase.check(digest == hashlib.sha256(data).digest(), f'answer {i} of client {number}')
        i += 1
        if i == LEAST // 4:
            os.kill(os.getppid(), signal.SIGUSR1)
        await asyncio.sleep(0.001)
    writer.close()
    await writer.wait_closed()


class Server:
    def __init__(self):
        self.seen, self.busy, self.ticks, self.over = {}, 0, 0, asyncio.Event()

    def on_signal(self):
        self.busy += 1

    def tick(self):
        """Signals may come together: look at what was served, too."""
        self.ticks += 1
        if self.busy and len(self.seen) == CLIENTS and \
           min(self.seen.values()) > LEAST // 4 and not os.path.exists(phase.path('ready')):
            phase.ready()
        if not self.over.is_set():
            asyncio.get_running_loop().call_later(0.01, self.tick)

    async def serve(self, reader, writer):
        loop = asyncio.get_running_loop()
        number, i = None, 0
        try:
            while True:
                data = await read(reader)
                number = int(data.split(b' ', 1)[0])
                phase.check(data == message(number, i), f'message {i} of client {number}')
                i += 1
                self.seen[number] = i
                write(writer, (await loop.run_in_executor(None, hashlib.sha256, data)).digest())
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()
        if len(self.seen) == CLIENTS and phase.go():
            self.over.set()


async def main_server(listener, children):
    server = Server()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, server.on_signal)
    listening = await asyncio.start_server(server.serve, sock=listener)
    server.tick()
    for pid in children:
        _, status = await loop.run_in_executor(None, os.waitpid, pid, 0)
        phase.check(status == 0, f'a client ended with {status:#x}')
    await asyncio.wait_for(server.over.wait(), 30)
    listening.close()
    phase.check(min(server.seen.values()) >= LEAST, f'{server.seen}')


def main():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    children = []
    for number in range(CLIENTS):
        pid = os.fork()
        if pid == 0:
            listener.close()
            asyncio.run(client(number, port))
            os._exit(0)
        children.append(pid)
    asyncio.run(main_server(listener, children))


phase.run(main)
