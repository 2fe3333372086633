#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
#
# The description of /dev/ckpt for syzkaller says what the headers say.
#
# tests/fuzz/dev_ckpt.txt has every command with its structure, every field at its place, and no
# constant that the headers lack. Reads as much of syzkaller's language as that file uses.
import glob
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.realpath(f'{os.path.dirname(os.path.abspath(__file__))}/../..')
SIZES = {'pid': 4, 'uid': 4, 'gid': 4, 'fd_ckpt': 4, 'fd_dir': 4, 'fd': 4, 'vma64': 8,
         'int8': 1, 'int16': 2, 'int32': 4, 'int64': 8}
# records: the description has their head and any payload; structures that no command takes
OTHER = ('ckpt_record',)


def description():
    with open(f'{TOP}/tests/fuzz/dev_ckpt.txt') as f:
        return re.sub(r'#.*', '', f.read())


def headers():
    text = ''
    for name in sorted(glob.glob(f'{TOP}/uapi/linux/*.h')):
        with open(name) as f:
            text += f.read()
    return text


def split(text):
    """Arguments of a type: not at commas within brackets."""
    parts, depth = [''], 0
    for c in text:
        depth += (c == '[') - (c == ']')
        if c == ',' and not depth:
            parts.append('')
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def size_of(kind):
    name, _, rest = kind.partition('[')
    args = split(rest[:-1]) if rest else []
    if name == 'ptr64':
        return 8
    if name == 'array':
        return size_of(args[0]) * int(args[1], 0)
    if name in ('const', 'flags', 'len', 'bytesize'):
        return SIZES[args[1]]
    return SIZES[name]


def structures(text):
    """{name: [(field, size)]}"""
    return {name: [(line.split()[0], size_of(re.sub(r'\s*\(out\)$', '', line.split(None, 1)[1])))
                   for line in body.strip().split('\n')]
            for name, body in re.findall(r'^(\w+) \{\n(.*?)^\}', text, re.M | re.S)
            if name not in OTHER}


def compiled(lines):
    """What the C compiler says of the headers: a value for each expression, or its complaints."""
    with tempfile.TemporaryDirectory() as work:
        with open(f'{work}/a.c', 'w') as f:
            f.write('#include <stddef.h>\n#include <stdio.h>\n#include <linux/ckpt.h>\n'
                    'int main(void)\n{\n')
            for line in lines:
                f.write(f'printf("%llu\\n", (unsigned long long)({line}));\n')
            f.write('}\n')
        done = subprocess.run(['cc', '-I', f'{TOP}/uapi', '-o', f'{work}/a', f'{work}/a.c'],
                              capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr
        out = subprocess.run([f'{work}/a'], capture_output=True, text=True, check=True).stdout
        return [int(n) for n in out.split()], ''


def compare_commands(text):
    theirs = dict(re.findall(
        r'define\s+(CKPT_IOC_\w+)\s+_IOWR\(CKPT_IOC_MAGIC, \w+, struct (\w+)\)', headers()))
    ours = {name: kind for name, const, kind in re.findall(
        r'^ioctl\$(\w+)\(fd fd_ckpt, cmd const\[(\w+)\], arg ptr\[inout, (\w+)\]\)', text, re.M)
        if name == const}
    wrong = sorted(set(theirs.items()) ^ set(ours.items()))
    return [f'{name}: {kind}' for name, kind in wrong] if len(theirs) > 10 else ['no commands']


def compare_structures(text):
    asked, want = [], []
    for name, fields in structures(text).items():
        at = 0
        for field, size in fields:
            asked += [f'offsetof(struct {name}, {field})',
                      f'sizeof(((struct {name} *)0)->{field})']
            want += [at, size]
            at += size
        asked.append(f'sizeof(struct {name})')
        want.append(at)
    got, complaint = compiled(asked)
    if got is None:
        return complaint.split('\n')
    return [f'{line} is {g}, not {w}' for line, g, w in zip(asked, got, want) if g != w]


def compare_flags(text):
    """Each constant is there, and each flag of a command's structure is described."""
    names = [name for line in re.findall(r'^\w+ = (.*)', text, re.M) for name in split(line)]
    wrong = [] if len(names) > 10 else ['no constants']
    got, complaint = compiled(names)
    wrong += complaint.split('\n') if got is None else []
    groups = '|'.join(sorted({re.sub(r'[A-Z0-9]+$', '', name) for name in names
                              if not name.endswith('OPTIONAL')}))
    for name in re.findall(rf'^(?:#define\s+|\t)((?:{groups})[A-Z0-9_]+)\s*(?:\(1U <<|= )',
                           headers(), re.M):
        if name not in names and not name.endswith(('_MAX', '_OVERFLOW', '_FORGOT')):
            wrong.append(f'{name} is not described')
    return wrong


def main():
    text, good = description(), True
    tests = [('every command has its structure', compare_commands),
             ('structures have the fields of the headers, each at its place', compare_structures),
             ('constants are those of the headers', compare_flags)]
    for number, (name, compare) in enumerate(tests, 1):
        wrong = compare(text)
        print(f'{"not " if wrong else ""}ok {number} - {name}')
        for line in wrong:
            print(f'# {line}')
        good = good and not wrong
    print(f'1..{len(tests)}')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
