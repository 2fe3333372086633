#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One user and the others: tests/command/users.py, with ckptds on this machine.
#
#   tests/command/users.t [--only WORD,...]
COMMAND_TESTS=users exec "$(dirname "$0")/command.t" "$@"
