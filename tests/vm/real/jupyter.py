# SPDX-License-Identifier: GPL-2.0-only
"""A Jupyter kernel and its client, which runs a cell in each round: jupyter.py GO ROUNDS."""
from jupyter_client.manager import start_new_kernel

from rounds import expect, rounds, say

PREPARE = '''import random, threading
random.seed(34)
state = []
def work(n):
    state.append(random.random() * n)
    return sum(state)
'''


def run(client, code):
    """The text that a cell prints, and its value."""
    text = []

    def output(message):
        content = message['content']
        if message['msg_type'] == 'stream':
            text.append(content['text'])
        elif message['msg_type'] == 'execute_result':
            text.append(content['data']['text/plain'])
    reply = client.execute_interactive(code, output_hook=output, timeout=120)
    expect(reply['content']['status'], 'ok', 'a cell')
    return reply['content']['execution_count'], ''.join(text)


manager, client = start_new_kernel(kernel_name='python3', startup_timeout=120)
run(client, PREPARE)
for n in rounds():
    count, text = run(client, f'print({n}, len(state)); work({n})')
    expect(count, n + 1, 'number of the cell')
    say(n, text.replace('\n', ' '))
client.stop_channels()
manager.shutdown_kernel()
