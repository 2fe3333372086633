// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of the dump engine share; see dump_fixture.h.
 *
 * Owns nothing: the kernel is fake_kernel.h's, directories and keys are image_fixture.h's.
 */
#include "tests/unit/dump_fixture.h"

#include <string.h>
#include <unistd.h>

struct ckpt_rec_file *fake_file_of(uint32_t id, uint32_t kind, const char *path, int fd,
				   uint32_t flags, uint32_t f_flags, uint64_t pos)
{
	struct ckpt_rec_file *rec = fake_file(id, kind, path, fd);

	rec->flags = flags;
	rec->f_flags = f_flags;
	rec->pos = pos;
	return rec;
}

void fake_close_files(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(fake.fds); i++)
		if (fake.fds[i])
			close(fake.fds[i]);
	fake_reset();
}

static const pid_t roots[] = { 100 };

struct dump_options dump_options_for(const struct scratch *s)
{
	static char dir[256];

	strcpy(dir, scratch_path(s, "image"));
	return (struct dump_options){
		.roots = roots,
		.nr_roots = 1,
		.dir = dir,
		.key = s->key,
		.generation = 3,
		.freeze_timeout_ms = 2000,
	};
}

void dump_ok(const struct dump_options *options, struct dump_stats *stats)
{
	struct ckpt_error error = { 0 };
	int ret = dump_tree_on(fake_open, options, stats, &error);

	if (ret)
		print_message("%d: %s\n", ret, error.text);
	assert_int_equal(ret, 0);
	assert_int_equal(fake.opened, fake.closed);
	error_done(&error);
}

void dump_fails(const struct scratch *s, const struct dump_options *options, int err,
		uint32_t reason)
{
	struct ckpt_error error = { 0 };

	assert_int_equal(dump_tree_on(fake_open, options, NULL, &error), err);
	assert_int_equal(error.err, err);
	assert_true(error.text[0]);
	if (reason) {
		assert_true(error.nr_refusals > 0);
		assert_int_equal(error.refusals[0].reason, reason);
	}
	assert_int_equal(fake.opened, fake.closed);
	assert_false(path_exists(scratch_path(s, "image")));
	assert_false(path_exists(scratch_path(s, ".tmp-image")));
	error_done(&error);
}

struct state *dump_load_state(struct image_reader *r, struct stream *s)
{
	struct state_error why = { 0 };
	struct image_record rec;
	struct state *state = NULL;

	image_state_rewind(r);
	while (image_state_next(r, &rec) == 1)
		memcpy(stream_add(s, rec.type, rec.len, NULL, 0), rec.data, rec.len);
	if (state_parse(s->buf, s->len, &state, &why))
		fail_msg("at %zu: %s", why.offset, why.text);
	return state;
}
