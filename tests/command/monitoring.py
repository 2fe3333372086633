#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Alert rules, dashboard and documentation name metrics that ckptd writes, and what is in them.

    tests/command/monitoring.py TOP

build/bin/tests/tools/printmetrics prints them, by the function that the collector writes its file
with. Each selector of an expression has to match one of its series, labels included: a metric or a
label that is renamed makes this test fail.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = sys.argv[1]
RULES = f'{TOP}/packaging/monitoring/prometheus-rules.yml'
DASHBOARD = f'{TOP}/packaging/monitoring/grafana-dashboard.json'
PAGE = f'{TOP}/docs/admin/monitoring.md'
# labels that Prometheus adds to what it reads
ADDED = {'instance', 'job'}
# metrics of others that expressions may use, with the labels that they have
OTHERS = {'node_textfile_mtime_seconds': [{'file': '/var/lib/prometheus/ckpt.prom'}]}
SELECTOR = re.compile(r'\b((?:ckpt|node)_[a-z0-9_]+)(?:\{([^}]*)\})?')
MATCHER = re.compile(r'\s*([a-z_]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*,?')


def series(text):
    """{NAME: [labels, ...]} of an exposition."""
    found = {}
    for line in text.splitlines():
        m = re.fullmatch(r'([a-z_]+)(?:\{(.*)\})? \S+', line)
        if not line.startswith('#'):
            if not m:
                raise SystemExit(f'a line that is none: {line}')
            found.setdefault(m[1], []).append(dict(re.findall(r'(\w+)="([^"]*)"', m[2] or '')))
    return found


def fits(labels, op, name, value):
    """Whether the labels fulfil a matcher; what Prometheus or Grafana fills in always does."""
    if name in ADDED or value.startswith('$'):
        return True
    if name not in labels:
        return False
    if op in ('=', '!='):
        return (labels[name] == value) == (op == '=')
    value = value.replace('\\\\', '\\')
    return bool(re.fullmatch(value, labels[name])) == (op == '=~')


def misses(expression, known):
    """The selectors of an expression that select nothing, whatever ckptd does."""
    out = []
    for name, inside in SELECTOR.findall(expression):
        matchers = MATCHER.findall(inside)
        if inside and MATCHER.sub('', inside).strip():
            out.append(f'{name}{{{inside}}}: not understood')
        elif not any(all(fits(labels, op, label, value) for label, op, value in matchers)
                     for labels in known.get(name, [])):
            out.append(f'{name}{{{inside}}}')
    return out


def of_rules():
    """Expressions of the alert rules: each from its line on, to the next key."""
    with open(RULES) as f:
        text = f.read()
    return re.findall(r'\n +expr: (?:>-\n)?((?:.|\n)*?)\n +(?:for|labels):', text), text


def of_dashboard():
    with open(DASHBOARD) as f:
        panels = json.load(f)
    expressions = [t['expr'] for p in panels['panels'] for t in p['targets']]
    return expressions + [v['query'] for v in panels['templating']['list'] if v['name'] ==
                          'instance'], panels


def labels_used(expressions):
    """Labels that expressions group by."""
    return {label for e in expressions for by in re.findall(r'by \(([^)]*)\)', e)
            for label in re.split(r',\s*', by)}


def run(*argv, text=None):
    done = subprocess.run(argv, input=text, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Tap:
    nr = bad = 0

    def result(self, name, wrong, skip=None):
        self.nr += 1
        self.bad += bool(wrong)
        skipped = f' # SKIP {skip}' if skip else ''
        print(f'{"not ok" if wrong else "ok"} {self.nr} - {name}{skipped}')
        for line in wrong or []:
            print(f'# {line}')


def promtool_tests(tap, tool, text):
    skip = None if tool else 'no promtool: scripts/setup'

    def one(name, *argv, text=None):
        status, said = run(tool, *argv, text=text) if tool else (0, '')
        tap.result(name, said.splitlines() or ['no reason'] if status else [], skip)

    one('promtool: the metrics are well formed', 'check', 'metrics', text=text)
    one('promtool: the rules are well formed', 'check', 'rules', RULES)
    with tempfile.TemporaryDirectory() as work:
        with open(f'{TOP}/tests/command/monitoring.rules') as f, open(f'{work}/t', 'w') as t:
            t.write(f.read().replace('- RULES', f'- {RULES}'))
        one('promtool: the rules fire when they should, and else do not', 'test', 'rules',
            f'{work}/t')


def main():
    tap = Tap()
    status, text = run(f'{TOP}/build/bin/tests/tools/printmetrics')
    if status:
        raise SystemExit(f'printmetrics: {text}')
    known = {**series(text), **OTHERS}
    rules, rule_text = of_rules()
    shown, panels = of_dashboard()
    alerts = re.findall(r'- alert: (\w+)', rule_text)
    tap.result('each alert has an expression that was found',
               [] if len(rules) == len(alerts) > 5 else [f'{len(rules)} of {len(alerts)}'])
    tap.result('metrics of alert rules exist', [m for e in rules for m in misses(e, known)])
    tap.result('metrics of the dashboard exist', [m for e in shown for m in misses(e, known)])
    every = {label for sets in known.values() for labels in sets for label in labels} | ADDED
    tap.result('labels that expressions group by exist',
               sorted(labels_used(rules + shown) - every))
    # a checker that finds nothing is no checker: rename each metric in turn, and a label
    used = sorted({name for e in rules + shown for name, _ in SELECTOR.findall(e)} - set(OTHERS))
    blind = [name for name in used if not any(
        misses(e, {k: v for k, v in known.items() if k != name}) for e in rules + shown)]
    tap.result(f'each of {len(used)} metrics that is renamed is missed', blind)
    other = series(text.replace('state="degraded"', 'state="broken"'))
    tap.result('a label that is renamed is missed',
               [] if any(misses(e, other) for e in rules) else ['state="degraded"'])
    with open(f'{TOP}/tests/command/monitoring.rules') as f:
        tested = f.read()
    tap.result('each alert is tested',
               [a for a in alerts if f'alertname: {a}\n        exp_alerts' not in tested])
    ids = [p['id'] for p in panels['panels']]
    tap.result('panels of the dashboard differ',
               [] if len(set(ids)) == len(ids) > 5 else [str(ids)])
    with open(PAGE) as f:
        page = f.read()
    families = set(re.findall(r'# TYPE (\w+)', text))
    named = set(re.findall(r'^\| `(ckpt_\w+)', page, re.M))
    tap.result('the documentation names exactly these metrics',
               [f'not documented: {n}' for n in sorted(families - named)] +
               [f'documented only: {n}' for n in sorted(named - families)])
    tap.result('the documentation names each alert', [a for a in alerts if f'`{a}`' not in page])
    tool = f'{TOP}/build/slurm/usr/bin/promtool'
    promtool_tests(tap, tool if os.access(tool, os.X_OK) else shutil.which('promtool'), text)
    print(f'1..{tap.nr}')
    return 1 if tap.bad else 0


if __name__ == '__main__':
    sys.exit(main())
