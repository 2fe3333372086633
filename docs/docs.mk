# SPDX-License-Identifier: GPL-2.0-only
# Manual pages; written by hand in mdoc(7).

INSTALL_MAN += $(wildcard docs/man/*)
