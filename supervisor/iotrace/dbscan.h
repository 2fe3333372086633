/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DBSCAN: clusters of points by how dense they are. Pure, and for hundreds of points: each pair of
 * them is compared.
 *
 * A point with DBSCAN_POINTS points, itself among them, within the radius is a core. Cores within
 * each other's radius are one cluster, as are the points within the radius of one of its cores. All
 * other points are noise.
 */
#ifndef STILLPOINT_DBSCAN_H
#define STILLPOINT_DBSCAN_H

#include <stddef.h>

#define DBSCAN_POINTS	4	/* within the radius make a core */
#define DBSCAN_NOISE	(-1)

/*
 * dbscan_clusters() - divide @n points of @dim numbers each into clusters
 * @points: one after the other
 * @radius: the largest distance of points that are near each other
 * @ret_labels: @n of them: the cluster of each point, from 0 on, or DBSCAN_NOISE
 *
 * A point near cores of two clusters belongs to the first one. Return: the number of clusters, or
 * -ENOMEM.
 */
int dbscan_clusters(const double *points, size_t n, size_t dim, double radius, int *ret_labels);

/*
 * dbscan_radius() - a radius for these points: the 90th percentile of the distances of each point
 *	to its DBSCAN_POINTS-th nearest other one
 *
 * Negative: no memory, or not more than DBSCAN_POINTS points.
 */
double dbscan_radius(const double *points, size_t n, size_t dim);

#endif /* STILLPOINT_DBSCAN_H */
