// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths and options of the pages; see route.h.
 *
 * The table of requests is all that a browser can have asked of ckptd: each of them only reads.
 * Nothing of a path or an option goes to ckptd but numbers.
 */
#include "web/route.h"

#include <string.h>

#define API_JOB		1u	/* takes "job" */
#define API_JOB_NEEDED	2u
#define API_WINDOW	4u	/* "before", "last" */
#define API_ALL		8u

struct route_api {
	const char *path, *verb;
	unsigned int takes;
};

static const struct route_api apis[] = {
	{ "ps", "ps", API_ALL },
	{ "list", "list", API_JOB | API_WINDOW },
	{ "stats", "stats", API_JOB | API_JOB_NEEDED | API_WINDOW },
	{ "interval", "interval", API_JOB | API_JOB_NEEDED },
	{ "nodes", "nodes", 0 },
	{ "io/report", "io_report", API_JOB | API_JOB_NEEDED },
	{ "io/anomalies", "io_anomalies", API_JOB },
	{ "io/top", "io_top", 0 },
	{ "dev/list", "devices", 0 },
	{ "diag/run", "diagnose", API_JOB | API_JOB_NEEDED },
	{ "diag/incidents", "incidents", API_JOB },
};

static const struct {
	const char *path;
	enum route_kind kind;
} pages[] = {
	{ "/", ROUTE_JOBS }, { "/findings", ROUTE_FINDINGS }, { "/nodes", ROUTE_NODES },
	{ "/incidents", ROUTE_INCIDENTS }, { "/devices", ROUTE_DEVICES },
}, of_job[] = {
	{ "", ROUTE_JOB }, { "/io", ROUTE_IO }, { "/hang", ROUTE_HANG },
};

/* A number above 0 at *@at, which is moved behind it; 0: there is none. */
static int64_t route_number(const char **at)
{
	int64_t number = 0;
	int digits = 0;

	while (**at >= '0' && **at <= '9' && digits++ < 18)
		number = number * 10 + *(*at)++ - '0';
	return number;
}

static bool route_find_job(const char *rest, struct route *route)
{
	size_t i;

	route->job = route_number(&rest);
	for (i = 0; i < sizeof(of_job) / sizeof(of_job[0]); i++) {
		if (strcmp(rest, of_job[i].path))
			continue;
		route->kind = of_job[i].kind;
		return route->job > 0;
	}
	return false;
}

static bool route_find_api(const char *rest, struct route *route)
{
	size_t i;

	route->kind = ROUTE_API;
	for (i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		if (!strcmp(rest, apis[i].path))
			route->api = &apis[i];
	}
	return route->api;
}

bool route_find(const char *path, struct route *ret_route)
{
	struct route route = { 0 };
	bool found = false;
	size_t i;

	for (i = 0; i < sizeof(pages) / sizeof(pages[0]) && !found; i++) {
		found = !strcmp(path, pages[i].path);
		route.kind = pages[i].kind;
	}
	if (!strncmp(path, "/job/", 5))
		found = route_find_job(path + 5, &route);
	if (!strncmp(path, "/api/", 5))
		found = route_find_api(path + 5, &route);
	if (!strncmp(path, "/static/", 8)) {
		route.kind = ROUTE_STATIC;
		route.name = path + 8;
		found = true;
	}
	if (found)
		*ret_route = route;
	return found;
}

static bool route_takes(const struct route *route, unsigned int what)
{
	switch (route->kind) {
	case ROUTE_API:
		return route->api->takes & what;
	case ROUTE_JOBS:
		return what == API_ALL;
	case ROUTE_JOB:
		return what == API_WINDOW;
	default:
		return false;
	}
}

bool route_option(struct route *route, const char *name, const char *value)
{
	const char *end = value ? value : "";
	int64_t number = route_number(&end);

	if (!number || *end)
		return false;
	if (!strcmp(name, "job") && route_takes(route, API_JOB))
		route->job = number;
	else if (!strcmp(name, "before") && route_takes(route, API_WINDOW))
		route->before = number;
	else if (!strcmp(name, "last") && route_takes(route, API_WINDOW))
		route->last = number;
	else if (!strcmp(name, "all") && route_takes(route, API_ALL) && number == 1)
		route->all = true;
	else
		return false;
	return true;
}

const char *route_verb(const struct route *route)
{
	return route->api->verb;
}

json_t *route_args(const struct route *route)
{
	json_t *args;

	if (route->api->takes & API_JOB_NEEDED && !route->job)
		return NULL;
	args = json_object();
	if (route->job)
		json_object_set_new(args, "job", json_integer(route->job));
	if (route->before)
		json_object_set_new(args, "before", json_integer(route->before));
	if (route->last)
		json_object_set_new(args, "last", json_integer(route->last));
	if (route->all)
		json_object_set_new(args, "all", json_true());
	return args;
}
