/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judging this node's devices: takes new probes into the history (device_store.h), and says what
 * changed. And what readers get of it. All of it is for workers: a disk that hangs holds up its
 * worker alone.
 */
#ifndef STILLPOINT_DEVICE_JUDGE_H
#define STILLPOINT_DEVICE_JUDGE_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/storage/common.h"

/*
 * device_judge() - take probes into the history
 * @probes: [{"level", "job", "generation", "series", "bytes", "ns", "others"}, ...], oldest first;
 *	"others": other nodes wrote the generation, too
 * @peers: how these did: {"level", "job", "rates": [{"generation", "peers", "rate"}, ...]}; NULL:
 *	not asked
 *
 * Result: {"rows": device_report(), "changed": [{"level", "from", "to"}, ...],
 *	"ask": {"level", "job", "generations": [...]}}; "ask" where a device is slow, and only the
 *	other nodes' rates can tell whether it alone is. Copies to levels are not judged while L1,
 *	which they read, is slow.
 */
json_t *device_judge(const struct common *common, const json_t *probes, const json_t *peers);

/*
 * device_report() - all levels of this node with their devices
 *
 * Rows as device_store_rows(), and "place", "avoided" (new generations go elsewhere), "note" (text
 * for people). A level without history has the state "unknown" and no figures. L1 first, then the
 * order of the configuration. L1 is never avoided: a dump has no other place. A new reference.
 */
json_t *device_report(const struct common *common);

/* Set what is to be avoided by degraded_devices in @levels, a copy of the configuration's. */
void device_report_avoid(const struct common *common, struct level_configs *levels);

/*
 * device_replay() - what degraded_devices = avoid would have done, from the recorded history
 *
 * An outcome: {"level", "probes" (generations that are recorded, but for slow ones from before
 * others of their time were removed), "degraded" (those of them after
 * which the device was degraded), "setting", "changes": [{"job", "generation", "rate", "usual",
 * "peers", "from", "to", "would": text}, ...]}, oldest first. Changes nothing.
 */
json_t *device_replay(const struct common *common, const char *level);

typedef bool (*device_owns_fn)(int64_t job, void *arg);
/*
 * device_rows_hide() - take "job" and "generation" out of rows whose job @owns says no to
 * @rows: of device_report(), or "changes" of device_replay()
 *
 * How fast a device is concerns all users; which job wrote when does not.
 */
void device_rows_hide(json_t *rows, device_owns_fn owns, void *arg);

/* Forget the history of a level: -ENOENT: there is none. For `ckptctl dev forget`. */
int device_forget(const struct common *common, const char *level, struct ckpt_error *error);

#endif /* STILLPOINT_DEVICE_JUDGE_H */
