#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""SQLite with a write-ahead log: one connection in a transaction, one that reads an older state."""
import sqlite3

import phase


def main():
    path = phase.path('rows.db')
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute('pragma journal_mode = wal')
    writer.execute('create table rows (n integer primary key, text)')
    writer.executemany('insert into rows values (?, ?)', ((i, str(i)) for i in range(1000)))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute('begin')
    phase.check(reader.execute('select count(*) from rows').fetchone() == (1000,), 'rows')
    writer.execute('begin immediate')
    writer.execute('insert into rows values (1000, \'open\')')
    phase.ready()
    phase.await_go()
    phase.check(reader.execute('select count(*) from rows').fetchone() == (1000,), 'older state')
    third = sqlite3.connect(path, timeout=0)
    try:
        third.execute('delete from rows')
        phase.check(False, 'the lock of the transaction is gone')
    except sqlite3.OperationalError:
        pass
    writer.execute('commit')
    reader.execute('commit')
    phase.check(reader.execute('select text from rows where n = 1000').fetchone() == ('open',),
                'new row')
    phase.check(writer.execute('pragma integrity_check').fetchone() == ('ok',), 'integrity')


phase.run(main)
