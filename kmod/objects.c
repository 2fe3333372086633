// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of kernel objects that a capture has met.
 *
 * It owns the references noted in struct ckpt_object.  References end in two
 * steps, at the thaw (so that the job's files close when the job closes them)
 * and when the snapshot is dropped; numbers stay valid until the next snapshot.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/ksyms.h"
#include "objects.h"

#define CKPT_OBJECTS_BITS	12

int ckpt_objects_init(struct ckpt_objects *objs)
{
	int i;

	objs->buckets = kvcalloc(1 << CKPT_OBJECTS_BITS, sizeof(*objs->buckets),
				 GFP_KERNEL_ACCOUNT);
	for (i = 0; i < CKPT_OBJ__COUNT; i++)
		xa_init_flags(&objs->by_id[i], XA_FLAGS_ACCOUNT);
	return objs->buckets ? 0 : -ENOMEM;
}

static void ckpt_object_put_mm(struct mm_struct **mm)
{
	if (*mm)
		mmput(*mm);
	*mm = NULL;
}

static void ckpt_object_put_file(struct ckpt_object *obj)
{
	if (obj->file.file)
		fput(obj->file.file);
	obj->file.file = NULL;
	if (obj->file.path) {
		path_put(obj->file.path);
		kfree(obj->file.path);
	}
	obj->file.path = NULL;
}

void ckpt_objects_thaw(struct ckpt_objects *objs)
{
	struct ckpt_object *obj;
	unsigned long id;

	/* before the files: a message may hold the last reference to its sender */
	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_SOCK)
		ckpt_sock_put(obj);
	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_FILE)
		ckpt_object_put_file(obj);
	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_FILES)
		if (obj->files.files && atomic_add_unless(&obj->files.files->count, -1, 1))
			obj->files.files = NULL;
	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_MM)
		if (obj->mm.mm && !obj->mm.held &&
		    atomic_add_unless(&obj->mm.mm->mm_users, -1, 1))
			obj->mm.mm = NULL;
}

void ckpt_objects_thawed(struct ckpt_objects *objs)
{
	struct ckpt_object *obj;
	unsigned long id;

	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_FILES) {
		if (obj->files.files)
			ckpt_k(put_files_struct)(obj->files.files);
		obj->files.files = NULL;
	}
	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_MM)
		if (!obj->mm.held)
			ckpt_object_put_mm(&obj->mm.mm);
}

void ckpt_objects_drop(struct ckpt_objects *objs)
{
	struct ckpt_object *obj;
	unsigned long id;

	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_MM) {
		ckpt_object_put_mm(&obj->mm.mm);
		ckpt_object_put_mm(&obj->mm.snapshot);
		ckpt_object_put_mm(&obj->mm.kept);
	}
}

void ckpt_objects_reset(struct ckpt_objects *objs)
{
	struct ckpt_object *obj;
	unsigned long id;
	int i;

	ckpt_objects_thaw(objs);
	ckpt_objects_thawed(objs);
	ckpt_objects_drop(objs);
	for (i = 0; i < CKPT_OBJ__COUNT; i++) {
		ckpt_for_each_object(obj, id, objs, i) {
			hlist_del(&obj->hash);
			kfree(obj);
		}
		xa_destroy(&objs->by_id[i]);
		objs->nr[i] = 0;
	}
}

void ckpt_objects_free(struct ckpt_objects *objs)
{
	if (objs->buckets)
		ckpt_objects_reset(objs);
	kvfree(objs->buckets);
}

static struct hlist_head *ckpt_object_bucket(struct ckpt_objects *objs,
					     enum ckpt_object_kind kind,
					     const void *key, const void *key2)
{
	unsigned long value = (unsigned long)key ^ ((unsigned long)key2 << 7) ^ kind;

	return &objs->buckets[hash_long(value, CKPT_OBJECTS_BITS)];
}

struct ckpt_object *ckpt_object_find(struct ckpt_objects *objs, enum ckpt_object_kind kind,
				     const void *key, const void *key2)
{
	struct ckpt_object *obj;

	hlist_for_each_entry(obj, ckpt_object_bucket(objs, kind, key, key2), hash)
		if (obj->kind == kind && obj->key == key && obj->key2 == key2)
			return obj;
	return NULL;
}

struct ckpt_object *ckpt_object_get(struct ckpt_objects *objs, enum ckpt_object_kind kind,
				    const void *key, const void *key2, bool *is_new)
{
	struct ckpt_object *obj = ckpt_object_find(objs, kind, key, key2);

	*is_new = !obj;
	if (obj)
		return obj;
	obj = kzalloc(sizeof(*obj), GFP_KERNEL_ACCOUNT);
	if (!obj)
		return NULL;
	obj->kind = kind;
	obj->key = key;
	obj->key2 = key2;
	obj->id = objs->nr[kind] + 1;
	if (xa_err(xa_store(&objs->by_id[kind], obj->id, obj, GFP_KERNEL_ACCOUNT))) {
		kfree(obj);
		return NULL;
	}
	objs->nr[kind]++;
	hlist_add_head(&obj->hash, ckpt_object_bucket(objs, kind, key, key2));
	return obj;
}

struct ckpt_object *ckpt_object_by_id(struct ckpt_objects *objs,
				      enum ckpt_object_kind kind, u32 id)
{
	return xa_load(&objs->by_id[kind], id);
}
