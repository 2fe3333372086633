#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A service of the node and its client, for sockets.t.

NAME of type tcp is ADDRESS:PORT.

    sockets.py serve NAME TYPE    answers "name N" to each "ask N" until NAME.end exists; "slow"
                                  is read and not answered, "later" is not read
    sockets.py client FILE NAME TYPE MODE
                                  connects, asks once, writes its pid to FILE.pid; when FILE.go
                                  exists it asks again, and writes what came of it to FILE.out

MODE: idle, or what keeps the client from being so: unread (an answer), poll and read (a thread
waits), unheard (the service has not read the question).
A client whose service has gone connects again, once, as those of name services do.
"""
import os
import select
import signal
import socket
import sys
import threading
import time

TYPES = {'stream': socket.SOCK_STREAM, 'tcp': socket.SOCK_STREAM,
         'seqpacket': socket.SOCK_SEQPACKET, 'dgram': socket.SOCK_DGRAM}


def answers(connection):
    while data := connection.recv(100):
        if data.startswith(b'later'):
            time.sleep(1000)
        if data.startswith(b'ask'):
            connection.send(b'name' + data[3:])


def address(name, kind):
    if kind != 'tcp':
        return socket.AF_UNIX, name
    host, port = name.rsplit(':', 1)
    return socket.AF_INET, (host, int(port))


def serve(name, kind):
    family, place = address(name, kind)
    server = socket.socket(family, TYPES[kind])
    if kind != 'tcp':
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if os.path.exists(name):
            os.unlink(name)
    else:
        # connections of a run before this one may still be in TIME_WAIT
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(place)
    if kind != 'dgram':
        server.listen(10)
    while True:
        if kind == 'dgram':
            with open(name + '.log', 'ab') as log:
                log.write(server.recv(100) + b'\n')
        else:
            threading.Thread(target=answers, args=(server.accept()[0],), daemon=True).start()


def connect(name, kind):
    family, place = address(name, kind)
    client = socket.socket(family, TYPES[kind])
    client.connect(place)
    return client


def ask(client, what, kind):
    client.send(b'ask ' + what, socket.MSG_NOSIGNAL)
    return b'' if kind == 'dgram' else client.recv(100)


def pause(client, mode, path):
    """Wait for the test, in the way of the mode; says what the old connection answers then."""
    if mode == 'read':
        threading.Thread(target=client.recv, args=(1,), daemon=True).start()
    if mode == 'poll':
        poll = select.poll()
        poll.register(client, select.POLLIN)
        threading.Thread(target=poll.poll, daemon=True).start()
    time.sleep(0.5)
    with open(path + '.pid.new', 'w') as file:
        file.write(f'{os.getpid()}\n')
    os.rename(path + '.pid.new', path + '.pid')
    while not os.path.exists(path + '.go'):
        time.sleep(0.05)


def client_of(path, name, kind, mode):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    client = connect(name, kind)
    ask(client, b'1', kind)
    if mode == 'unread':
        client.send(b'ask 2')
    if mode == 'unheard':
        client.send(b'later')
        time.sleep(0.2)
        client.send(b'ask 2')
    pause(client, mode, path)
    said = []
    if kind != 'dgram' and mode == 'idle':
        poll = select.poll()
        poll.register(client, select.POLLIN)
        events = poll.poll(0)
        said.append('hangup' if events and events[0][1] & select.POLLHUP else 'open')
    try:
        answer = ask(client, b'3', kind)
        said.append(answer.decode() or ('sent' if kind == 'dgram' else 'end'))
    except OSError as error:
        said.append(error.__class__.__name__)
        client.close()
        said.append(ask(connect(name, kind), b'4', kind).decode() or 'sent')
    with open(path + '.out.new', 'w') as file:
        file.write(', '.join(said) + '\n')
    os.rename(path + '.out.new', path + '.out')


if __name__ == '__main__':
    {'serve': serve, 'client': client_of}[sys.argv[1]](*sys.argv[2:])
