#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The web pages of a node, as TAP: who gets them, what they show, what happens when ckptd hangs.

    web.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs as root, on any machine; nodes and the way to run are those of tests/vm/daemon.py. Jobs are
made by tests/tools/mkjobs and their generations by mkgenerations, so that no module is needed.
"""
import contextlib
import http.client
import html.parser
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from command import TOP, USER, daemon, ends
from daemon import check, equal, test, wait_for

daemon.TESTS.clear()
OTHER = USER - 1
HOSTILE = '<script>document.title="owned"</script>"\'&\u202e\x1b[31m'
TOOLS = f'{TOP}/build/bin/tests/tools'


def mkjob(node, number, uid=USER, name='job', record=()):
    record = {'name': name, 'user': 'somebody', 'uid': uid, 'gid': uid, 'state': 'ended',
              'status': 0, 'since': int(time.time()), 'created': 1, 'host_ns': False,
              'node': node.name, 'argv': ['/bin/true'], 'env': ['A=1'], 'cwd': '/', **dict(record)}
    subprocess.run([f'{TOOLS}/mkjobs', node.images, node.key, str(number), '1',
                    json.dumps(record)], check=True)


def mkgenerations(node, job, count, first=1, seconds=600):
    subprocess.run([f'{TOOLS}/mkgenerations', node.images, node.key, str(job),
                    f'{job}-{job:016x}', str(first), str(count), str(seconds)], check=True)


def as_user(user):
    return ['setpriv', '--reuid', str(user), '--regid', str(user), '--clear-groups', '--']


class Web:
    """One ckptweb, of @user."""

    def __init__(self, node, *args, user=USER):
        self.process = subprocess.Popen(
            [*(as_user(user) if user else []), f'{daemon.ARGS.bin}/ckptctl', '--socket',
             node.socket, 'web', '--json', *args], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        text = b''
        while not text.endswith(b'\n}\n'):
            line = self.process.stdout.readline()
            if not line:
                raise daemon.Failure(f'ckptctl web: {self.process.stderr.read()}')
            text += line
        said = json.loads(text)
        check(said['ok'], f'ckptctl web: {said}')
        self.said = said['result']
        self.url = self.said['url']
        self.port = self.said.get('port')
        self.unix = self.said.get('unix')
        self.base = re.fullmatch(r'http://[^/]+(/[0-9a-f]{64})/', self.url)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def get(self, path, method='GET', headers=(), timeout=30, base=True, host=True):
        """(status, headers, text)"""
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=timeout * daemon.ARGS.slow)
        if self.unix:
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.settimeout(timeout * daemon.ARGS.slow)
            c.sock.connect(self.unix)
        try:
            c.putrequest(method, (self.base if base else '') + path, skip_host=True)
            own = [('Host', f'localhost:{self.port or 80}')] if host else []
            for name, value in [*own, *headers]:
                c.putheader(name, value)
            c.endheaders()
            answer = c.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            c.close()

    def page(self, path, status=200):
        got, _, text = self.get(path)
        equal(got, status, f'status of {path} ({text[-400:]})')
        Outline(path, text)
        return text

    def api(self, path):
        return json.loads(self.get('/api/' + path)[2])


class Outline(html.parser.HTMLParser):
    """Checks of every page: tags are closed, nothing runs or is loaded from elsewhere."""
    VOID = {'meta', 'link', 'br', 'img', 'input'}
    SELF = {'rect', 'line', 'circle', 'path'}

    def __init__(self, path, text):
        super().__init__()
        self.path, self.open, self.ids, self.tags = path, [], set(), []
        self.feed(text)
        self.close()
        equal(self.open, [], f'open tags of {path}')
        equal(self.tags.count('h1'), 1, f'h1 of {path}')
        equal(self.tags.count('main'), 1, f'main of {path}')

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        check('style' not in attrs, f'{self.path}: style of {tag}')
        check(not [a for a in attrs if a.startswith('on')], f'{self.path}: {tag} {attrs}')
        for name in ('src', 'href', 'action'):
            value = attrs.get(name)
            check(value is None or value.startswith(('/', '#')) and not value.startswith('//'),
                  f'{self.path}: {tag} {name}={value}')
        if 'id' in attrs:
            check(attrs['id'] not in self.ids, f'{self.path}: id {attrs["id"]} twice')
            self.ids.add(attrs['id'])
        if tag == 'svg':
            check('aria-label' in attrs or attrs.get('aria-hidden') == 'true',
                  f'{self.path}: a picture without a name')
        if tag not in self.VOID and tag not in self.SELF:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, f'{self.path}: </{tag}> in {self.open}')


# ----------------------------------------------------------------- who may

@test
def own_jobs_alone(node):
    """a user's pages have that user's jobs: not another's in any page, nor in the JSON"""
    mkjob(node, 1, name='mine')
    mkjob(node, 2, OTHER, name='secret-of-another')
    mkgenerations(node, 1, 3)
    mkgenerations(node, 2, 3)
    with Web(node) as web, Web(node, user=OTHER) as other:
        text = web.page('/?all=1')
        check('mine' in text and 'secret' not in text, text)
        text = other.page('/?all=1')
        check('mine' not in text and 'secret' in text, text)
        web.page('/job/1')
        other.page('/job/2')
        for page in ('/job/2', '/job/2/io', '/job/2/hang', '/findings'):
            status, _, text = web.get(page)
            check('secret' not in text, text)
            check(status in (403, 404) or page == '/findings', f'{page}: {status}')
        for path in ('ps?all=1', 'list', 'list?job=2', 'stats?job=2', 'interval?job=2',
                     'io/report?job=2', 'diag/run?job=2', 'io/top'):
            status, _, text = web.get('/api/' + path)
            check('secret' not in text and '"uid": 65533' not in text, text)
            check(status in (403, 404) or 'job=2' not in path, f'{path}: {status}: {text}')
        # the same as the command says
        same = json.loads(subprocess.run(node.argv('list', '--json', user=USER),
                                         capture_output=True, check=True).stdout)
        equal(web.api('list'), same, 'list')


@test
def guarded(node):
    """no page without the whole token and a Host header of this machine; nothing but GET and
    HEAD; every answer has the headers that bind a browser"""
    mkjob(node, 1)
    with Web(node) as web:
        equal(web.page('/').count('<h1>'), 1, 'h1')
        for path in ('/', '', web.base, web.base[:-1] + '/', '/' + 'f' * 64 + '/',
                     web.base[:32] + '/', f'//{web.base}/', web.base.upper() + '/x',
                     f'/x{web.base}/', '/static/style.css', '/api/ps'):
            status, _, text = web.get(path, base=False)
            equal(status, 404, path)
            check('Jobs' not in text and 'html' not in text, text)
        port = f':{web.port}'
        for host, want in (('localhost', 200), ('localhost:1', 200), ('127.0.0.1' + port, 200),
                           ('evil.example', 421), ('127.0.0.1.evil.example' + port, 421),
                           ('', 421), ('0.0.0.0' + port, 421)):
            equal(web.get('/', headers=[('Host', host)], host=False)[0], want, host)
        check(web.get('/', host=False)[0] in (400, 421), 'no Host header')
        check(web.get('/', headers=[('Host', 'evil.example')])[0] in (400, 421), 'two')
        for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'):
            check(web.get('/api/ps', method)[0] in (405, 501), method)
        equal(web.get('/', 'HEAD')[::2], (200, ''), 'HEAD')
        for path in ('/', '/static/page.js', '/api/ps', '/none'):
            headers = web.get(path)[1]
            policy = headers['Content-Security-Policy']
            check("default-src 'none'" in policy and 'unsafe' not in policy, policy)
            equal(headers['Referrer-Policy'], 'no-referrer', path)
            equal(headers['X-Content-Type-Options'], 'nosniff', path)
            equal(headers['Cache-Control'], 'no-store', path)
            check('Access-Control-Allow-Origin' not in headers, path)
        for path in ('/api/kill?job=1', '/api/rm?job=1', '/api/checkpoint?job=1', '/api/run',
                     '/static/../../etc/passwd', '/static/none', '/job/1/../2', '/job/x'):
            equal(web.get(path)[0], 404, path)
        for path in ('/job/1?before=x', '/?uid=0', '/api/ps?all=2', '/api/list?job=1&job=x',
                     '/job/1?last=99999999999999999999', '/api/stats'):
            equal(web.get(path)[0], 400, path)


@test
def without_privileges(node):
    """ckptweb runs as the user and has nothing more; root must name a user, and becomes it"""
    for args, text in ((('web',), 'does not run as root'), (('web', '--user', 'root'), 'not root'),
                       (('web', '--user', 'nobody-here'), 'no such user')):
        done = subprocess.run([f'{daemon.ARGS.bin}/ckptctl', '--socket', node.socket, *args],
                              capture_output=True, timeout=30 * daemon.ARGS.slow)
        ends(1, text, done)
    done = subprocess.run([*as_user(USER), f'{daemon.ARGS.bin}/ckptweb', '--user', 'nobody'],
                          capture_output=True, timeout=30 * daemon.ARGS.slow)
    ends(1, 'is for root', done)
    mkjob(node, 1, name='of-nobody')
    mkjob(node, 2, 0, name='of-root')
    with Web(node, '--user', 'nobody', user=None) as web:
        with open(f'/proc/{web.process.pid}/status') as f:
            status = dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)
        equal(status['Uid'].split(), ['65534'] * 4, 'uids')
        equal(status['Gid'].split(), ['65534'] * 4, 'gids')
        equal(status['CapEff'], '0' * 16, 'capabilities')
        equal(status['CapPrm'], '0' * 16, 'capabilities')
        equal(status['NoNewPrivs'], '1', 'no new privileges')
        text = web.page('/?all=1')
        check('of-nobody' in text and 'of-root' not in text, text)


@test
def unix_socket(node):
    """--unix: a socket of mode 0600; another user who gets at it has no page; a dead one is
    replaced, any other file and a live socket are left alone"""
    mkjob(node, 1, name='mine')
    where = f'{node.base}/web'
    os.mkdir(where, 0o755)
    os.chown(where, USER, USER)
    path = f'{where}/sock'
    with Web(node, '--unix', path) as web:
        equal(os.stat(path).st_mode & 0o777, 0o600, 'mode')
        check('mine' in web.page('/?all=1'), 'the page of the user')
        done = subprocess.run([*as_user(USER), f'{daemon.ARGS.bin}/ckptweb', '--unix', path],
                              capture_output=True, timeout=30 * daemon.ARGS.slow)
        ends(1, 'Address already in use', done)
        os.chmod(path, 0o666)       # as if the mode were lost
        curl = [*as_user(OTHER), 'python3', '-c',
                'import socket, sys\n'
                's = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n'
                's.sendall(f"GET {sys.argv[2]}/ HTTP/1.1\\r\\nHost: localhost\\r\\n'
                'Connection: close\\r\\n\\r\\n".encode())\n'
                'print(s.makefile().read())', path, web.base]
        done = subprocess.run(curl, capture_output=True, check=True, text=True,
                              timeout=30 * daemon.ARGS.slow)
        check(' 403 ' in done.stdout and 'mine' not in done.stdout, done.stdout)
    check(os.path.exists(path), 'a killed ckptweb leaves its socket')
    with Web(node, '--unix', path) as web:
        check('mine' in web.page('/?all=1'), 'in the place of the dead one')
        web.process.send_signal(signal.SIGTERM)
        equal(web.process.wait(10 * daemon.ARGS.slow), 0, 'status')
        check(not os.path.exists(path), 'the socket is left')
    with open(f'{where}/file', 'w') as f:
        f.write('mine')
    done = subprocess.run([*as_user(USER), f'{daemon.ARGS.bin}/ckptweb', '--unix', f'{where}/file'],
                          capture_output=True, timeout=30 * daemon.ARGS.slow)
    ends(1, 'no socket', done)


@test
def usage_of_web(node):
    """wrong options are refused with a text, and as JSON where that is asked for"""
    def web(*args, program='ckptweb'):
        return subprocess.run([*as_user(USER), f'{daemon.ARGS.bin}/{program}', *args],
                              capture_output=True, timeout=30 * daemon.ARGS.slow)
    ends(2, '--port is a number', web('--port', '0'))
    ends(2, '--port is a number', web('--port', '1x'))
    ends(2, '--timeout is a number', web('--timeout', '0'))
    ends(2, 'exclude each other', web('--port', '80', '--unix', '/x'))
    ends(2, 'no operands', web('x'))
    ends(2, 'wrong option', web('--none'))
    ends(2, 'the path is empty', web('--unix', ''))
    ends(1, 'Permission denied', web('--unix', f'{node.base}/x'))
    done = ends(2, 'no operands', web('--json', 'x'))
    equal(json.loads(done.stdout)['error']['usage'], True, 'usage')
    ends(2, 'x is too much', web('web', 'x', program='ckptctl'))
    ends(2, 'leave --standalone out', web('web', '--standalone', program='ckptctl'))
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        s.listen()
        ends(1, 'Address already in use', web('--port', str(s.getsockname()[1])))


# ----------------------------------------------------------------- bad luck

@test
def hostile_names(node):
    """a job's name, command and user that are markup stay text on every page"""
    mkjob(node, 1, name=HOSTILE, record={'argv': [HOSTILE, '--x=</code>'], 'user': HOSTILE,
                                         'node': HOSTILE})
    mkgenerations(node, 1, 2)
    with Web(node) as web:
        for path in ('/?all=1', '/job/1', '/job/1/io', '/findings'):
            status, _, text = web.get(path)
            Outline(path, text)
            body = re.sub(r'<script src="/[0-9a-f]{64}/static/page.js" defer></script>', '', text)
            check('<script' not in body and 'owned"' not in body, body)
            check('\x1b' not in text and '\u202e' not in text, 'control characters')
        check('&lt;script&gt;document.title=&quot;owned&quot;' in web.page('/?all=1'), 'the name')
        equal(web.api('ps?all=1')['result']['jobs'][0]['name'], HOSTILE, 'the JSON has the name')


@test
def daemon_hangs(node):
    """while ckptd is stopped pages say so after the timeout, static files come at once, and all
    goes on when ckptd does; ckptd that is gone is said at once"""
    mkjob(node, 1, name='mine')
    with Web(node, '--timeout', '2') as web:
        web.page('/?all=1')
        os.kill(node.daemon.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            done = []
            threads = [threading.Thread(target=lambda: done.append(web.get('/?all=1')))
                       for _ in range(20)]
            for t in threads:
                t.start()
            quick = time.monotonic()
            equal(web.get('/static/style.css')[0], 200, 'a static file')
            check(time.monotonic() - quick < 1.5 * daemon.ARGS.slow, 'a static file waited')
            for t in threads:
                t.join()
            took = time.monotonic() - began
            # eight wait for the answer, the others for a place: all end at the timeout
            check(1.5 < took < 8 * daemon.ARGS.slow, f'{took:.1f} s')
            equal({d[0] for d in done} - {503, 504}, set(), 'statuses')
            check(any('has not answered within 2 s' in d[2] for d in done), done[0][2])
            Outline('hung', done[0][2])
            equal(web.get('/api/ps')[0], 504, 'the JSON')
        finally:
            os.kill(node.daemon.pid, signal.SIGCONT)
        check('mine' in wait_for('the page', 20, lambda: (
            lambda got: got[0] == 200 and got[2])(web.get('/?all=1'))), 'the page')
        node.leave()
        began = time.monotonic()
        text = web.page('/', 502)
        check('ckptd does not run on this node' in text, text)
        check(time.monotonic() - began < 2 * daemon.ARGS.slow, 'it took long')
        node.start()
        check('mine' in web.page('/?all=1'), 'after a restart of ckptd')


@test
def many_connections(node):
    """connections that say nothing take no place of ckptd's, end by themselves, and their
    number is bounded; requests that are no HTTP do no harm"""
    mkjob(node, 1, name='mine')
    with Web(node) as web:
        for junk in (b'\x00\xff' * 100, b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n',
                     b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n',
                     b'GET / HTTP/1.1\r\n' + b'X: y\r\n' * 20000 + b'\r\n',
                     b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\nx',
                     b'GET /%00%2e%2e/ HTTP/1.1\r\nHost: localhost\r\n\r\n'):
            with socket.create_connection(('127.0.0.1', web.port), 10) as s:
                with contextlib.suppress(OSError):
                    s.sendall(junk)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(65536):
                        pass
        check('mine' in web.page('/?all=1'), 'after junk')
        idle = [socket.create_connection(('127.0.0.1', web.port), 10) for _ in range(70)]
        time.sleep(0.5)
        threads = len(os.listdir(f'/proc/{web.process.pid}/task'))
        check(threads <= 70, f'{threads} threads')
        text = wait_for('the page after the idle ones have ended', 40, lambda: page_of(web))
        check('mine' in text, text)
        for s in idle:
            s.close()


def page_of(web):
    try:
        status, _, text = web.get('/?all=1', timeout=5)
    except OSError:
        return None
    return status == 200 and text


# ----------------------------------------------------------------- pages

@test
def generations_by_pages(node):
    """a job's generations: the newest first, older ones by links that neither skip nor repeat
    one, on the page as in the JSON and by ckptctl list and stats"""
    mkjob(node, 1)
    mkgenerations(node, 1, 47, seconds=60)
    with Web(node) as web:
        check('rel="next"' not in web.page('/job/1?last=47'), 'a link to nothing')
        path, seen = '/job/1?last=10', []
        while path:
            text = web.page(path)
            rows = [int(n) for n in re.findall(r'<tr id="g(\d+)"', text)]
            equal(text.count('class="mark"'), len(rows), 'marks of the time line')
            check(len(rows) <= 10, rows)
            seen += rows
            link = re.search(rf'{web.base}(/job/1\?before=[^"]*)" rel="next"', text)
            path = link and link[1].replace('&amp;', '&')
        equal(seen, list(range(47, 0, -1)), 'generations')
        rows = web.api('list?job=1&before=20&last=3')['result']['jobs'][0]
        equal([g['generation'] for g in rows['generations']], [17, 18, 19], 'list')
        equal(rows['nr_generations'], 47, 'number')
        rows = web.api('stats?job=1&last=4')['result']
        equal([c['generation'] for c in rows['checkpoints']], [44, 45, 46, 47], 'stats')
        check('No older checkpoint' in web.page('/job/1?before=1'), 'nothing is older')
    rows = node.json('list', '--last', '2', '--before', '10', '1')['jobs'][0]['generations']
    equal([g['generation'] for g in rows], [8, 9], 'ckptctl list')
    rows = node.json('stats', '--last', '2', '1')['checkpoints']
    equal([g['generation'] for g in rows], [46, 47], 'ckptctl stats')
    node.fails(2, '--last is a number from 1', 'list', '--last', '0', '1')
    node.fails(2, '--before is a number from 1', 'stats', '--before', 'x', '1')
    # a window keeps the index of the others
    equal(len(node.generations(1)), 47, 'ckptctl list')


@test
def findings(node):
    """the page of findings names a generation that is damaged, a job that is lost and a record
    that cannot be read, and nothing else"""
    mkjob(node, 1)
    mkgenerations(node, 1, 3)
    with Web(node) as web:
        check('Nothing was found' in web.page('/findings'), 'findings of a good job')
        manifest = next(os.path.join(d, 'manifest') for d, _, files in
                        os.walk(f'{node.images}/1') if 'manifest' in files and 'gen-2' in d)
        with open(manifest, 'r+b') as f:
            f.seek(100)
            f.write(b'\xff' * 8)
        text = web.page('/findings')
        equal(text.count('class="bad">trouble'), 1, text)
        check('generation 2 cannot be read' in text, text)
        check('<tr id="g2"' in web.page('/job/1'), 'its row')
        mkjob(node, 2, name='gone', record={'state': 'running'})
        text = web.page('/findings')
        check('job 2</a></td><td>is lost' in text, text)
        check('state lost' in web.page('/?all=1'), 'the page of jobs')


def mkincident(node, number, job, uid=USER, **figures):
    """Into the record of incidents, as ckptd would write it."""
    with contextlib.closing(sqlite3.connect(f'{node.base}/jobs/incidents.db')) as db, db:
        db.execute('CREATE TABLE IF NOT EXISTS incident (number INTEGER PRIMARY KEY AUTOINCREMENT,'
                   ' job INTEGER, uuid TEXT, uid INTEGER, confirmed INTEGER, closed INTEGER '
                   'DEFAULT 0, size INTEGER, figures TEXT, bundle TEXT)')
        db.execute('PRAGMA user_version = 1')
        figures = {'job': job, 'uid': uid, 'since': 1700000000, 'state': 'notified', 'rounds': 1,
                   'cause': 'loops', 'suspects': [{'rank': 3, 'node': 'n1'}], 'nr_suspects': 1,
                   **figures}
        db.execute('INSERT INTO incident (number, job, uuid, uid, confirmed, closed, size, figures)'
                   ' VALUES (?, ?, ?, ?, 1700000000, ?, 0, ?)',
                   (number, job, 'u', uid, figures.get('closed', 0), json.dumps(figures)))


@test
def incidents(node):
    """incidents are on their own page, on that of their job, and among the findings while they are
    open; a hostile text runs nothing, and another user's are nowhere"""
    mkjob(node, 1)
    with Web(node) as web:
        check('There are none' in web.page('/incidents'), 'no record')
        mkincident(node, 4, 1, action='rollback', result=HOSTILE)
        mkincident(node, 5, 1, state='cleared', closed=1700000100, result='the ranks go on')
        mkincident(node, 6, 2, OTHER, result='secret')
        text = web.page('/incidents')
        check('<script>' not in text and 'secret' not in text, text)
        check(text.index('>i5<') < text.index('>i4<') and '>i6<' not in text, text)
        check('3 on <bdi>n1</bdi>' in text or '3 on n1' in text, text)
        equal(text.count('class="bad"'), 1, text)
        text = web.page('/findings')
        check('incident i4' in text and 'incident i5' not in text and 'i6' not in text, text)
        check('<script>' not in text, text)
        text = web.page('/job/1/hang', web.get('/job/1/hang')[0])
        check('>i4<' in text and '>i5<' in text and '>i6<' not in text, text)
        equal([one['incident'] for one in web.api('diag/incidents')['result']['incidents']], [5, 4],
              'the same as JSON')
        mkincident(node, 7, 1, nr_suspects=9, suspects=[{'rank': i, 'node': 'n1'}
                                                        for i in range(9)])
        check('and 5 more' in web.page('/incidents'), 'many suspects')


@test
def other_pages(node):
    """nodes, devices and the JSON of each request are there, with their status"""
    mkjob(node, 1)
    with Web(node) as web:
        check('on its own' in web.page('/nodes'), 'nodes')
        equal(web.get('/api/nodes')[0], 404, 'nodes')
        status, _, text = web.get('/devices')
        check(status == 200 and ('<meter' in text or 'diskstats' in text), text)
        check('<bdi>L1</bdi>' in text and 'too little history' in text, text)
        text = web.page('/job/1/io', 404)
        check('recorded on this node' in text or 'was never watched' in text, text)
        check('ckptctl io watch 1 on' in text, text)
        for path in ('ps', 'ps?all=1', 'list', 'stats?job=1'):
            equal(web.api(path)['ok'], True, path)
        check(web.get('/api/interval?job=1')[0] in (200, 422), 'interval')
        equal(web.page('/job/77', 404).count('role="alert"'), 1, 'no such job')


@contextlib.contextmanager
def images_in_memory(node):
    """A directory for images that is made fast."""
    node.leave()
    node.images = tempfile.mkdtemp(prefix='web-', dir='/dev/shm')
    try:
        node.start()
        yield
    finally:
        node.stop()
        shutil.rmtree(node.images)


@test
def ten_thousand_generations(node):
    """the page of a job with 10,000 generations takes hardly longer than that of one with 100"""
    def median(web, path):
        times = []
        for _ in range(11):
            began = time.monotonic()
            equal(web.get(path)[0], 200, path)
            times.append((time.monotonic() - began) * 1000)
        return statistics.median(times)

    with images_in_memory(node):
        mkjob(node, 1)
        mkjob(node, 2)
        mkgenerations(node, 1, 10000)
        mkgenerations(node, 2, 100)
        with Web(node) as web:
            few, many = median(web, '/job/2'), median(web, '/job/1')
            old = median(web, '/job/1?before=5000')
            found = median(web, '/findings')
    print(f'# page of a job with 100 generations {few:.0f} ms, with 10,000 {many:.0f} ms, one '
          f'before 5,000 {old:.0f} ms; findings {found:.0f} ms (medians of 11)')
    # how long it takes depends on what else the machine does: bench/web.py is for that
    check(many < 2 * few + 200 and old < 2 * few + 200, f'{few:.0f}, {many:.0f}, {old:.0f} ms')


if __name__ == '__main__':
    sys.exit(daemon.main())
