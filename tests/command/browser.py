#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The web pages of a node in headless Chromium, as TAP: what a person sees, hears and can reach.

    browser.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs as root; speaks WebDriver to chromedriver, without a library. The pages are those of web.py.
SCREENSHOTS=DIR in the environment: write pictures of pages there.
"""
import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import web
from command import daemon
from daemon import check, equal, test, wait_for
from web import HOSTILE, Web, mkgenerations, mkjob

daemon.TESTS.clear()
SHOTS = os.environ.get('SCREENSHOTS')
TAB, ENTER, LEFT, RIGHT, HOME = '\ue004', '\ue007', '\ue012', '\ue014', '\ue011'

# contrast as WCAG 2 has it, of each text with what is behind it: those below 4.5
CONTRAST = '''
const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number);
    return m.length < 4 ? [...m, 1] : m; };
const lum = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0.5) return c; }
    return [255, 255, 255, 1]; };
const bad = [];
for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (e.closest('.skip, button, title')) continue;
    const style = getComputedStyle(e);
    const front = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [lum(front), lum(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + e.getAttribute('class') + ' ' + ratio.toFixed(2));
}
return bad;
'''


class Browser:
    def __init__(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        self.home = tempfile.mkdtemp(prefix='browser-', dir=daemon.ARGS.work)
        self.log = open(f'{self.home}/log', 'wb')
        self.driver = subprocess.Popen(
            ['chromedriver', f'--port={self.port}'], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, start_new_session=True, env={**os.environ, 'HOME': self.home})
        wait_for('chromedriver', 30, self.answers)
        self.session = self.call('POST', '/session', {'capabilities': {'alwaysMatch': {
            'browserName': 'chrome', 'goog:loggingPrefs': {'browser': 'ALL'},
            'goog:chromeOptions': {'args': [
                '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                '--hide-scrollbars', '--window-size=1100,900', '--no-first-run',
                '--disable-background-networking', f'--user-data-dir={self.home}/data']}}}}
        )['sessionId']

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call('DELETE', f'/session/{self.session}')
        finally:
            self.driver.terminate()
            self.driver.wait(20)
            shutil.rmtree(self.home, ignore_errors=True)

    def answers(self):
        try:
            return self.call('GET', '/status')['ready']
        except OSError:
            return False

    def call(self, method, path, body=None):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=120 * daemon.ARGS.slow)
        c.request(method, path, json.dumps(body) if body is not None else None)
        value = json.loads(c.getresponse().read())['value']
        c.close()
        if isinstance(value, dict) and 'error' in value:
            raise daemon.Failure(f'{path}: {value["error"]}: {value["message"][:400]}')
        return value

    def do(self, command, **body):
        return self.call('POST', f'/session/{self.session}/{command}', body)

    def cdp(self, command, **params):
        return self.do('goog/cdp/execute', cmd=command, params=params)

    def js(self, script, *args):
        return self.do('execute/sync', script=script, args=list(args))

    def open(self, url):
        self.do('url', url=url)

    def keys(self, *keys):
        self.do('actions', actions=[{'type': 'key', 'id': 'k', 'actions': [
            a for key in keys for a in ({'type': 'keyDown', 'value': key},
                                        {'type': 'keyUp', 'value': key})]}])

    def scheme(self, name):
        self.cdp('Emulation.setEmulatedMedia',
                 features=[{'name': 'prefers-color-scheme', 'value': name}])

    def width(self, width, height=900):
        self.cdp('Emulation.setDeviceMetricsOverride', width=width, height=height,
                 deviceScaleFactor=1, mobile=False)

    def complaints(self):
        """What the console has said: errors of scripts, what the policy has blocked."""
        return [e['message'] for e in self.do('se/log', type='browser')
                if e['level'] in ('SEVERE', 'WARNING')]

    def shot(self, name):
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            data = self.cdp('Page.captureScreenshot', format='png')['data']
            with open(f'{SHOTS}/{name}.png', 'wb') as f:
                f.write(base64.b64decode(data))


def example(node, hostile=True):
    """Jobs to be looked at; one of them with a hostile name."""
    mkjob(node, 1, name='relax', record={'argv': ['./relax', '--steps', '100000', 'input.dat']})
    name = HOSTILE if hostile else 'sort'
    mkjob(node, 2, name=name, record={'argv': [name]})
    mkjob(node, 3, name='climate', record={'argv': ['./climate', 'run.nml'], 'state': 'running'})
    mkgenerations(node, 1, 60)
    mkgenerations(node, 2, 3)


@test
def pages_are_quiet(node):
    """every page loads without an error, a blocked or a foreign request, and a hostile name runs
    nothing"""
    example(node)
    with Web(node) as pages, Browser() as browser:
        for path in ('', '?all=1', 'job/1', 'job/2', 'job/1/io', 'job/77', 'findings', 'incidents',
                     'nodes', 'devices'):
            browser.open(pages.url + path)
            title = browser.js('return document.title')
            check(title.endswith('– Stillpoint') and title != 'owned', f'{path}: {title}')
            loaded = browser.js('return performance.getEntriesByType("resource")'
                                '.map((e) => e.name)')
            for name in loaded:
                check(name.startswith(pages.url), f'{path} loads {name}')
            check(any(n.endswith('style.css') for n in loaded), f'{path}: {loaded}')
            said = [c for c in browser.complaints() if 'Failed to load resource' not in c]
            equal(said, [], f'the console on {path}')
        browser.open(pages.url + '?all=1')
        text = browser.js('return document.querySelector("table").textContent')
        check('<script>document.title="owned"</script>' in text, text)
        # the policy itself: a script in the page does not run
        browser.js('const s = document.createElement("script"); s.textContent = '
                   '"document.title = \'owned\'"; document.body.append(s)')
        check(browser.js('return document.title') != 'owned', 'an inline script runs')


@test
def keyboard(node):
    """everything is reached with the keyboard: the skip link, the pages, each generation of the
    time line with arrow keys, and its row"""
    example(node)
    with Web(node) as pages, Browser() as browser:
        browser.open(pages.url + 'job/1')
        browser.keys(TAB)
        equal(browser.js('return document.activeElement.className'), 'skip', 'the first stop')
        browser.keys(ENTER)
        equal(browser.js('return document.activeElement.id'), 'main', 'the skip link')
        stops = []
        for _ in range(60):
            browser.keys(TAB)
            stop = browser.js('const a = document.activeElement; return [a.tagName, '
                              'a.getAttribute("class") || "", a.getAttribute("href") || "", '
                              'a.getAttribute("aria-label") || a.textContent.trim()]')
            stops.append(stop)
            check(stop[3], f'a stop without a name: {stop}')
            if stop[0] == 'BUTTON':
                break
        check(stops[-1][0] == 'BUTTON', f'the refresh button was not reached: {stops[-3:]}')
        marks = [s for s in stops if 'mark' in s[1]]
        equal(len(marks), 1, 'stops in the time line')
        equal(marks[0][2], '#g60', 'the newest generation comes first')
        browser.js('document.querySelector(".mark[tabindex=\\"0\\"]").focus()')
        browser.keys(LEFT, LEFT)
        equal(browser.js('return document.activeElement.getAttribute("href")'), '#g58', 'left')
        browser.keys(RIGHT)
        equal(browser.js('return document.activeElement.getAttribute("href")'), '#g59', 'right')
        browser.keys(HOME)
        equal(browser.js('return document.activeElement.getAttribute("href")'), '#g1', 'home')
        browser.keys(ENTER)
        equal(browser.js('return location.hash'), '#g1', 'enter leads to the row')
        equal(browser.js('return document.querySelector(":target").cells[0].textContent'), '1',
              'the row')


@test
def screen_reader(node):
    """the accessibility tree has landmarks, one level-1 heading, tables with names and headings,
    and a name for each link, picture and control"""
    example(node)
    with Web(node) as pages, Browser() as browser:
        for path in ('?all=1', 'job/1', 'devices', 'findings', 'incidents'):
            browser.open(pages.url + path)
            tree = browser.cdp('Accessibility.getFullAXTree')['nodes']
            nodes = [(n['role']['value'], n.get('name', {}).get('value', ''))
                     for n in tree if not n.get('ignored') and 'role' in n]
            roles = [r for r, _ in nodes]
            for role in ('banner', 'navigation', 'main', 'contentinfo'):
                check(role in roles, f'{path}: no {role}')
            equal(browser.js('return document.querySelectorAll("h1").length'), 1, 'h1')
            for role, name in nodes:
                if role in ('link', 'button', 'table', 'image', 'img', 'region', 'columnheader',
                            'navigation', 'meter'):
                    check(name or role == 'columnheader', f'{path}: {role} without a name')
        browser.open(pages.url + 'job/1')
        tree = browser.cdp('Accessibility.getFullAXTree')['nodes']
        names = [n.get('name', {}).get('value', '') for n in tree if not n.get('ignored')]
        check(any(n.startswith('Generation 60, ') and 'stood still for' in n for n in names),
              'a generation of the time line has no name')


@test
def narrow_and_schemes(node):
    """at 400 pixels no page is wider than the window; in both colour schemes every text has a
    contrast of 4.5 or more"""
    example(node)
    with Web(node) as pages, Browser() as browser:
        for path in ('?all=1', 'job/1', 'job/2', 'findings', 'incidents', 'devices',
                     'nodes', 'job/77'):
            browser.width(400)
            browser.open(pages.url + path)
            width = browser.js('return document.documentElement.scrollWidth')
            check(width <= 400, f'{path} is {width} pixels wide')
            for scheme in ('light', 'dark'):
                browser.scheme(scheme)
                back = browser.js('return getComputedStyle(document.body).backgroundColor')
                equal(back, {'light': 'rgb(255, 255, 255)', 'dark': 'rgb(13, 17, 23)'}[scheme],
                      scheme)
                equal(browser.js(CONTRAST), [], f'low contrast on {path}, {scheme}')
            browser.scheme('light')


@test
def refresh(node):
    """the button refreshes the page every 5 s, leaves alone what has the focus, and says when
    ckptweb is gone"""
    mkjob(node, 1, name='first')
    with Web(node) as pages, Browser() as browser:
        browser.open(pages.url + '?all=1')
        browser.js('document.querySelector("button").click()')
        equal(browser.js('return document.querySelector("button").getAttribute("aria-pressed")'),
              'true', 'pressed')
        mkjob(node, 2, name='second')
        wait_for('the new job', 20, lambda: 'second' in browser.js(
            'return document.querySelector("main").textContent'))
        pages.process.kill()
        wait_for('the message', 20, lambda: 'does not answer' in browser.js(
            'return document.getElementById("said").textContent'))


@test
def pictures(node):
    """pages drawn in both schemes, and narrow; with SCREENSHOTS they are kept"""
    example(node, hostile=False)
    with Web(node) as pages, Browser() as browser:
        for name, path, width, height in (('jobs', '?all=1', 900, 420),
                                          ('job', 'job/1', 1060, 900),
                                          ('narrow', 'job/1', 400, 800)):
            for scheme in ('light', 'dark'):
                browser.width(width, height)
                browser.scheme(scheme)
                browser.open(pages.url + path)
                browser.shot(f'{name}-{scheme}')
                if path == 'job/1':
                    drawn = browser.js('return [...document.querySelectorAll(".mark")].every('
                                       '(m) => m.getBoundingClientRect().height > 5)')
                    check(drawn, 'a mark that nobody sees')


if __name__ == '__main__':
    sys.exit(daemon.main())
