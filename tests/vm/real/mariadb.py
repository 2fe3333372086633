# SPDX-License-Identifier: GPL-2.0-only
"""MariaDB and two sessions of its client, by TCP and by a unix socket: mariadb.py GO ROUNDS.

With the option --aio in front of GO, InnoDB does its input and output as it likes.
"""
import os
import signal
import socket
import subprocess
import sys

from rounds import HOME, Shell, begin, expect, rounds, say

AIO = 'ON' if sys.argv[1] == '--aio' and sys.argv.pop(1) else 'OFF'
SOCKET = f'{HOME}/mariadb.sock'


def session(*opts):
    return Shell('mariadb', '--no-defaults', '-u', 'root', '-N', '-B', '--unbuffered', *opts,
                 'test', mark="SELECT 'done';")


def ready():
    return subprocess.run(['mariadb', '--no-defaults', '-u', 'root', '-S', SOCKET, '-e',
                           'SELECT 1'], capture_output=True).returncode == 0


with socket.create_server(('127.0.0.1', 0)) as free:
    port = free.getsockname()[1]
os.makedirs(f'{HOME}/data/test')
server = begin('MariaDB', 120, [
    'mariadbd', '--no-defaults', f'--datadir={HOME}/data', f'--socket={SOCKET}',
    f'--pid-file={HOME}/pid', f'--port={port}', '--bind-address=127.0.0.1', f'--tmpdir={HOME}',
    '--skip-grant-tables', '--skip-networking=OFF', '--innodb-buffer-pool-size=16M',
    '--innodb-log-file-size=8M', f'--innodb-use-native-aio={AIO}'], ready)
unix, tcp = session('-S', SOCKET), session('-h', '127.0.0.1', '-P', str(port))
unix.ask('CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT) ENGINE=InnoDB; '
         'INSERT INTO account SELECT seq, 1000 FROM seq_1_to_100; '
         'CREATE TABLE history (id INT AUTO_INCREMENT PRIMARY KEY, amount INT) ENGINE=InnoDB;')
# a transaction that is open over checkpoints
tcp.ask('START TRANSACTION WITH CONSISTENT SNAPSHOT;')
for n in rounds():
    giver, taker = n * 7 % 100 + 1, (n * 7 + 13) % 100 + 1
    unix.ask(f'''BEGIN;
UPDATE account SET balance = balance - {n} WHERE id = {giver};
UPDATE account SET balance = balance + {n} WHERE id = {taker};
INSERT INTO history (amount) VALUES ({n});
COMMIT;''')
    rows = unix.ask('SELECT sum(balance), max(balance) FROM account; '
                    'SELECT count(*), max(id), sum(amount) FROM history;')
    expect(rows, [f'100000\t{rows[0].split()[1]}', f'{n}\t{n}\t{n * (n + 1) // 2}'], 'tables')
    expect(tcp.ask('SELECT count(*), sum(balance) FROM account WHERE balance = 1000; '
                   'SELECT count(*) FROM history;'), ['100\t100000', '0'], 'an old snapshot')
    say(n, *rows)
tcp.ask('COMMIT;')
say(*tcp.ask('CHECKSUM TABLE account, history;'))
tcp.end()
unix.end()
server.send_signal(signal.SIGTERM)
expect(server.wait(120), 0, 'status of MariaDB')
