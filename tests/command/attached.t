#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Who is attached to a job: tests/command/attached.py, with ckptds on this machine.
#
#   tests/command/attached.t [--only WORD,...]
COMMAND_TESTS=attached exec "$(dirname "$0")/command.t" "$@"
