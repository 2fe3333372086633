// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watch over NVMe controllers; see nvme_watch.h.
 *
 * Owns the timer, the worker, and what the log was told last. The worker does not wait for a
 * controller that hangs; its deadline is for a state directory that does.
 */
#include "supervisor/devices/nvme_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic_json.h"
#include "base/outcome.h"
#include "base/reactor.h"
#include "supervisor/control/worker.h"
#include "supervisor/devices/nvme_ask.h"
#include "supervisor/devices/nvme_health.h"

#define FIRST_MS	1000	/* after ckptd's start */
#define WORKER_MS	60000

struct nvme_watch {
	struct common *common;
	struct reactor_source *timer;
	struct worker *worker;
	json_t *said;		/* what the log knows: {CONTROLLER: its words} */
	bool failing;		/* the log has it */
};

/* ------------------------------------------------------------------ report */

json_t *nvme_report(const char *state_dir)
{
	json_t *report = NULL, *rows;
	const json_t *row;
	size_t i;

	if (atomic_json_read(state_dir, NVME_FILE, &report))
		report = json_object();
	if (!json_is_integer(json_object_get(report, "time")))
		json_object_set_new(report, "time", json_integer(0));
	rows = json_object_get(report, "controllers");
	if (!json_is_array(rows))
		json_object_set_new(report, "controllers", json_array());
	json_array_foreach(rows, i, row) {
		if (!json_is_string(json_object_get(row, "controller")))
			json_array_remove(rows, i--);
	}
	json_object_set_new(report, "note", json_string(nvme_ask_missing));
	return report;
}

const json_t *nvme_report_find(const json_t *report, const char *controller)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(report, "controllers"), i, row) {
		if (!strcmp(json_string_value(json_object_get(row, "controller")), controller))
			return row;
	}
	return NULL;
}

void nvme_report_mark(const json_t *report, json_t *devices)
{
	json_t *row;
	size_t i;

	json_array_foreach(devices, i, row) {
		const char *device = json_string_value(json_object_get(row, "device"));
		const json_t *controller = NULL;
		char name[32];

		if (device && nvme_controller_of(device, name))
			controller = nvme_report_find(report, name);
		if (json_object_get(controller, "warnings"))
			json_object_set(row, "warnings", json_object_get(controller, "warnings"));
	}
}

/* ------------------------------------------------------------------ worker */

static json_t *nvme_watch_run(struct channel_reporter *reporter, void *arg)
{
	const struct nvme_watch *w = arg;
	const char *state_dir = w->common->config.state_dir;
	json_t *report = nvme_report(state_dir);
	const int64_t now = (int64_t)time(NULL);
	const int64_t age_s = now - json_integer_value(json_object_get(report, "time"));
	int err = 0;

	/* a ckptd that is started again and again asks no more often than one that stays */
	if (age_s < 0 || age_s >= NVME_PERIOD_MS / 1000 - 1) {
		json_decref(report);
		report = json_pack("{s:I, s:o}", "time", (json_int_t)now, "controllers",
				   nvme_rows(state_dir));
		err = atomic_json_write(state_dir, NVME_FILE, report);
	}
	if (!err)
		return outcome_ok(report);
	json_decref(report);
	return outcome_error(err, "%s/" NVME_FILE ": %s", state_dir, strerror(-err));
}

static const struct worker_kind nvme_work = {
	.name = "ckptd-nvme", .run = nvme_watch_run, .deadline_ms = WORKER_MS,
};

/* --------------------------------------------------------------------- say */

/* The words of a controller in one text, to be freed. */
static char *nvme_watch_words(const json_t *row)
{
	const json_t *word;
	size_t i, size = 1;
	char *text;

	json_array_foreach(json_object_get(row, "warnings"), i, word)
		size += json_string_length(word) + 2;
	text = calloc(1, size);
	json_array_foreach(json_object_get(row, "warnings"), i, word) {
		if (text && json_is_string(word))
			strcat(strcat(text, *text ? ", " : ""), json_string_value(word));
	}
	return text;
}

static void nvme_watch_say(struct nvme_watch *w, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "controller"));
	const char *before = json_string_value(json_object_get(w->said, name));
	char *words = nvme_watch_words(row);

	if (!words || !strcmp(words, before ? before : "")) {
		free(words);
		return;
	}
	if (*words)
		log_warning(&w->common->log, "NVMe controller %s (%s) warns: %s; ckptctl dev list "
			    "--json has its figures", name,
			    json_string_value(json_object_get(row, "model")), words);
	else
		log_info(&w->common->log, "NVMe controller %s warns no more", name);
	json_object_set_new(w->said, name, json_string(words));
	free(words);
}

/* -------------------------------------------------------------------- loop */

static void nvme_watch_on_timer(void *arg);

static void nvme_watch_on_progress(json_t *progress, void *arg)
{
}

static void nvme_watch_on_outcome(json_t *outcome, void *arg)
{
	struct nvme_watch *w = arg;
	const json_t *row, *error = json_object_get(outcome, "error");
	size_t i;

	w->worker = NULL;
	if (error && !w->failing)
		log_warning(&w->common->log, "the health of NVMe controllers is not known: %s",
			    json_string_value(json_object_get(error, "text")));
	w->failing = error;
	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "controllers"), i,
			   row)
		nvme_watch_say(w, row);
	json_decref(outcome);
}

static void nvme_watch_start(struct nvme_watch *w)
{
	static const struct channel_ops ops = { nvme_watch_on_progress, nvme_watch_on_outcome };
	const struct worker_spec spec = { .kind = &nvme_work, .arg = w };
	const int err = worker_start(&w->common->workers, &spec, &ops, w, &w->worker);

	if (err && !w->failing)
		log_warning(&w->common->log, "the health of NVMe controllers is not known: no "
			    "worker: %s", strerror(-err));
	w->failing |= err != 0;
}

static void nvme_watch_on_timer(void *arg)
{
	struct nvme_watch *w = arg;

	w->timer = NULL;
	if (!w->worker && !*nvme_ask_missing && nvme_is_there())
		nvme_watch_start(w);
	if (reactor_timer(w->common->workers.reactor, NVME_PERIOD_MS, nvme_watch_on_timer, w,
			  &w->timer))
		log_warning(&w->common->log, "the health of NVMe controllers is not asked for any "
			    "more: no timer");
}

int nvme_watch_open(struct common *common, struct nvme_watch **ret_watch)
{
	struct nvme_watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->common = common;
	w->said = json_object();
	err = reactor_timer(common->workers.reactor, FIRST_MS, nvme_watch_on_timer, w, &w->timer);
	if (err) {
		nvme_watch_close(w);
		return err;
	}
	*ret_watch = w;
	return 0;
}

void nvme_watch_close(struct nvme_watch *w)
{
	if (!w)
		return;
	reactor_remove(w->timer);
	if (w->worker)
		worker_abort(w->worker);
	json_decref(w->said);
	free(w);
}
