// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of launchers, as bytes; see request.h.
 *
 * Pure: no descriptor is read or written here. All lengths are checked, so that a request that
 * was cut short or is of another version is refused, and never read past its end.
 */
#include "scheduler/slurm/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MAGIC	0x31717253U	/* "Srq1" */

struct request_head {
	uint32_t length;
	uint32_t magic;
	int32_t signal;
	uint32_t words;
	uint32_t variables;
};

#define REQUEST_HEAD_REST	(sizeof(struct request_head) - sizeof(uint32_t))

/* ------------------------------------------------------------------ pack */

static size_t request_list_size(char *const *list, uint32_t *ret_count)
{
	size_t size = 0;

	for (*ret_count = 0; list && list[*ret_count]; (*ret_count)++)
		size += strlen(list[*ret_count]) + 1;
	return size;
}

static char *request_put(char *at, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(at, text, size);
	return at + size;
}

char *request_pack(const struct request *request, size_t *ret_size)
{
	struct request_head head = { .magic = REQUEST_MAGIC, .signal = request->signal };
	size_t size = sizeof(head) + strlen(request->key) + strlen(request->name) +
		      strlen(request->directory) + 3;
	char *bytes, *at;
	uint32_t i;

	size += request_list_size(request->argv, &head.words);
	size += request_list_size(request->env, &head.variables);
	bytes = size <= REQUEST_MAX ? malloc(size) : NULL;
	if (!bytes)
		return NULL;
	head.length = (uint32_t)(size - sizeof(head.length));
	memcpy(bytes, &head, sizeof(head));
	at = request_put(bytes + sizeof(head), request->key);
	at = request_put(at, request->name);
	at = request_put(at, request->directory);
	for (i = 0; i < head.words; i++)
		at = request_put(at, request->argv[i]);
	for (i = 0; i < head.variables; i++)
		at = request_put(at, request->env[i]);
	*ret_size = size;
	return bytes;
}

/* ---------------------------------------------------------------- unpack */

/* The text at *@at, and *@at after it; NULL: the bytes end before the text does. */
static char *request_take(char **at, const char *end)
{
	char *text = *at, *zero = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (zero)
		*at = zero + 1;
	return zero ? text : NULL;
}

static char **request_take_list(uint32_t count, char **at, const char *end)
{
	char **list = NULL;
	uint32_t i;

	if ((size_t)(end - *at) >= count)
		list = calloc((size_t)count + 1, sizeof(*list));
	for (i = 0; list && i < count; i++) {
		list[i] = request_take(at, end);
		if (!list[i]) {
			free(list);
			return NULL;
		}
	}
	return list;
}

int request_unpack(char *bytes, size_t size, struct request *ret)
{
	struct request request = { .storage = bytes };
	struct request_head head;
	char *at = bytes + REQUEST_HEAD_REST, *end = bytes + size;

	if (size < REQUEST_HEAD_REST) {
		free(bytes);
		return -EPROTO;
	}
	memcpy((char *)&head + sizeof(head.length), bytes, REQUEST_HEAD_REST);
	request.signal = head.signal;
	request.key = request_take(&at, end);
	request.name = request_take(&at, end);
	request.directory = request_take(&at, end);
	if (head.magic == REQUEST_MAGIC && request.key && request.name && request.directory &&
	    strlen(request.key) < REQUEST_KEY_MAX && strlen(request.name) < REQUEST_NAME_MAX) {
		request.argv = request_take_list(head.words, &at, end);
		request.env = request.argv ? request_take_list(head.variables, &at, end) : NULL;
	}
	if (request.env && at == end) {
		*ret = request;
		return 0;
	}
	request_free(&request);
	return -EPROTO;
}

void request_free(struct request *request)
{
	free(request->argv);
	free(request->env);
	free(request->storage);
	*request = (struct request) { 0 };
}
