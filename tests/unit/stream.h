/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record streams for tests: built record by record, of a made-up process tree.
 */
#ifndef STILLPOINT_TESTS_STREAM_H
#define STILLPOINT_TESTS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "engine/core/engine_records.h"

struct stream {
	uint64_t *buf;		/* 8-byte aligned */
	size_t len;
	size_t room;
};

/* A zeroed record of size bytes, rounded up, plus a tail; valid until the next. */
void *stream_add(struct stream *s, uint16_t type, size_t size, const void *tail,
		 size_t tail_len);
void stream_done(struct stream *s);

void stream_system(struct stream *s);
/* A running process: its PROC, one THREAD per tid from pid on, SIGACTIONS. */
struct ckpt_rec_proc stream_proc(struct stream *s, int pid, int ppid, uint32_t mm_id,
				 uint32_t files_id, unsigned int nr_threads);
void stream_zombie(struct stream *s, int pid, int ppid, int exit_code);
struct ckpt_rec_mm *stream_mm(struct stream *s, uint32_t mm_id, int pid, uint32_t nr_vmas);
void stream_vma(struct stream *s, uint32_t mm_id, uint64_t start, uint64_t end,
		uint32_t kind, uint64_t flags, int32_t file);
void stream_fd(struct stream *s, uint32_t files_id, int fd, int32_t file);
/* The record stays valid until the next is added. */
struct ckpt_rec_file *stream_file(struct stream *s, uint32_t id, uint32_t kind,
				  const char *path);
/* @files_id: of a POSIX lock's table; 0: flock */
struct ckpt_rec_lock *stream_lock(struct stream *s, int32_t file, uint32_t files_id);
struct ckpt_rec_pipe *stream_pipe(struct stream *s, uint64_t object, const char *data);

#define STREAM_CWD	1	/* file_id that every process has as cwd and root */

#endif /* STILLPOINT_TESTS_STREAM_H */
