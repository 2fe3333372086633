# SPDX-License-Identifier: GPL-2.0-only
"""What Python programs need to meet the runner; see phase.h."""
import os
import sys
import time

DIR = sys.argv[1]


def path(name):
    return os.path.join(DIR, name)


def ready():
    with open(path('ready'), 'w'):
        pass


def go():
    return os.path.exists(path('go'))


def await_go():
    while not go():
        time.sleep(0.01)


def verdict(text):
    with open(path(f'result.{os.getpid()}'), 'w') as f:
        f.write(text + '\n')
    os.rename(path(f'result.{os.getpid()}'), path('result'))


def check(condition, text):
    if not condition:
        verdict(f'FAIL {sys.argv[0]}: {text}')
        os._exit(1)


def skip(text):
    verdict(f'SKIP {text}')
    os._exit(77)


def run(main):
    try:
        main()
    except Exception as e:
        verdict(f'FAIL {sys.argv[0]}: {e!r}')
        raise
    verdict('PASS')
