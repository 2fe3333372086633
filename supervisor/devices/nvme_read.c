// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking all NVMe controllers, each by a child (asked.h); see nvme_health.h.
 *
 * The answer of a child is what nvme_ask() returned, and the log page. No device file is opened but
 * in a child.
 */
#include "supervisor/devices/nvme_health.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "supervisor/devices/asked.h"
#include "supervisor/devices/nvme_ask.h"

#define SYS_NVME	"/sys/class/nvme"

struct nvme_answer {
	int err;	/* as of nvme_ask(), or of the question (asked.h) */
	uint8_t log[NVME_LOG_BYTES];
};

static unsigned int nvme_list(struct asked *asked, unsigned int max)
{
	DIR *dir = opendir(SYS_NVME);
	unsigned int nr = 0, number;
	struct dirent *e;

	while (dir && nr < max && (e = readdir(dir))) {
		int n = 0;

		if (sscanf(e->d_name, "nvme%u%n", &number, &n) == 1 && !e->d_name[n])
			asked[nr++] = (struct asked){ .number = number, .fd = -1 };
	}
	if (dir)
		closedir(dir);
	return nr;
}

bool nvme_is_there(void)
{
	struct asked one;

	return nvme_list(&one, 1);
}

static int nvme_child(unsigned int number, void *arg, int fd)
{
	struct nvme_answer answer = {};
	char name[32];

	snprintf(name, sizeof(name), "nvme%u", number);
	answer.err = nvme_ask(name, answer.log);
	/* shorter than a pipe takes at once */
	return write(fd, &answer, sizeof(answer)) != sizeof(answer);
}

static struct nvme_answer nvme_answer_of(const struct asked *a)
{
	struct nvme_answer answer = { .err = a->err ? a->err : -EIO };

	if (!a->err && a->size == sizeof(answer))
		memcpy(&answer, a->answer, sizeof(answer));
	return answer;
}

static json_t *nvme_model(unsigned int number)
{
	char path[64], text[64] = "";
	FILE *f;

	/* the kernel has it from when it found the controller */
	snprintf(path, sizeof(path), SYS_NVME "/nvme%u/model", number);
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
	while (*text && text[strlen(text) - 1] == ' ')
		text[strlen(text) - 1] = '\0';
	return outcome_text(text);
}

static json_t *nvme_error(int err)
{
	if (err == -EBUSY)
		return json_string("still waits for the answer to an earlier question");
	if (err == -ETIMEDOUT)
		return json_sprintf("no answer within %d s", NVME_ANSWER_MS / 1000);
	if (err == -EBADMSG)
		return json_string("has no health log");
	if (err == -EOPNOTSUPP && *nvme_ask_missing)
		return json_string(nvme_ask_missing);
	return err > 0 ? json_sprintf("refuses the question with status 0x%x", err) :
	       json_string(strerror(-err));
}

static json_t *nvme_row(const struct asked *a)
{
	const struct nvme_answer answer = nvme_answer_of(a);
	struct nvme_health h = {};
	const int err = answer.err ? answer.err : nvme_health_parse(answer.log, &h);
	const bool silent = err == -EBUSY || err == -ETIMEDOUT;
	const unsigned int warnings = silent ? 1u << NVME_SILENT : nvme_health_warnings(&h);
	json_t *row, *words = json_array();
	unsigned int i;

	for (i = 0; i < NVME_WARNINGS; i++) {
		if (warnings & 1u << i)
			json_array_append_new(words, json_string(nvme_warning_name(i)));
	}
	row = json_pack("{s:o, s:o, s:b, s:o*, s:o}", "controller",
			json_sprintf("nvme%u", a->number), "model", nvme_model(a->number),
			"answered", !err, "error", err ? nvme_error(err) : NULL, "warnings", words);
	if (err)
		return row;
	json_object_update_new(row, json_pack(
		"{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I}", "critical_warning",
		h.critical_warning, "temperature_celsius", h.temperature_celsius, "spare_percent",
		(int)h.spare_percent, "spare_threshold_percent", (int)h.spare_threshold_percent,
		"used_percent", (int)h.used_percent, "media_errors", (json_int_t)h.media_errors,
		"unsafe_shutdowns", (json_int_t)h.unsafe_shutdowns, "power_on_hours",
		(json_int_t)h.power_on_hours, "read_bytes", (json_int_t)h.read_bytes,
		"written_bytes", (json_int_t)h.written_bytes));
	return row;
}

static int nvme_by_number(const void *a, const void *b)
{
	const unsigned int x = ((const struct asked *)a)->number;
	const unsigned int y = ((const struct asked *)b)->number;

	return x < y ? -1 : x > y;
}

json_t *nvme_rows(const char *state_dir)
{
	struct asked *asked = calloc(NVME_CONTROLLERS_MAX, sizeof(*asked));
	unsigned int nr = asked ? nvme_list(asked, NVME_CONTROLLERS_MAX) : 0, i;
	json_t *rows = json_array();

	if (nr)
		qsort(asked, nr, sizeof(*asked), nvme_by_number);
	for (i = 0; i < nr; i++)
		asked_start(&asked[i], state_dir, nvme_child, NULL);
	if (nr)
		asked_wait(asked, nr, NVME_ANSWER_MS);
	for (i = 0; i < nr; i++)
		json_array_append_new(rows, nvme_row(&asked[i]));
	if (nr)
		asked_free(asked, nr);
	free(asked);
	return rows;
}
