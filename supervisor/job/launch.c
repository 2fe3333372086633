// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start of a shim for a job; see launch.h.
 *
 * The launcher forks the shim, by an order (launch/order.h). The specification is in a memory
 * file, which nobody else can read: it has command lines and environments.
 */
#include "supervisor/job/launch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launch/order.h"
#include "shim/spec.h"
#include "supervisor/control/launch_link.h"
#include "supervisor/job/job_writes.h"
#include "supervisor/job/rank_record.h"

json_t *launch_spec(const struct job *job, json_t *restore)
{
	const struct common *common = jobs_common(job->jobs);
	const struct job_record *record = &job->record;
	json_t *spec = json_pack("{s:s, s:s, s:s, s:s*, s:i, s:I, s:I, s:b}",
				 "state_dir", job->state_dir, "image_dir", job->image_dir,
				 "key", common->config.key,
				 "encryption_key", common->config.secret,
				 "nice", common->workers.nice, "job", (json_int_t)job->id,
				 "uid", (json_int_t)job->uid, "host_ns", job->host_ns);
	const json_t *ranks = record->ranks;
	unsigned int node = job->node_index;
	json_t *leader;
	json_t *stdio;

	if (ranks)
		json_object_set_new(spec, "ranks",
				    rank_record_spec(ranks, node, &common->config));
	json_object_set_new(spec, "writes_tag", json_integer((json_int_t)job_writes_tag(job)));
	if (record->gid != (gid_t)-1)
		json_object_set_new(spec, "gid", json_integer(record->gid));
	json_object_update(spec, record->launch);
	/* Numbers of CPUs and NUMA nodes mean something on the node of the caller only. */
	if (node && json_object_get(spec, "sched")) {
		json_t *sched = json_copy(json_object_get(spec, "sched"));

		json_object_del(sched, "cpus");
		json_object_del(sched, "mempolicy");
		json_object_set_new(spec, "sched", sched);
	}
	/* Standard input goes to rank 0, which is at home: other nodes read nothing. */
	if (node) {
		stdio = json_copy(json_object_get(spec, "stdio"));
		json_array_set_new(stdio, 0, json_string(SPEC_NULL));
		json_object_set_new(spec, "stdio", stdio);
	}
	/* the images of a replica name the leader's status pages */
	leader = json_object_get(json_object_get(record->other, "replicas"), "leader");
	json_object_set(spec, "pages", leader);	/* NULL: not set */
	if (restore)
		json_object_set_new(spec, "restore", restore);
	return spec;
}

static int memory_file(const json_t *json)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
	_cleanup_fd_ int fd = memfd_create("shim-spec", MFD_CLOEXEC);
	const char *at = text;
	size_t left;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return -errno;
	for (left = strlen(text); left;) {
		ssize_t n = write(fd, at, left);

		if (n < 0)
			return -errno;
		at += n;
		left -= (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return take_fd(&fd);
}

const char *launch_strerror(int err)
{
	if (err == -ENOTCONN)
		return "the launcher of jobs (ckpt-launch) is not there at the moment: ask again; "
		       "ckptd's log says more";
	if (err == -EAGAIN)
		return "the launcher of jobs (ckpt-launch) takes no orders: restart it; no job is "
		       "disturbed";
	return strerror(-err);
}

/* Give the order; its descriptors stay the caller's. */
static int launch_order(const struct common *common, const struct launch_order *order)
{
	int err = launch_link_send(common->launch, order);

	if (err)
		log_error(&common->log, "the launcher cannot be told to start a shim: %s",
			  launch_strerror(err));
	return err;
}

int launch_start(struct job *job, json_t *spec, int attach,
		 const struct confines *confines, const struct channel_ops *ops, void *arg,
		 struct channel **ret_channel)
{
	const struct common *common = jobs_common(job->jobs);
	int report[2] = { -1, -1 };
	struct launch_order order;
	int err = 0;

	launch_order_init(&order);
	if (confines) {
		confines_tell(confines, spec);
		confines_order(confines, &order);
	}
	order.spec = memory_file(spec);
	order.attach = attach;
	if (order.spec < 0)
		err = order.spec;
	if (!err && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report))
		err = -errno;
	order.report = report[1];
	if (!err)
		err = launch_order(common, &order);
	if (order.spec >= 0)
		close(order.spec);
	if (report[1] >= 0)
		close(report[1]);
	if (attach >= 0)
		close(attach);
	if (!err)
		return channel_open(common->reactor, report[0], ops, arg, ret_channel);
	if (report[0] >= 0)
		close(report[0]);
	return err;
}
