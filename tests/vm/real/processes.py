# SPDX-License-Identifier: GPL-2.0-only
"""multiprocessing: a pool, a manager, a queue and shared memory: processes.py GO ROUNDS."""
import multiprocessing
from multiprocessing import shared_memory

from rounds import expect, rounds, say


def work(n):
    x = n
    for _ in range(2000):
        x = (x * 1103515245 + 12345) % (1 << 31)
    return x


def fill(name, asked, answers):
    """A process that writes to the shared memory for each message."""
    memory = shared_memory.SharedMemory(name)
    while (n := asked.get()) is not None:
        memory.buf[n % memory.size] = n % 251
        answers.put(sum(memory.buf))
    memory.close()


def main():
    memory = shared_memory.SharedMemory(create=True, size=4096)
    asked, answers = multiprocessing.Queue(), multiprocessing.Queue()
    filler = multiprocessing.Process(target=fill, args=(memory.name, asked, answers))
    filler.start()
    counter = multiprocessing.Value('q', 0)
    with multiprocessing.Pool(3) as pool, multiprocessing.Manager() as manager:
        known = manager.dict()
        for n in rounds():
            found = pool.map(work, range(n, n + 12))
            known[n] = sum(found)
            with counter.get_lock():
                counter.value += len(found)
            asked.put(n)
            expect(len(known), n, 'entries of the manager')
            say(n, sum(found), sum(known.values()), counter.value, answers.get(timeout=60))
    asked.put(None)
    filler.join()
    memory.close()
    memory.unlink()


if __name__ == '__main__':
    main()
