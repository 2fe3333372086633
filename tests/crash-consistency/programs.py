# SPDX-License-Identifier: GPL-2.0-only
"""The programs by their names in --programs. {bin} and {scripts} stand for directories."""

PROGRAMS = {
    'inplace': ['{bin}/inplace', 'open'],
    'inplace-closed': ['{bin}/inplace', 'closed'],
    'unlinked': ['{bin}/inplace', 'unlinked'],
    'mapping': ['{bin}/mapping'],
    'memmap': ['/usr/bin/python3', '{scripts}/memmap.py'],
    'holes': ['{bin}/holes'],
    'regrow': ['{bin}/regrow'],
    'replace': ['{bin}/replace'],
    'links': ['{bin}/links'],
    'latest': ['{bin}/latest'],
    'sparse': ['{bin}/sparse'],
    'pair': ['{bin}/pair'],
    'log': ['{bin}/logs', 'grow'],
    'log-rotate': ['{bin}/logs', 'rotate'],
    'sqlite-delete': ['/usr/bin/python3', '{scripts}/database.py', 'delete'],
    'sqlite-wal': ['/usr/bin/python3', '{scripts}/database.py', 'wal'],
    'direct': ['{bin}/direct'],
    'steps': ['/bin/sh', '{scripts}/steps.sh'],
    'inputs': ['/bin/sh', '{scripts}/inputs.sh'],
    'mpiio': ['{bin}/mpiio'],
    'ranks-closed': ['{bin}/ranks', 'closed'],
    'ranks-inputs': ['{bin}/ranks', 'inputs'],
    'ranks-held': ['{bin}/ranks', 'held'],
    'ranks-output': ['{bin}/ranks', 'output'],
    'ranks-alone': ['{bin}/ranks', 'alone'],
}
# four ranks over two nodes
MPI = ('mpiio', 'ranks-closed', 'ranks-inputs', 'ranks-held', 'ranks-output', 'ranks-alone')
# Open MPI opens the file anew after a restart; with all ranks on one node it has another kind of
# shared file pointer, and leaves the lock of the former one.
SAME_NODES = ('mpiio',)
BINARIES = ('inplace', 'mapping', 'holes', 'regrow', 'replace', 'links', 'latest', 'sparse', 'pair',
            'logs', 'direct', 'mpiio', 'ranks')
SCRIPTS = ('memmap.py', 'database.py', 'steps.sh', 'inputs.sh')
# files that are there before the program
INPUTS = {name: [f'in.{n}' for n in range(1, 9)] for name in ('inputs', 'ranks-inputs')}


def command(name, top):
    return [word.format(bin=f'{top}/bin', scripts=f'{top}/scripts') for word in PROGRAMS[name]]
