#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The files for Prometheus and Grafana (packaging/monitoring/), against the metrics that ckptd
# writes: tests/command/monitoring.py. Needs no root. promtool is that of scripts/setup.

top=$(cd "$(dirname "$0")/../.." && pwd)
exec python3 -B "$top/tests/command/monitoring.py" "$top"
