// SPDX-License-Identifier: GPL-2.0-only
/*
 * Describes records in words.
 *
 * The image does not interpret records; this file reads only the fields that name
 * them.  A record that is shorter than the structure it should hold (an older or a
 * broken writer's) is named by its ordinal, and its fields are not read.
 *
 * Records of the engine (0x1000 and above) are named by type and ordinal.
 */
#include <stdio.h>
#include <string.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "image/describe.h"

/* First record type of the engine: the identity of the dump (see engine.h). */
#define ENGINE_FIRST	0x1000

const char *describe_type(uint16_t type)
{
	static const char *const names[] = {
		[CKPT_REC_REFUSAL] = "REFUSAL",
		[CKPT_REC_SYSTEM] = "SYSTEM",
		[CKPT_REC_PROC] = "PROC",
		[CKPT_REC_THREAD] = "THREAD",
		[CKPT_REC_XSTATE] = "XSTATE",
		[CKPT_REC_GROUPS] = "GROUPS",
		[CKPT_REC_SIGACTIONS] = "SIGACTIONS",
		[CKPT_REC_SIGPENDING] = "SIGPENDING",
		[CKPT_REC_MM] = "MM",
		[CKPT_REC_VMA] = "VMA",
		[CKPT_REC_FD] = "FD",
		[CKPT_REC_FILE] = "FILE",
		[CKPT_REC_PIPE] = "PIPE",
		[CKPT_REC_CPU] = "CPU",
		[CKPT_REC_LOCK] = "LOCK",
		[CKPT_REC_MEMPOLICY] = "MEMPOLICY",
		[CKPT_REC_TIMER] = "TIMER",
#define NAME_OF_FILE_RECORD(name, number) [number] = #name,
		CKPT_RECS_OF_FILES(NAME_OF_FILE_RECORD)
#undef NAME_OF_FILE_RECORD
		[CKPT_REC_SOCK] = "SOCK",
		[CKPT_REC_SOCK_MSG] = "SOCK_MSG",
		[CKPT_REC_SOCK_SENT] = "SOCK_SENT",
		[CKPT_REC_SEMADJ] = "SEMADJ",
		[CKPT_REC_PKEYS] = "PKEYS",
		[CKPT_REC_AIO] = "AIO",
	};

	type &= (uint16_t)~CKPT_REC_OPTIONAL;
	return type < ARRAY_SIZE(names) ? names[type] : NULL;
}

bool describe_is_identity(uint16_t type)
{
	return type == CKPT_REC_SYSTEM || type == ENGINE_FIRST;
}

/* Get the first 32-bit word behind the header: pid or id in most records. */
static bool first_word(const struct image_record *rec, int32_t *ret_word)
{
	if (rec->len < sizeof(struct image_rec_hdr) + sizeof(*ret_word))
		return false;
	memcpy(ret_word, (const uint8_t *)rec->data + sizeof(struct image_rec_hdr),
	       sizeof(*ret_word));
	return true;
}

static bool describe_pair(const struct image_record *rec, char *text)
{
	const struct ckpt_rec_vma *vma = describe_as(rec, CKPT_REC_VMA, struct ckpt_rec_vma);
	const struct ckpt_rec_fd *fd = describe_as(rec, CKPT_REC_FD, struct ckpt_rec_fd);
	const struct ckpt_rec_pipe *pipe = describe_as(rec, CKPT_REC_PIPE, struct ckpt_rec_pipe);
	const struct ckpt_rec_lock *lock = describe_as(rec, CKPT_REC_LOCK, struct ckpt_rec_lock);
	const struct ckpt_rec_mempolicy *policy = describe_as(rec, CKPT_REC_MEMPOLICY,
							      struct ckpt_rec_mempolicy);
	const struct ckpt_rec_timer *timer =
		describe_as(rec, CKPT_REC_TIMER, struct ckpt_rec_timer);
	const struct ckpt_rec_aio *aio = describe_as(rec, CKPT_REC_AIO, struct ckpt_rec_aio);

	if (vma)
		snprintf(text, DESCRIBE_MAX, "VMA %u 0x%012llx", vma->mm_id,
			 (unsigned long long)vma->start);
	else if (fd)
		snprintf(text, DESCRIBE_MAX, "FD %u %d", fd->files_id, fd->fd);
	else if (pipe)
		snprintf(text, DESCRIBE_MAX, "PIPE %llu",
			 (unsigned long long)pipe->object);
	else if (lock)
		snprintf(text, DESCRIBE_MAX, "LOCK %d %llu", lock->file,
			 (unsigned long long)lock->start);
	else if (aio)
		snprintf(text, DESCRIBE_MAX, "AIO %u 0x%012llx", aio->mm_id,
			 (unsigned long long)aio->start);
	else if (timer)
		snprintf(text, DESCRIBE_MAX, "TIMER %d %d", timer->pid, timer->id);
	else if (policy && policy->tid)
		snprintf(text, DESCRIBE_MAX, "MEMPOLICY %d", policy->tid);
	else if (policy)
		snprintf(text, DESCRIBE_MAX, "MEMPOLICY %u 0x%012llx", policy->mm_id,
			 (unsigned long long)policy->start);
	else
		return false;
	return true;
}

void describe_record(const struct image_record *rec, uint64_t ordinal,
		     char text[DESCRIBE_MAX])
{
	const char *name = describe_type(rec->type);
	int32_t word;

	switch (rec->type) {
	case CKPT_REC_PROC:
	case CKPT_REC_THREAD:
	case CKPT_REC_XSTATE:
	case CKPT_REC_GROUPS:
	case CKPT_REC_SIGACTIONS:
	case CKPT_REC_MM:
	case CKPT_REC_PKEYS:
	case CKPT_REC_FILE:
#define CASE_OF_FILE_RECORD(name, number) case number:
	CKPT_RECS_OF_FILES(CASE_OF_FILE_RECORD)
#undef CASE_OF_FILE_RECORD
	case CKPT_REC_SOCK:
		if (first_word(rec, &word)) {
			snprintf(text, DESCRIBE_MAX, "%s %d", name, word);
			return;
		}
		break;
	default:
		if (describe_pair(rec, text))
			return;
		break;
	}
	if (name)
		snprintf(text, DESCRIBE_MAX, "%s #%llu", name,
			 (unsigned long long)ordinal);
	else
		snprintf(text, DESCRIBE_MAX, "0x%04x #%llu", rec->type,
			 (unsigned long long)ordinal);
}

json_t *describe_text(const char *bytes, size_t max)
{
	size_t len = strnlen(bytes, max);
	json_t *json = json_stringn(bytes, len);
	char *copy;
	size_t i;

	if (json)
		return json;
	/* not UTF-8: keep printable ASCII, and replace all else by '?' */
	copy = strndup(bytes, len);
	if (!copy)
		return NULL;
	for (i = 0; i < len; i++)
		if (copy[i] < 0x20 || copy[i] > 0x7e)
			copy[i] = '?';
	json = json_stringn(copy, len);
	free(copy);
	return json;
}

static void describe_forget(uint8_t *data, uint32_t len, size_t offset)
{
	if (offset + sizeof(uint32_t) <= len)
		memset(data + offset, 0, sizeof(uint32_t));
}

void describe_forget_host(uint16_t type, uint8_t *data, uint32_t len)
{
	switch (type) {
	case CKPT_REC_PROC:
		describe_forget(data, len, offsetof(struct ckpt_rec_proc, host_pid));
		break;
	case CKPT_REC_THREAD:
		describe_forget(data, len, offsetof(struct ckpt_rec_thread, host_tid));
		break;
	case CKPT_REC_MM:
		describe_forget(data, len, offsetof(struct ckpt_rec_mm, host_pid));
		break;
	case CKPT_REC_FILE:
		describe_forget(data, len, offsetof(struct ckpt_rec_file, pid));
		break;
	default:
		break;
	}
}
