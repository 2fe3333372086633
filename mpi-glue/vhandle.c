// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of virtual handles.
 *
 * Owns the slots: reserving, taking, giving back. Knows nothing of MPI nor of the object that a
 * slot describes (record.h), and frees memory that a slot owns only through record_drop(). A
 * table is reserved address space of its largest size: untouched pages cost neither memory nor
 * room in an image.
 *
 * A slot that was given back is taken again last in, first out. This order is right for requests
 * too: a request's slot is given back when the application's own variable has been set to null.
 * An operation's slot is taken again as late as possible, first in, first out: pending reductions
 * may still call its stub, and the library does not tell when the last one has called it.
 */
#include "mpi-glue/vhandle.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "mpi-glue/glue.h"
#include "mpi-glue/record.h"

struct shape {
	enum vkind kind;
	uint32_t stride;
	uint32_t max;
};

static const struct shape shapes[] = {
	{ VK_COMM,	sizeof(struct vcomm),		1 << 16 },
	{ VK_GROUP,	sizeof(struct vgroup),		1 << 20 },
	{ VK_DTYPE,	sizeof(struct vdtype),		1 << 20 },
	{ VK_FILE,	sizeof(struct vfile),		1 << 16 },
	{ VK_ERRH,	sizeof(struct verrh),		1 << 16 },
	{ VK_OP,	sizeof(struct vop),		OP_STUBS },
	{ VK_INFO,	sizeof(struct vinfo),		1 << 20 },
	{ VK_WIN,	sizeof(struct vwin),		1 << 16 },
	{ VK_KEYVAL,	sizeof(struct vkeyval),		1 << 16 },
	{ VK_MSG,	sizeof(struct vmsg),		1 << 16 },
	{ VK_REQ,	sizeof(struct vrequest),	1 << 22 },
};

int vhandle_init(void)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct vtable *table = &glue.table[shapes[i].kind];

		table->stride = shapes[i].stride;
		table->max = shapes[i].max;
		table->base = mmap(NULL, (size_t)table->stride * table->max,
				   PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (table->base == MAP_FAILED) {
			table->base = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * May several threads use the tables? With a page there is the glue thread, which completes
 * requests that the application freed, and some calls that only handle handles set no mark.
 */
static bool is_shared(void)
{
	return glue.multiple || glue.page;
}

static void table_lock(struct vtable *table)
{
	if (is_shared())
		glue_lock(&table->lock);
}

static void table_unlock(struct vtable *table)
{
	if (is_shared())
		glue_unlock(&table->lock);
}

void vtable_lock(enum vkind kind)
{
	table_lock(&glue.table[kind]);
}

void vtable_unlock(enum vkind kind)
{
	table_unlock(&glue.table[kind]);
}

static struct vobj *vhandle_slot(const struct vtable *table, uint32_t index)
{
	return (struct vobj *)(table->base + (size_t)index * table->stride);
}

struct vobj *vobj_new(enum vkind kind, uintptr_t real)
{
	struct vtable *table = &glue.table[kind];
	struct vobj *obj = NULL;
	uint32_t index;

	table_lock(table);
	if (table->free && (kind != VK_OP || table->top == table->max)) {
		index = table->free - 1;
		obj = vhandle_slot(table, index);
		table->free = obj->next_free;
	} else if (table->top < table->max) {
		index = table->top++;
		obj = vhandle_slot(table, index);
	}
	table_unlock(table);
	if (!obj)
		return NULL;
	memset(obj, 0, table->stride);
	obj->real = real;
	obj->self = obj;
	obj->index = index;
	obj->refs = 1;
	obj->fortran = FORTRAN_OURS + index;
	obj->kind = (uint16_t)kind;
	return obj;
}

struct vobj *vobj_get(struct vobj *obj)
{
	if (obj)
		__atomic_add_fetch(&obj->refs, 1, __ATOMIC_RELAXED);
	return obj;
}

void vobj_put(struct vobj *obj)
{
	struct vtable *table;

	if (!obj || __atomic_sub_fetch(&obj->refs, 1, __ATOMIC_ACQ_REL))
		return;
	record_drop(obj);
	table = &glue.table[obj->kind];
	table_lock(table);
	obj->real = 0;
	if (obj->kind == VK_OP && table->free) {
		obj->next_free = 0;
		vhandle_slot(table, table->last - 1)->next_free = obj->index + 1;
	} else {
		obj->next_free = table->free;
		table->free = obj->index + 1;
	}
	if (!obj->next_free)
		table->last = obj->index + 1;
	table_unlock(table);
}

void vobj_release(struct vobj *obj)
{
	if (!obj || obj->freed)
		return;
	obj->freed = 1;
	obj->real = 0;
	vobj_put(obj);
}

struct vobj *vobj_find(enum vkind kind, uintptr_t real)
{
	const struct vtable *table = &glue.table[kind];

	for (uint32_t i = table->top; i-- > 0; ) {
		struct vobj *obj = vhandle_slot(table, i);

		if (obj->refs && !obj->freed && obj->real == real)
			return obj;
	}
	return NULL;
}

struct vobj *vobj_at(enum vkind kind, uint32_t index)
{
	const struct vtable *table = &glue.table[kind];
	struct vobj *obj;

	if (index >= table->top)
		return NULL;
	obj = vhandle_slot(table, index);
	return obj->refs ? obj : NULL;
}
