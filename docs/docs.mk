# SPDX-License-Identifier: GPL-2.0-only
# Manual pages, written by hand in mdoc(7), and what the system needs to know.

INSTALL_MAN += $(wildcard docs/man/*)
INSTALL_UDEV += packaging/60-stillpoint.rules
INSTALL_MODULES_LOAD += $(B)/gen/modules-load/stillpoint.conf

user: $(B)/gen/modules-load/stillpoint.conf
$(B)/gen/modules-load/stillpoint.conf: packaging/modules-load.conf
	@mkdir -p $(@D)
	@cp $< $@
