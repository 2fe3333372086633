# SPDX-License-Identifier: GPL-2.0-only
"""asyncio: a server, four clients that stay connected, a child and a queue: loop.py GO ROUNDS."""
import asyncio
import hashlib

from rounds import rounds, say

CLIENTS = 4


async def served(reader, writer):
    count = 0
    while line := await reader.readline():
        count += 1
        writer.write(b'%d %s\n' % (count, hashlib.sha256(line).hexdigest().encode()))
        await writer.drain()
    writer.close()


async def client(port, asked, answers):
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    while text := await asked.get():
        writer.write(text.encode() + b'\n')
        await writer.drain()
        answers.append((await reader.readline()).decode().strip())
        asked.task_done()
    writer.close()


async def main():
    server = await asyncio.start_server(served, '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    asked = [asyncio.Queue() for _ in range(CLIENTS)]
    answers = [[] for _ in range(CLIENTS)]
    clients = [asyncio.create_task(client(port, q, a)) for q, a in zip(asked, answers)]
    child = await asyncio.create_subprocess_exec(
        'sed', '-u', 's/^/seen /',
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    for n in rounds():
        for k, queue in enumerate(asked):
            queue.put_nowait(f'{k} asks {n}')
        await asyncio.gather(*(asyncio.wait_for(q.join(), 60) for q in asked))
        child.stdin.write(answers[0][-1].encode() + b'\n')
        said = (await child.stdout.readline()).decode().strip()
        say(n, *(a[-1] for a in answers), said, sum(map(len, answers)))
        await asyncio.sleep(0.05)
    for queue in asked:
        queue.put_nowait('')
    await asyncio.gather(*clients)
    child.stdin.close()
    await child.wait()
    server.close()

asyncio.run(main())
