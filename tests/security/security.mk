# SPDX-License-Identifier: GPL-2.0-only
# Programs that the tests as a hostile user start; they run in the VM (tests/security/*.t).

$(call program,tests/security/become,tests/security/become.c,)
