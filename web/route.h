/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths and options of the pages: which page, of which job, which of its generations.
 *
 *	/				the jobs
 *	/job/N[/io|/hang]		one job
 *	/findings /incidents /nodes /devices
 *	/static/NAME
 *	/api/VERB			the JSON of a request, as ckptctl VERB --json prints it
 */
#ifndef STILLPOINT_WEB_ROUTE_H
#define STILLPOINT_WEB_ROUTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum route_kind {
	ROUTE_JOBS, ROUTE_JOB, ROUTE_IO, ROUTE_HANG, ROUTE_FINDINGS, ROUTE_INCIDENTS,
	ROUTE_NODES, ROUTE_DEVICES, ROUTE_STATIC, ROUTE_API,
};

struct route_api;

struct route {
	enum route_kind kind;
	int64_t job;		/* 0: none */
	int64_t before;		/* only generations below this one; 0: any */
	int64_t last;		/* so many at most; 0: the page's own number */
	bool all;		/* ended jobs, too */
	const struct route_api *api;
	const char *name;	/* of a static file; part of the path */
};

/* Find the page of @path (behind the token); false: there is none. */
bool route_find(const char *path, struct route *ret_route);

/* Take an option of the query; false: this page has no such option, or the value is wrong. */
bool route_option(struct route *route, const char *name, const char *value);

/* For ROUTE_API: the request's verb, and its arguments, a new reference; NULL: a job is missing. */
const char *route_verb(const struct route *route);
json_t *route_args(const struct route *route);

#endif /* STILLPOINT_WEB_ROUTE_H */
