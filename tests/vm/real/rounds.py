# SPDX-License-Identifier: GPL-2.0-only
"""What the programs of Python here have in common: PROGRAM GO ROUNDS."""
import os
import subprocess
import sys
import time

HOME = os.environ['HOME']


def rounds():
    """Numbers from 1 on, until there were ROUNDS of them and the file GO is there."""
    n = 0
    while n < int(sys.argv[2]) or not os.path.exists(sys.argv[1]):
        n += 1
        yield n
        time.sleep(0.05)
    print('end', flush=True)


def say(*words):
    print(*words, flush=True)


def expect(got, want, what):
    """A wrong answer ends the program, which then has a status."""
    if got != want:
        sys.exit(f'{what}: {got!r}, not {want!r}')


class Shell:
    """A client of a database that reads statements from a pipe and answers each with lines."""

    def __init__(self, *argv, mark):
        self.mark = mark
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def ask(self, statement):
        """The lines of the answer."""
        self.process.stdin.write(f'{statement}\n{self.mark}\n')
        lines = []
        while (line := self.process.stdout.readline()) != 'done\n':
            if not line:
                sys.exit(f'{self.process.args[0]} has ended: {self.process.wait()}')
            lines.append(line[:-1])
        return lines

    def end(self):
        self.process.stdin.close()
        expect(self.process.wait(), 0, 'status of the client')


def begin(what, seconds, argv, ready):
    """Start a server, and wait until it is ready."""
    log = open(f'{HOME}/server.log', 'wb')
    server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.monotonic() + seconds
    while not ready():
        if server.poll() is not None or time.monotonic() > end:
            with open(f'{HOME}/server.log', errors='replace') as f:
                sys.exit(f'{what} does not start ({server.poll()}): {f.read()[-3000:]}')
        time.sleep(0.2)
    return server
