#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Transactions of a database, each of which depends on what the last ones left.

    database.py delete | wal     its journal: a file for each transaction, or a log of its own
"""
import sqlite3
import sys
import time

ACCOUNTS, STEPS = 40, 40


def main():
    db = sqlite3.connect('data.db', isolation_level=None, timeout=30)
    mode = db.execute(f'PRAGMA journal_mode={sys.argv[1]}').fetchone()[0]
    if mode != sys.argv[1]:
        print(f'no journal of this kind here: {mode}', file=sys.stderr)
        return 77
    db.execute('PRAGMA synchronous=NORMAL')
    db.execute('CREATE TABLE account (id INTEGER PRIMARY KEY, value INTEGER, text TEXT)')
    db.execute('CREATE TABLE done (step INTEGER, sum INTEGER)')
    db.executemany('INSERT INTO account VALUES (?, ?, ?)',
                   [(i, i * 7919, 'x' * 200) for i in range(ACCOUNTS)])
    chain = 1
    for step in range(STEPS):
        db.execute('BEGIN IMMEDIATE')
        for _ in range(3):
            one = chain % ACCOUNTS
            value = db.execute('SELECT value FROM account WHERE id = ?', (one,)).fetchone()[0]
            chain = (chain * 6364136223846793005 + value + 1) % (1 << 40)
            db.execute('UPDATE account SET value = ?, text = ? WHERE id = ?',
                       (chain, f'{chain:020d}' * (chain % 40), one))
        time.sleep(0.03)
        chain += db.execute('SELECT sum(value) FROM account').fetchone()[0] % 1000003
        db.execute('INSERT INTO done VALUES (?, ?)', (step, chain))
        db.execute('COMMIT')
        time.sleep(0.03)
        if step % 10 == 0:
            print(step, chain, flush=True)
    print('end', chain, db.execute('SELECT count(*), sum(sum) FROM done').fetchone(),
          db.execute('PRAGMA integrity_check').fetchone()[0], flush=True)
    db.close()
    return 0


if __name__ == '__main__':
    sys.exit(main())
