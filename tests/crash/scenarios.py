# SPDX-License-Identifier: GPL-2.0-only
"""What is done with jobs while every write is logged. A new one is a function here.

A step of Recorder marks the log before and after what it does, so that each cut knows what had been
acknowledged. A verb without one of its own is put between Ledger.step()'s marks.
"""
import threading

SCENARIOS = []


def scenario(f):
    SCENARIOS.append(f)
    return f


@scenario
def kept(rec):
    """checkpoint, pin, prune, unpin, rm"""
    job = rec.job()
    for _ in range(4):
        rec.checkpoint(job)
    rec.pin(job, 2)
    rec.prune(job, [1, 3], '--keep', '1')
    rec.checkpoint(job)
    rec.unpin(job, 2)
    rec.rm(job, 2)
    rec.checkpoint(job)
    rec.rm(job, 6)
    rec.checkpoint(job)
    rec.kill(job)


@scenario
def moved(rec):
    """checkpoint --kill and restart, and the job is removed at last"""
    job = rec.job(64)
    rec.checkpoint(job)
    for _ in range(2):
        rec.checkpoint(job, '--kill')
        rec.node.ctl('restart', str(job))
    rec.checkpoint(job)
    rec.kill(job)
    rec.ledger.drop_job(job)
    rec.node.ctl('rm', str(job))


@scenario
def retained(rec):
    """two jobs at once, pruned as configured; ckptd is killed between"""
    rec.node.kill()
    rec.node.settings |= {'retain_keep': '2', 'retain_keep_every': '4'}
    rec.node.start()
    jobs = [rec.job(128), rec.job(512)]
    problems = []

    def work(job):
        try:
            for g in range(1, 7):
                rec.checkpoint(job, expires=[x for x in range(1, g - 1) if x % 4])
        except Exception as e:
            problems.append(e)
    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if problems:
        raise problems[0]
    for job in jobs:
        rec.kill(job)


def merged(rec):
    """generations that stand on others are merged; what they stood on goes, before and after"""
    job = rec.job(1024)
    for _ in range(4):
        rec.checkpoint(job, '--incremental')
    rec.rm(job, 2)
    rec.merge(job, 4)
    rec.rm(job, 1, 3)
    for _ in range(2):
        rec.checkpoint(job, '--incremental')
    rec.merge(job, 6)
    rec.rm(job, 5)
    rec.kill(job)


def promoted(rec):
    """copied to a level, removed here, fetched from there, removed everywhere"""
    job = rec.job(256)
    for _ in range(3):
        rec.checkpoint(job)
    rec.copied(job)
    rec.kill(job)
    for g in 1, 2, 3:
        rec.rm_here(job, g)
    rec.node.ctl('restart', str(job))
    rec.ledger.note('a generation that was fetched runs')
    for _ in range(2):
        rec.checkpoint(job, '--incremental')
    rec.copied(job)
    rec.rm(job, 2, 4)
    rec.kill(job)


def unsynced(rec):
    job = rec.job(64)
    for _ in range(3):
        rec.checkpoint(job)
    rec.kill(job)
