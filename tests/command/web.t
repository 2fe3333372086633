#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The web pages of a node: tests/command/web.py, with ckptds on this machine.
#
#   tests/command/web.t [--only WORD,...]
COMMAND_TESTS=web exec "$(dirname "$0")/command.t" "$@"
