// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clusters by density; see dbscan.h.
 *
 * Distances are Euclidean and computed again where they are needed: a matrix of a few hundred
 * points would not be faster. A cluster grows from one core by a list of its members, which are
 * looked at in the order in which they came.
 */
#include "supervisor/iotrace/dbscan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PERCENT	90
#define UNSEEN	(-2)

static int dbscan_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double dbscan_distance(const double *a, const double *b, size_t dim)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < dim; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum);
}

/* The points near point @of, itself among them, and their number. */
static size_t dbscan_near(const double *points, size_t n, size_t dim, double radius, size_t of,
			  size_t *ret_near)
{
	size_t i, nr = 0;

	for (i = 0; i < n; i++) {
		if (dbscan_distance(&points[of * dim], &points[i * dim], dim) <= radius)
			ret_near[nr++] = i;
	}
	return nr;
}

/* Take the @nr points @near, which @label's core has found, into the cluster's list. */
static size_t dbscan_take(const size_t *near, size_t nr, int label, int *labels, size_t *list,
			  size_t end)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (labels[near[i]] == UNSEEN)
			list[end++] = near[i];
		if (labels[near[i]] < 0)
			labels[near[i]] = label;
	}
	return end;
}

int dbscan_clusters(const double *points, size_t n, size_t dim, double radius, int *ret_labels)
{
	size_t *near = calloc(2 * n + 1, sizeof(*near)), *list = near + n, i, k, nr, end;
	int clusters = 0;

	if (!near)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		ret_labels[i] = UNSEEN;
	for (i = 0; i < n; i++) {
		if (ret_labels[i] != UNSEEN)
			continue;
		nr = dbscan_near(points, n, dim, radius, i, near);
		ret_labels[i] = nr < DBSCAN_POINTS ? DBSCAN_NOISE : clusters;
		if (nr < DBSCAN_POINTS)
			continue;
		end = dbscan_take(near, nr, clusters, ret_labels, list, 0);
		for (k = 0; k < end; k++) {
			nr = dbscan_near(points, n, dim, radius, list[k], near);
			if (nr >= DBSCAN_POINTS)
				end = dbscan_take(near, nr, clusters, ret_labels, list, end);
		}
		clusters++;
	}
	free(near);
	return clusters;
}

double dbscan_radius(const double *points, size_t n, size_t dim)
{
	double *distances, *each, radius;
	size_t i, k;

	if (n <= DBSCAN_POINTS)
		return -1;
	distances = calloc(2 * n, sizeof(*distances));
	if (!distances)
		return -1;
	each = distances + n;
	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++)
			each[k] = dbscan_distance(&points[i * dim], &points[k * dim], dim);
		qsort(each, n, sizeof(*each), dbscan_compare);
		/* the first one is the point itself */
		distances[i] = each[DBSCAN_POINTS];
	}
	qsort(distances, n, sizeof(*distances), dbscan_compare);
	radius = distances[(n - 1) * PERCENT / 100];
	free(distances);
	return radius;
}
