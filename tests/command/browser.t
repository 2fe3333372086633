#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The web pages of a node in a real browser: tests/command/browser.py, with ckptds on this machine
# and a headless Chromium. Chromium is large, so that scripts/setup installs it only if it is asked
# to (scripts/setup --browser); without it this is skipped.
#
#   tests/command/browser.t [--only WORD,...]
#   SCREENSHOTS=DIR           write pictures of pages there
if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
	echo '1..0 # SKIP chromium and chromedriver are not installed: scripts/setup --browser'
	exit 0
fi
COMMAND_TESTS=browser exec "$(dirname "$0")/command.t" "$@"
