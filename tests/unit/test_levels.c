// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels in a directory: what a put promises holds at every fault, every death and in
 * every wrong directory.
 *
 * Several cases are ways in which other libraries lost a checkpoint: the old one
 * removed before the new one was in place, files written where they are looked for and
 * never synced, the newest chosen by its name, nodes told apart by what several of them
 * had in common, a copy deleted while it was fetched.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "levels/marker.h"
#include "levels/posix.h"
#include "tests/unit/faulty_writer.h"
#include "tests/unit/image_fixture.h"

static const struct model_size small = {
	.mms = 2, .pages = 300, .records = 20, .blobs = 2, .incompressible = 1,
};

/* A scratch directory with an image of generation 3 and an empty level. */
struct box {
	struct scratch *s;
	struct model m;
	const char *image, *top, *back;
	struct level *l;
	struct image_error error;
};

static int try_open(struct box *b, const char *node, const char *id)
{
	struct level_posix_options o = {
		.dir = b->top, .node = node, .id = id, .key = b->s->key,
	};

	return level_posix_open(&o, &b->l, &b->error);
}

static void open_level(struct box *b)
{
	if (try_open(b, "n1", NULL))
		fail_msg("%s", b->error.text);
}

static void box_init(struct box *b, struct scratch *s)
{
	*b = (struct box){
		.s = s, .image = scratch_path(s, "image"), .top = scratch_path(s, "level"),
		.back = scratch_path(s, "back"),
	};
	model_init(&b->m, 5, &small);
	model_store(&b->m, s, b->image, 3, "job", 0);
	assert_int_equal(mkdir(b->top, 0700), 0);
	open_level(b);
}

static void box_done(struct box *b)
{
	level_close(b->l);
	model_done(&b->m);
}

static void reopen(struct box *b)
{
	level_close(b->l);
	b->l = NULL;
	open_level(b);
}

static const char *in_level(const struct box *b, const char *name)
{
	static char paths[4][256];
	static unsigned int turn;
	char *p = paths[turn++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", b->top, name);
	return p;
}

static void put(struct box *b, const char *name)
{
	if (level_put(b->l, name, b->image, NULL, &b->error))
		fail_msg("%s", b->error.text);
}

static void check_image(const struct box *b, const char *dir)
{
	struct image_error error;
	struct image_reader *r;

	if (image_open(dir, b->s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	model_compare(&b->m, r);
	image_close(r);
}

/* Bit of the middle of a file. */
static void flip(const char *dir, const char *file)
{
	char path[512];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	data = load_file(path, &len);
	data[len / 2] ^= 4;
	store_file(path, data, len);
	free(data);
}

struct listing {
	int nr, good;
	char names[8][64];
	int errs[8];
};

static int note_item(const struct level_item *item, void *arg)
{
	struct listing *ls = arg;

	assert_true(ls->nr < 8);
	snprintf(ls->names[ls->nr], sizeof(ls->names[0]), "%s", item->name);
	ls->errs[ls->nr++] = item->err;
	if (!item->err) {
		ls->good++;
		assert_string_equal(item->job, "job");
		assert_true(item->bytes > 1000000 && item->created_ns);
		assert_true(!item->text[0]);
	} else {
		assert_true(item->text[0]);
	}
	return 0;
}

static struct listing list(struct box *b)
{
	struct listing ls = {};

	assert_int_equal(level_list(b->l, note_item, &ls, &b->error), 0);
	return ls;
}

/* ------------------------------------------------------------- as it should */

static void there_and_back(void **state)
{
	struct level_space space;
	struct box b;

	box_init(&b, *state);
	put(&b, "j.gen-3");
	check_image(&b, in_level(&b, "j.gen-3"));
	assert_int_equal(list(&b).good, 1);
	assert_int_equal(level_verify(b.l, "j.gen-3", true, NULL, &b.error), 0);
	assert_int_equal(level_get(b.l, "j.gen-3", b.back, NULL, &b.error), 0);
	check_image(&b, b.back);
	assert_int_equal(level_get(b.l, "j.gen-3", b.back, NULL, &b.error), -EEXIST);
	assert_int_equal(level_space(b.l, &space, &b.error), 0);
	assert_true(space.free && space.free <= space.total);
	assert_int_equal(level_delete(b.l, "j.gen-3", &b.error), 0);
	assert_int_equal(list(&b).nr, 0);
	assert_int_equal(count_entries(b.top), 1);
	assert_int_equal(level_get(b.l, "j.gen-3", b.back, NULL, &b.error), -ENOENT);
	assert_int_equal(level_delete(b.l, "j.gen-3", &b.error), -ENOENT);
	box_done(&b);
}

/* An image without memory and carried files has neither of their files. */
static void almost_empty(void **state)
{
	static const struct model_size none = { .records = 1 };
	struct scratch *s = *state;
	struct box b;
	struct model m;

	box_init(&b, s);
	model_init(&m, 7, &none);
	model_store(&m, s, scratch_path(s, "none"), 1, "job", 1);
	assert_int_equal(level_put(b.l, "a", scratch_path(s, "none"), NULL, &b.error), 0);
	assert_false(path_exists(in_level(&b, "a/pages")));
	assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), 0);
	assert_int_equal(count_entries(b.back), 3);
	model_done(&m);
	box_done(&b);
}

static void put_again(void **state)
{
	struct scratch *s = *state;
	struct box b;

	box_init(&b, s);
	put(&b, "a");
	put(&b, "a");		/* the very image: done already */
	model_store(&b.m, s, scratch_path(s, "other"), 3, "job", 0);
	assert_int_equal(level_put(b.l, "a", scratch_path(s, "other"), NULL, &b.error), -EEXIST);
	assert_non_null(strstr(b.error.text, "another image"));
	flip(in_level(&b, "a"), "pages");
	assert_int_equal(level_put(b.l, "a", b.image, NULL, &b.error), -EEXIST);
	assert_non_null(strstr(b.error.text, "delete it first"));
	assert_int_equal(level_delete(b.l, "a", &b.error), 0);
	put(&b, "a");
	box_done(&b);
}

static void names(void **state)
{
	char name[LEVEL_NAME_MAX + 1];
	char longest[LEVEL_NAME_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	longest[LEVEL_NAME_MAX + 1] = '\0';
	assert_false(level_name_valid(longest));
	longest[LEVEL_NAME_MAX] = '\0';
	assert_true(level_name_valid(longest));
	assert_false(level_name_valid(""));
	assert_false(level_name_valid("."));
	assert_false(level_name_valid("../x"));
	assert_false(level_name_valid(".tmp-x"));
	assert_false(level_name_valid("a b"));
	assert_int_equal(level_name("12", 7, name), 0);
	assert_string_equal(name, "12.gen-7");
	assert_int_equal(level_name("a/b", 7, name), -EINVAL);
	assert_int_equal(level_name(longest, 7, name), -ENAMETOOLONG);
}

static void not_what_was_expected(void **state)
{
	struct image_expect expect = { .generation = 4 };
	struct level_options o = { .expect = &expect };
	struct image_key *other;
	struct box b;
	struct level_posix_options lo = { .node = "n1", .shared = true };

	box_init(&b, *state);
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), -ESTALE);
	expect = (struct image_expect){ .job = "else" };
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), -ESTALE);
	expect = (struct image_expect){ .id = (const uint8_t *)"thirty-two bytes of another id.." };
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), -ESTALE);
	assert_int_equal(level_put(b.l, "../a", b.image, NULL, &b.error), -EINVAL);
	assert_int_equal(level_put(b.l, "a", b.top, NULL, &b.error), -ENOENT);
	assert_int_equal(image_key_from_bytes((const uint8_t *)"another key of thirty-two bytes.",
					      &other), 0);
	lo.dir = b.top;
	lo.key = other;
	level_close(b.l);
	assert_int_equal(level_posix_open(&lo, &b.l, &b.error), 0);
	assert_int_equal(level_put(b.l, "a", b.image, NULL, &b.error), -EKEYREJECTED);
	assert_int_equal(list(&b).nr, 0);
	image_key_destroy(other);
	box_done(&b);
}

/* ------------------------------------------------------------------ faults */

struct plan {
	enum fault_kind kind;
	int left, ops;
};

static int faulty_create(const char *dir, struct image_writer **ret_writer,
			 struct image_error *error, void *arg)
{
	struct image_writer *real;
	struct plan *p = arg;
	int err = image_writer_posix_create(dir, &real, error);

	if (!err)
		*ret_writer = faulty_writer(real, p->kind, &p->left, &p->ops);
	return err;
}

/* Put or get with a fault at the @left-th operation. */
static int attempt(struct box *b, bool get, enum fault_kind kind, int left)
{
	struct plan plan = { .kind = kind, .left = left };
	struct level_writers writers = { faulty_create, &plan };
	struct level_options o = { .writers = &writers };
	int err;

	b->error.text[0] = '\0';
	err = get ? level_get(b->l, "old", b->back, &o, &b->error) :
		    level_put(b->l, "new", b->image, &o, &b->error);
	assert_true(!err || b->error.text[0]);
	return err;
}

/* The older generation stays, at every instant; nothing of the new one does. */
static void every_fault(struct box *b, bool get, enum fault_kind kind)
{
	int n, err;

	for (n = 0; ; n++) {
		err = attempt(b, get, kind, n);
		if (!err)
			break;
		assert_int_equal(err, kind == FAULT_ENOSPC ? -ENOSPC : -EIO);
		assert_int_equal(count_entries(b->top), 2);	/* marker, old */
		assert_false(path_exists(b->back));
		assert_true(n < 200);
	}
	assert_true(n >= 20);
	check_image(b, in_level(b, "old"));
	check_image(b, get ? b->back : in_level(b, "new"));
}

static void faults_of_put(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	struct box b;
	size_t i;

	box_init(&b, *state);
	put(&b, "old");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		every_fault(&b, false, kinds[i]);
		assert_int_equal(level_delete(b.l, "new", &b.error), 0);
	}
	box_done(&b);
}

static void faults_of_get(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	struct box b;
	size_t i;

	box_init(&b, *state);
	put(&b, "old");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		every_fault(&b, true, kinds[i]);
		remove_image(b.back);
	}
	box_done(&b);
}

/* The process dies at every operation of a put. */
static void dying(void **state)
{
	struct box b;
	int n, status;

	box_init(&b, *state);
	put(&b, "old");
	for (n = 0; ; n++) {
		struct listing ls;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(attempt(&b, false, FAULT_DIE, n) ? 1 : 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
		ls = list(&b);
		assert_int_equal(ls.nr, 1);
		assert_string_equal(ls.names[0], "old");
		reopen(&b);
		assert_int_equal(count_entries(b.top), 2);
		assert_true(n < 200);
	}
	check_image(&b, in_level(&b, "old"));
	check_image(&b, in_level(&b, "new"));
	box_done(&b);
}

/* Deleting died after its first step: the image is gone, and then the rest. */
static void half_deleted(void **state)
{
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	assert_int_equal(rename(in_level(&b, "a"), in_level(&b, ".rm-a")), 0);
	assert_int_equal(unlink(in_level(&b, ".rm-a/state")), 0);
	assert_int_equal(list(&b).nr, 0);
	reopen(&b);
	assert_int_equal(count_entries(b.top), 1);
	box_done(&b);
}

/* ------------------------------------------------------------------ damage */

/* A copy that went bad is never handed out, whichever byte it is. */
static void damaged_copy(void **state)
{
	static const char *const files[] = { "manifest", "state", "index", "pages", "blobs" };
	struct box b;
	size_t i;

	box_init(&b, *state);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		put(&b, "a");
		flip(in_level(&b, "a"), files[i]);
		assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), -EBADMSG);
		assert_non_null(strstr(b.error.text, files[i]));
		assert_false(path_exists(b.back));
		assert_int_equal(level_verify(b.l, "a", true, NULL, &b.error), -EBADMSG);
		assert_int_equal(level_delete(b.l, "a", &b.error), 0);
	}
	assert_int_equal(count_entries(b.s->root), 2);
	box_done(&b);
}

/* What is damaged is not spread, either. */
static void damaged_original(void **state)
{
	struct box b;

	box_init(&b, *state);
	flip(b.image, "pages");
	assert_int_equal(level_put(b.l, "a", b.image, NULL, &b.error), -EBADMSG);
	assert_non_null(strstr(b.error.text, b.image));
	assert_int_equal(count_entries(b.top), 1);
	box_done(&b);
}

/* The newest name is not the newest image. */
static void listed_by_what_they_are(void **state)
{
	struct listing ls;
	struct box b;

	box_init(&b, *state);
	put(&b, "j.gen-1");
	put(&b, "j.gen-2");
	put(&b, "j.gen-3");
	put(&b, "j.gen-4");
	assert_int_equal(truncate(in_level(&b, "j.gen-2/pages"), 5000), 0);
	assert_int_equal(unlink(in_level(&b, "j.gen-3/index")), 0);
	assert_int_equal(unlink(in_level(&b, "j.gen-4/manifest")), 0);
	assert_int_equal(mkdir(in_level(&b, "j.gen-5"), 0700), 0);
	store_file(in_level(&b, "j.gen-6"), "x", 1);
	ls = list(&b);
	assert_int_equal(ls.nr, 5);
	assert_int_equal(ls.good, 1);
	assert_string_equal(ls.names[0], "j.gen-1");
	assert_int_equal(ls.errs[1], -EBADMSG);
	assert_int_equal(ls.errs[2], -EBADMSG);
	assert_int_equal(ls.errs[3], -ENOENT);
	assert_int_equal(ls.errs[4], -ENOENT);
	box_done(&b);
}

static void only_images_are_deleted(void **state)
{
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	store_file(in_level(&b, "a/thesis.tex"), "x", 1);
	assert_int_equal(level_delete(b.l, "a", &b.error), -ENOTEMPTY);
	check_image(&b, in_level(&b, "a"));
	box_done(&b);
}

struct meddler {
	struct box *b;
	int calls, delete, put;
};

static void meddle(uint64_t done, uint64_t total, void *arg)
{
	struct meddler *m = arg;
	struct image_error error;

	m->calls++;
	m->delete = level_delete(m->b->l, "a", &error);
	m->put = level_put(m->b->l, "b", m->b->image, NULL, &error);
	assert_true(done <= total);
}

/* Nobody deletes what is fetched; two that write one name do not mix. */
static void in_use(void **state)
{
	struct meddler m = { .b = NULL };
	struct level_options o = { .progress = meddle, .arg = &m };
	struct box b;

	box_init(&b, *state);
	m.b = &b;
	put(&b, "a");
	assert_int_equal(level_get(b.l, "a", b.back, &o, &b.error), 0);
	assert_int_equal(m.delete, -EBUSY);
	assert_int_equal(m.put, 0);
	check_image(&b, b.back);
	assert_int_equal(level_delete(b.l, "b", &b.error), 0);
	assert_int_equal(level_put(b.l, "b", b.image, &o, &b.error), 0);
	assert_int_equal(m.put, -EBUSY);
	assert_int_equal(m.calls, 2);
	box_done(&b);
}

/* ------------------------------------------------------------- wrong places */

static void wrong_directories(void **state)
{
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(chmod(b.top, 0777), 0);
	assert_int_equal(try_open(&b, "n1", NULL), -EPERM);
	assert_int_equal(chmod(b.top, 0700), 0);
	assert_int_equal(try_open(&b, "no/name", NULL), -EINVAL);
	b.top = scratch_path(b.s, "nowhere");
	assert_int_equal(try_open(&b, "n1", NULL), -ENOENT);
	assert_non_null(strstr(b.error.text, "mounted"));
	assert_false(path_exists(b.top));
	b.top = scratch_path(b.s, "file");
	store_file(b.top, "x", 1);
	assert_int_equal(try_open(&b, "n1", NULL), -ENOTDIR);
	b.top = scratch_path(b.s, "level");
	if (!geteuid()) {
		assert_int_equal(chown(b.top, 1234, 1234), 0);
		assert_int_equal(try_open(&b, "n1", NULL), -EPERM);
		assert_int_equal(chown(b.top, 0, 0), 0);
	}
	open_level(&b);
	assert_int_equal(list(&b).good, 1);
	box_done(&b);
}

/* One directory given to two nodes; two daemons of one node. */
static void shared_by_mistake(void **state)
{
	struct level *first;
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	/* n1 is writing something: a sweep of n2's would remove it */
	assert_int_equal(mkdir(in_level(&b, ".tmp-b"), 0700), 0);
	first = b.l;
	b.l = NULL;
	assert_int_equal(try_open(&b, "n2", NULL), -ENOTUNIQ);
	assert_non_null(strstr(b.error.text, "'n1'"));
	assert_non_null(strstr(b.error.text, "'n2'"));
	assert_int_equal(try_open(&b, "n1", NULL), -EBUSY);
	assert_true(path_exists(in_level(&b, ".tmp-b")));
	level_close(first);
	assert_int_equal(try_open(&b, "n2", NULL), -ENOTUNIQ);
	open_level(&b);
	assert_false(path_exists(in_level(&b, ".tmp-b")));
	box_done(&b);
}

/* Many nodes that claim a new directory at the same time: it becomes one's. */
static void claimed_at_once(void **state)
{
	struct box b;
	int i, status, winners = 0;
	pid_t pids[12];

	box_init(&b, *state);
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(unlink(in_level(&b, MARKER_NAME)), 0);
	for (i = 0; i < 12; i++) {
		char node[8];

		snprintf(node, sizeof(node), "n%d", i);
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i]) {
			int err = try_open(&b, node, NULL);

			_exit(err == 0 ? 10 : err == -ENOTUNIQ ? 11 : 12);
		}
	}
	for (i = 0; i < 12; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 12);
		winners += WEXITSTATUS(status) == 10;
	}
	assert_int_equal(winners, 1);
	assert_int_equal(count_entries(b.top), 1);
	box_done(&b);
}

/* The file system is not mounted: the bare mount point is not the level. */
static void not_mounted(void **state)
{
	char id[MARKER_ID_CHARS + 1];
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	strcpy(id, level_posix_id(b.l));
	/* goes while the level is open, and another directory is in its place */
	assert_int_equal(rename(b.top, scratch_path(b.s, "unmounted")), 0);
	assert_int_equal(level_put(b.l, "b", b.image, NULL, &b.error), -ENOENT);
	assert_int_equal(mkdir(b.top, 0700), 0);
	assert_int_equal(level_put(b.l, "b", b.image, NULL, &b.error), -ESTALE);
	assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), -ESTALE);
	assert_int_equal(level_delete(b.l, "a", &b.error), -ESTALE);
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(try_open(&b, "n1", id), -ESTALE);
	assert_int_equal(count_entries(b.top), 0);
	/* somebody made a level of it meanwhile */
	open_level(&b);
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(try_open(&b, "n1", id), -ESTALE);
	remove_image(b.top);
	assert_int_equal(rename(scratch_path(b.s, "unmounted"), b.top), 0);
	assert_int_equal(try_open(&b, "n1", id), 0);
	assert_int_equal(list(&b).good, 1);
	level_close(b.l);
	b.l = NULL;
	store_file(in_level(&b, MARKER_NAME), "stillpoint level 1\nnode n1\nid 12", 32);
	assert_int_equal(try_open(&b, "n1", NULL), -EBADMSG);
	box_done(&b);
}

static void a_directory_of_many_nodes(void **state)
{
	struct level_posix_options o = { .shared = true };
	struct level *other;
	struct box b;

	box_init(&b, *state);
	level_close(b.l);
	o.dir = scratch_path(b.s, "pfs");
	o.key = b.s->key;
	o.node = "n1";
	assert_int_equal(level_posix_open(&o, &b.l, &b.error), -ENOENT);
	assert_int_equal(mkdir(o.dir, 0755), 0);
	assert_int_equal(level_posix_open(&o, &b.l, &b.error), 0);
	o.node = "n2";
	assert_int_equal(level_posix_open(&o, &other, &b.error), 0);
	put(&b, "a");
	assert_int_equal(level_get(other, "a", b.back, NULL, &b.error), -ENOENT);
	level_close(other);
	/* n2 restarts what was n1's */
	o.node = "n1";
	o.read_only = true;
	assert_int_equal(level_posix_open(&o, &other, &b.error), 0);
	assert_int_equal(level_get(other, "a", b.back, NULL, &b.error), 0);
	assert_int_equal(level_put(other, "b", b.image, NULL, &b.error), -EROFS);
	assert_int_equal(level_delete(other, "a", &b.error), -EROFS);
	level_close(other);
	o.node = "n3";
	assert_int_equal(level_posix_open(&o, &other, &b.error), -ENOENT);
	assert_int_equal(count_entries(o.dir), 2);
	box_done(&b);
}

/* In a mount namespace of its own; @bytes of room, 0: read-only. */

static int in_small_fs(struct box *b, unsigned int bytes)
{
	char size[32];
	int err;

	snprintf(size, sizeof(size), "mode=700,size=%u", bytes ? bytes : 1 << 20);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", b->top, "tmpfs", bytes ? 0 : MS_RDONLY, size))
		return 77;
	err = try_open(b, "n1", NULL);
	if (!bytes)
		return err == -EROFS ? 0 : 1;
	if (err)
		return 2;
	err = level_put(b->l, "a", b->image, NULL, &b->error);
	level_close(b->l);
	if (err != -ENOSPC || count_entries(b->top) != 1)
		return 3;
	return strstr(b->error.text, "nothing was written") ? 0 : 4;
}

static void full_or_read_only(void **state)
{
	static const unsigned int sizes[] = { 0, 1 << 20 };
	struct box b;
	size_t i;

	box_init(&b, *state);
	level_close(b.l);
	b.l = NULL;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(in_small_fs(&b, sizes[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77) {
			print_message("# mounting is not allowed here\n");
			break;
		}
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	box_done(&b);
}

/* -------------------------------------------------------------------- pace */

struct fake_time {
	uint64_t now, slept;
	int sleeps;
};

static uint64_t fake_now(void *arg)
{
	return ((struct fake_time *)arg)->now;
}

static void fake_sleep(void *arg, uint64_t ns)
{
	struct fake_time *t = arg;

	assert_true(ns <= 100000000);	/* who cancels does not wait long */
	t->now += ns;
	t->slept += ns;
	t->sleeps++;
}

static void bucket(void **state)
{
	struct level_bucket k;
	const uint64_t sec = 1000000000;

	level_bucket_init(&k, 0, 0);
	assert_int_equal(level_bucket_take(&k, 1, 1ULL << 60), 0);
	level_bucket_init(&k, 1000, 500);
	assert_int_equal(level_bucket_take(&k, sec, 500), 0);
	assert_int_equal(level_bucket_take(&k, sec, 100), sec / 10);
	assert_int_equal(level_bucket_take(&k, sec + sec / 10, 0), 0);
	/* a long rest makes one burst, not more */
	assert_int_equal(level_bucket_take(&k, 1000 * sec, 1500), sec);
	/* a clock that goes back makes nothing */
	assert_int_equal(level_bucket_take(&k, 5 * sec, 0), sec);
	assert_int_equal(level_bucket_take(&k, 6 * sec, 0), 0);
	/* slower than a byte a step: the steps add up */
	level_bucket_init(&k, 1, 1);
	assert_int_equal(level_bucket_take(&k, sec, 1), 0);
	assert_int_equal(level_bucket_take(&k, sec + sec / 2, 1), sec);
	assert_int_equal(level_bucket_take(&k, 2 * sec, 0), 0);
	/* absurd figures are no overflow */
	level_bucket_init(&k, UINT64_MAX, UINT64_MAX);
	level_bucket_take(&k, 1, UINT64_MAX);
	level_bucket_take(&k, UINT64_MAX, UINT64_MAX);
	level_bucket_init(&k, 1, 1);
	level_bucket_take(&k, 1, UINT64_MAX);
	level_bucket_take(&k, 1, UINT64_MAX);
	assert_true(level_bucket_take(&k, 1, UINT64_MAX) > 0);
}

static void limited(void **state)
{
	struct fake_time time = { .now = 77 };
	struct level_clock clock = { fake_now, fake_sleep, &time };
	struct level_bucket k;
	struct level_options o = { .bucket = &k, .clock = &clock };
	struct box b;
	uint64_t bytes;
	struct stat st;

	box_init(&b, *state);
	assert_int_equal(stat(in_level(&b, "../image/pages"), &st), 0);
	level_bucket_init(&k, 1000000, 1000);
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), 0);
	bytes = (uint64_t)st.st_size;
	/* pages are nearly all of it: bytes less the burst at a byte a µs */
	assert_true(time.slept >= (bytes - 1000) * 1000);
	assert_true(time.slept <= (bytes + 2000000) * 1000);
	assert_true(time.sleeps >= 10);
	box_done(&b);
}

struct canceller {
	int after, asked;
	uint64_t last;
};

static bool cancel(void *arg)
{
	struct canceller *c = arg;

	return c->asked++ >= c->after;
}

static void watch(uint64_t done, uint64_t total, void *arg)
{
	struct canceller *c = arg;

	assert_true(done > c->last && done <= total);
	c->last = done;
}

static void cancelled(void **state)
{
	struct canceller c = {};
	struct level_options o = { .cancelled = cancel, .progress = watch, .arg = &c };
	struct box b;
	int i, err;

	box_init(&b, *state);
	for (i = 0; ; i++) {
		c = (struct canceller){ .after = i };
		err = level_put(b.l, "a", b.image, &o, &b.error);
		if (!err)
			break;
		assert_int_equal(err, -ECANCELED);
		assert_int_equal(count_entries(b.top), 1);
		assert_true(i < 100);
	}
	assert_true(i > 0 && c.last > 1000000);
	check_image(&b, in_level(&b, "a"));
	box_done(&b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(there_and_back),
		T(almost_empty),
		T(put_again),
		T(names),
		T(not_what_was_expected),
		T(faults_of_put),
		T(faults_of_get),
		T(dying),
		T(half_deleted),
		T(damaged_copy),
		T(damaged_original),
		T(listed_by_what_they_are),
		T(only_images_are_deleted),
		T(in_use),
		T(wrong_directories),
		T(shared_by_mistake),
		T(claimed_at_once),
		T(not_mounted),
		T(a_directory_of_many_nodes),
		T(full_or_read_only),
		T(bucket),
		T(limited),
		T(cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
