/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckptctl diag incidents, show iN and bundle iN: hangs that ckptd has found by itself.
 */
#ifndef STILLPOINT_DIAG_INCIDENTS_H
#define STILLPOINT_DIAG_INCIDENTS_H

struct cli;

/* The number of the incident that @text names, as i12; 0: it names none. */
long long diag_incident_number(const char *text);

/*
 * diag_incidents_run() - do "incidents", "show" or "bundle", with the operands from optind on
 * @out: directory of the bundle; NULL: "incident-N"
 *
 * An exit status.
 */
int diag_incidents_run(struct cli *cli, const char *what, int argc, char **argv, const char *out);

#endif /* STILLPOINT_DIAG_INCIDENTS_H */
