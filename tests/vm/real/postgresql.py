# SPDX-License-Identifier: GPL-2.0-only
"""PostgreSQL and two sessions of psql, by TCP and by a unix socket: postgresql.py BIN GO ROUNDS."""
import signal
import socket
import subprocess
import sys

from rounds import HOME, Shell, begin, expect, rounds, say

BIN = sys.argv.pop(1)
DATA = f'{HOME}/data'
TABLES = '''CREATE TABLE account (id int PRIMARY KEY, balance bigint);
INSERT INTO account SELECT i, 1000 FROM generate_series(1, 100) i;
CREATE TABLE history (id serial PRIMARY KEY, giver int, taker int, amount int);'''


def session(host, port):
    return Shell(f'{BIN}/psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-h', host,
                 '-p', str(port), 'postgres', mark='\\echo done')


def ready():
    return subprocess.run([f'{BIN}/pg_isready', '-q', '-h', HOME, '-p', str(port)]).returncode == 0


with socket.create_server(('127.0.0.1', 0)) as free:
    port = free.getsockname()[1]
subprocess.run([f'{BIN}/initdb', '-D', DATA, '-A', 'trust', '--no-locale', '-E', 'UTF8',
                '--no-sync'], check=True, stdout=subprocess.DEVNULL)
server = begin('PostgreSQL', 120, [
    f'{BIN}/postgres', '-D', DATA, '-p', str(port), '-k', HOME, '-c', 'listen_addresses=127.0.0.1',
    '-c', 'shared_buffers=16MB', '-c', 'jit=off'], ready)
unix, tcp = session(HOME, port), session('127.0.0.1', port)
unix.ask(TABLES)
# a transaction that is open over checkpoints
tcp.ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM account;")
for n in rounds():
    giver, taker = n * 7 % 100 + 1, (n * 7 + 13) % 100 + 1
    unix.ask(f'''BEGIN;
UPDATE account SET balance = balance - {n} WHERE id = {giver};
UPDATE account SET balance = balance + {n} WHERE id = {taker};
INSERT INTO history (giver, taker, amount) VALUES ({giver}, {taker}, {n});
COMMIT;''')
    rows = unix.ask('SELECT sum(balance), max(balance) FROM account; '
                    'SELECT count(*), max(id), sum(amount) FROM history;')
    expect(rows, [f'100000|{rows[0].split("|")[1]}', f'{n}|{n}|{n * (n + 1) // 2}'], 'tables')
    expect(tcp.ask('SELECT count(*), sum(balance) FROM account WHERE balance = 1000; '
                   'SELECT count(*) FROM history;'), ['100|100000', '0'], 'an old snapshot')
    say(n, *rows)
tcp.ask('COMMIT;')
say(*tcp.ask('SELECT md5(string_agg(a::text, $$,$$ ORDER BY id)) FROM account a;'))
tcp.end()
unix.end()
server.send_signal(signal.SIGINT)
expect(server.wait(60), 0, 'status of PostgreSQL')
