# SPDX-License-Identifier: GPL-2.0-only
"""What a directory holds, as a value that can be compared and kept as JSON."""
import hashlib
import os
import re
import stat

BLOCK = 65536
# a restart keeps these beside files that it cut back: docs/user/files.md
CUT_TAIL = re.compile(r"\.stillpoint-(cut|newer|old)-\d+(\.\d+)?$")
# after a power cut or a kill in a restart these may stand there, too; NFS keeps what was open
LEFT_BY_A_CUT = re.compile(r'\.stillpoint-(cut|newer|old)-\d+(\.\d+)?$|^\.nfs[0-9a-f]{24}$')


def content(path):
    """A hash of a file's bytes; zeros are not hashed, so a hole of 4 GiB takes no time."""
    digest = hashlib.sha256()
    zeros = bytes(BLOCK)
    with open(path, 'rb', buffering=0) as f:
        end = os.fstat(f.fileno()).st_size
        at = 0
        while at < end:
            try:
                at = os.lseek(f.fileno(), at, os.SEEK_DATA) // BLOCK * BLOCK
            except OSError:     # ENXIO: holes up to the end
                break
            data = os.pread(f.fileno(), BLOCK, at)
            if data and data != zeros[:len(data)]:
                digest.update(b'%d %d ' % (at, len(data)) + data)
            at += BLOCK
    return digest.hexdigest()


def snapshot(top):
    """name -> what is said of it; names of one file name each other."""
    found, names = {}, {}
    for where, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(where, name)
            st = os.lstat(path)
            key = os.path.relpath(path, top)
            at = found[key] = {'mode': oct(st.st_mode), 'owner': f'{st.st_uid}:{st.st_gid}'}
            if stat.S_ISREG(st.st_mode):
                at.update(size=st.st_size, content=content(path), links=st.st_nlink)
                names.setdefault(st.st_ino, []).append(key)
            elif stat.S_ISLNK(st.st_mode):
                at['to'] = os.readlink(path)
    for group in names.values():
        for key in group:
            found[key]['names'] = sorted(group)
    return found


def without(tree, pattern):
    return {name: at for name, at in tree.items() if not pattern.search(os.path.basename(name))}


def differences(want, got):
    """Sentences; none if both are equal."""
    found = [f'{name} is missing' for name in sorted(want.keys() - got.keys())]
    found += [f'{name} is left over' for name in sorted(got.keys() - want.keys())]
    for name in sorted(want.keys() & got.keys()):
        keys = [k for k in want[name] if want[name][k] != got[name].get(k)]
        if keys:
            found.append(f'{name}: other ' + ', '.join(
                k if k in ('content', 'names') else f'{k} ({got[name].get(k)}, not {want[name][k]})'
                for k in keys))
    return found
