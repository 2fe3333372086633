// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keyvals and attributes, wholly in the upper half: the lower half never calls a copy or delete
 * function, and a restart finds everything in memory. Lists hang off the descriptors, newest
 * first; deletion runs in that order, which is what the standard asks of MPI_Finalize.
 *
 * A value is kept as it was given: a pointer from C, an integer from Fortran. C sees a Fortran
 * integer through a pointer to the kept integer. The lower half is asked for predefined attributes
 * once; C gets a pointer to this file's copy, not into memory that is gone after a restart.
 *
 * The lock of the keyvals' table protects the lists and their entries. It is not held while the
 * application's functions run: those may call back into this file, and wait for other threads.
 * Meanwhile a reference holds the attribute that the function was called for. A value is given to
 * the delete function once: another thread that would delete or replace it waits for that
 * function's result. The application must see to it that no other thread deletes a value while a
 * copy function looks at it.
 */
#include <sched.h>
#include <stdlib.h>

#include "mpi/calls.h"

static struct vkeyval *keyval_of(int keyval, enum vkind kind)
{
	uint32_t index = (uint32_t)keyval - KEYVAL_OURS;
	struct vkeyval *desc;

	if ((uint32_t)keyval < KEYVAL_OURS)
		return NULL;
	desc = (struct vkeyval *)vobj_at(VK_KEYVAL, index);
	return desc && desc->of == kind ? desc : NULL;
}

static int keyval_new(enum vkind kind, void *copy, void *delete, void *extra, int *keyval)
{
	struct vkeyval *desc;

	glue_load();
	desc = (struct vkeyval *)vobj_new(VK_KEYVAL, 0);
	if (!desc)
		return MPI_ERR_INTERN;
	desc->of = (uint16_t)kind;
	desc->copy = copy;
	desc->delete = delete;
	desc->extra = extra;
	*keyval = (int)(KEYVAL_OURS + desc->obj.index);
	return MPI_SUCCESS;
}

/* Free the keyval for the application; attributes that have it keep it. */
static int keyval_free(enum vkind kind, int *keyval)
{
	struct vkeyval *desc = keyval_of(*keyval, kind);
	bool again;

	if (!desc)
		return MPI_ERR_KEYVAL;
	vtable_lock(VK_KEYVAL);
	again = desc->obj.freed;
	desc->obj.freed = 1;
	vtable_unlock(VK_KEYVAL);
	/* freed again by a copy of the handle, while attributes have it: MPICH lets that pass */
	if (!again)
		vobj_put(&desc->obj);
	*keyval = MPI_KEYVAL_INVALID;
	return MPI_SUCCESS;
}

static struct vattr *attr_new(struct vobj *keyval, uint64_t value, int language)
{
	struct vattr *attr = calloc(1, sizeof(*attr));

	if (!attr)
		return NULL;
	attr->keyval = vobj_get(keyval);
	attr->value = value;
	attr->language = language;
	attr->refs = 1;
	return attr;
}

static void attr_put(struct vattr *attr)
{
	if (!attr || __atomic_sub_fetch(&attr->refs, 1, __ATOMIC_ACQ_REL))
		return;
	vobj_put(attr->keyval);
	free(attr);
}

/* Drop @list without calling the delete functions: no object had these attributes. */
static void attrs_forget(struct vattr *list)
{
	while (list) {
		struct vattr *next = list->next;

		attr_put(list);
		list = next;
	}
}

/* An array of the attributes now in @list, each referenced, NULL at the end; NULL: no memory. */
static struct vattr **attrs_of_now(struct vattr **list)
{
	struct vattr **all = NULL;
	size_t n, max = 0;

	for (;;) {
		n = 0;
		vtable_lock(VK_KEYVAL);
		for (struct vattr *a = *list; a; a = a->next)
			n++;
		if (n < max)
			break;
		vtable_unlock(VK_KEYVAL);
		free(all);
		max = n + 1;
		all = malloc(max * sizeof(struct vattr *));
		if (!all)
			return NULL;
	}
	n = 0;
	for (struct vattr *a = *list; a; a = a->next) {
		__atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
		all[n++] = a;
	}
	all[n] = NULL;
	vtable_unlock(VK_KEYVAL);
	return all;
}

static int attr_copy(const struct vattr *from, enum vkind kind, uintptr_t old,
		     struct vattr **ret_copy)
{
	struct vattr copy = { .keyval = from->keyval, .language = from->language };
	int flag = 0, rc;

	rc = abi_attr_copy((struct vkeyval *)from->keyval, kind, old, from, &copy, &flag);
	if (rc || !flag)
		return rc;
	*ret_copy = attr_new(copy.keyval, copy.value, copy.language);
	return *ret_copy ? 0 : MPI_ERR_NO_MEM;
}

int attrs_copy(struct vattr **from, enum vkind kind, uintptr_t old, struct vattr **ret_to)
{
	struct vattr *list = NULL, **tail = &list, **all;
	int rc = 0;

	if (!*from)
		return 0;
	all = attrs_of_now(from);
	if (!all)
		return MPI_ERR_NO_MEM;
	for (struct vattr **a = all; *a; a++) {
		if (!rc)
			rc = attr_copy(*a, kind, old, tail);
		if (*tail)
			tail = &(*tail)->next;
		attr_put(*a);
	}
	free(all);
	if (rc)
		attrs_forget(list);
	else
		*ret_to = list;
	return rc;
}

static struct vattr **attr_find(struct vattr **list, const struct vobj *keyval)
{
	while (*list && (*list)->keyval != keyval)
		list = &(*list)->next;
	return list;
}

/*
 * Lock and return the attribute of @keyval, or the first one if @keyval is NULL. Waits while
 * another thread runs the attribute's delete function, which decides whether it stays.
 */
static struct vattr *attr_lock(struct vattr **list, const struct vobj *keyval)
{
	for (;;) {
		struct vattr *attr;

		vtable_lock(VK_KEYVAL);
		attr = keyval ? *attr_find(list, keyval) : *list;
		if (!attr || !attr->deleter || attr->deleter == &glue_self)
			return attr;
		vtable_unlock(VK_KEYVAL);
		sched_yield();
	}
}

/*
 * Run the delete function of @attr, which attr_lock() returned; returns the function's code. The
 * lock is held again on return.
 */
static int attr_ask_delete(struct vattr *attr, enum vkind kind, uintptr_t handle)
{
	const void *outer = attr->deleter;
	int rc;

	attr->deleter = &glue_self;
	__atomic_add_fetch(&attr->refs, 1, __ATOMIC_RELAXED);
	vtable_unlock(VK_KEYVAL);
	rc = abi_attr_delete((struct vkeyval *)attr->keyval, kind, handle, attr);
	vtable_lock(VK_KEYVAL);
	attr->deleter = outer;
	return rc;
}

/* End what attr_ask_delete() began: unlink @attr if @gone, drop its reference, unlock. */
static void attr_end_delete(struct vattr **list, struct vattr *attr, bool gone)
{
	while (*list && *list != attr)
		list = &(*list)->next;
	gone = gone && *list;	/* its own delete function may have unlinked it */
	if (gone)
		*list = attr->next;
	vtable_unlock(VK_KEYVAL);
	if (gone)
		attr_put(attr);
	attr_put(attr);
}

int attrs_delete(struct vattr **list, enum vkind kind, uintptr_t handle)
{
	struct vattr *attr;
	int rc = 0;

	while (!rc && (attr = attr_lock(list, NULL))) {
		rc = attr_ask_delete(attr, kind, handle);
		attr_end_delete(list, attr, !rc);
	}
	if (!rc)
		vtable_unlock(VK_KEYVAL);
	return rc;
}

/* The error code of a call without an object, or without a keyval of the object's kind. */
static int attr_invalid(struct vattr **list, enum vkind kind)
{
	if (list)
		return MPI_ERR_KEYVAL;
	return kind == VK_COMM ? MPI_ERR_COMM : kind == VK_WIN ? MPI_ERR_WIN : MPI_ERR_TYPE;
}

static int attr_set(struct vattr **list, enum vkind kind, uintptr_t handle, int key,
		    uint64_t value, enum attr_language language)
{
	struct vkeyval *keyval = keyval_of(key, kind);
	struct vattr *attr, *made, *now, **at;
	int rc;

	if (!keyval || !list)
		return attr_invalid(list, kind);
	made = attr_new(&keyval->obj, value, language);
	if (!made)
		return MPI_ERR_NO_MEM;
	attr = attr_lock(list, &keyval->obj);
	if (!attr) {
		made->next = *list;
		*list = made;
		vtable_unlock(VK_KEYVAL);
		return MPI_SUCCESS;
	}
	rc = attr_ask_delete(attr, kind, handle);
	at = attr_find(list, &keyval->obj);
	now = *at;	/* its own delete function may have deleted it */
	if (!rc && now) {
		now->value = value;
		now->language = language;
		if (ABI_ATTR_SET_IS_NEW) {
			*at = now->next;
			now->next = *list;
			*list = now;
		}
	} else if (!rc) {
		made->next = *list;
		*list = made;
		made = NULL;
	}
	attr_end_delete(list, attr, false);
	attr_put(made);
	return rc;
}

static int attr_get(struct vattr **list, enum vkind kind, int key, void *value, int *flag,
		    enum attr_language language)
{
	struct vkeyval *keyval = keyval_of(key, kind);
	struct vattr *attr;

	if (!keyval || !list)
		return attr_invalid(list, kind);
	vtable_lock(VK_KEYVAL);
	attr = *attr_find(list, &keyval->obj);
	*flag = attr != NULL;
	if (attr && language != ATTR_C)
		*(intptr_t *)value = attr->language == ATTR_FINT ? (int)attr->value :
				     (intptr_t)attr->value;
	else if (attr)
		*(void **)value = attr->language == ATTR_C ? (void *)(uintptr_t)attr->value :
				  (void *)&attr->value;
	vtable_unlock(VK_KEYVAL);
	return MPI_SUCCESS;
}

static int attr_delete(struct vattr **list, enum vkind kind, uintptr_t handle, int key)
{
	struct vkeyval *keyval = keyval_of(key, kind);
	struct vattr *attr;
	int rc;

	if (!keyval || !list)
		return attr_invalid(list, kind);
	attr = attr_lock(list, &keyval->obj);
	if (!attr) {
		vtable_unlock(VK_KEYVAL);
		return MPI_SUCCESS;
	}
	rc = attr_ask_delete(attr, kind, handle);
	attr_end_delete(list, attr, !rc);
	return rc;
}

static struct vattr **comm_attrs(MPI_Comm comm)
{
	struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	return desc && desc->size ? &desc->attrs : NULL;
}

static struct vattr **win_attrs(MPI_Win win)
{
	struct vwin *desc = (struct vwin *)vobj_win(win);

	return desc && !desc->obj.freed ? &desc->attrs : NULL;
}

/* Predefined datatypes get a descriptor when their first attribute is set (@set). */
static struct vattr **attrs_of(MPI_Datatype dtype, bool set)
{
	static struct vattr *none;	/* stays NULL */
	struct vobj *obj = vobj_dtype(dtype);

	if (obj)
		return !obj->freed ? &((struct vdtype *)obj)->attrs : NULL;
	if (dtype == MPI_DATATYPE_NULL)
		return NULL;
	/* under the lock: two threads must not make two descriptors */
	vtable_lock(VK_KEYVAL);
	obj = vobj_find(VK_DTYPE, ABI_BITS(dtype));
	if (!obj && set) {
		obj = vobj_new(VK_DTYPE, ABI_BITS(dtype));
		if (obj)
			((struct vdtype *)obj)->predefined = true;
	}
	vtable_unlock(VK_KEYVAL);
	return obj ? &((struct vdtype *)obj)->attrs : set ? NULL : &none;
}

struct vattr **dtype_attrs(MPI_Datatype dtype)
{
	return attrs_of(dtype, false);
}

/* MPI_TAG_UB and so on: one value for all communicators, fixed but for the last error code. */
LOWER_TEXT static int comm_predefined(MPI_Comm comm, int which, int key, void *value, int *flag,
				      enum attr_language language)
{
	int *below = NULL, set = 0, rc;

	if (!__atomic_load_n(&glue.comm_attr_known[which], __ATOMIC_ACQUIRE) ||
	    key == MPI_LASTUSEDCODE) {
		GLUE_CALL(MPI_Comm_get_attr);

		rc = lower_MPI_Comm_get_attr(real_comm(MPI_COMM_WORLD), key, &below, &set);
		if (rc)
			return rc;
		glue.comm_attr_set[which] = set;
		glue.comm_attr[which] = set ? *below : 0;
		__atomic_store_n(&glue.comm_attr_known[which], true, __ATOMIC_RELEASE);
	}
	*flag = glue.comm_attr_set[which];
	if (!*flag)
		return MPI_SUCCESS;
	if (language == ATTR_C)
		*(int **)value = &glue.comm_attr[which];
	else
		*(intptr_t *)value = glue.comm_attr[which];
	return MPI_SUCCESS;
}

static int win_predefined(struct vwin *win, int key, void *value, int *flag,
			  enum attr_language language)
{
	void *c;
	intptr_t fortran;

	*flag = 1;
	if (key == MPI_WIN_BASE) {
		c = win->base;
		fortran = (intptr_t)win->base;
	} else if (key == MPI_WIN_SIZE) {
		c = &win->size;
		fortran = win->size;
	} else if (key == MPI_WIN_DISP_UNIT) {
		c = &win->disp_unit;
		fortran = win->disp_unit;
	} else if (key == MPI_WIN_CREATE_FLAVOR) {
		c = &win->flavor;
		fortran = win->flavor;
	} else {
		c = &win->model;
		fortran = win->model;
	}
	if (language == ATTR_C)
		*(void **)value = c;
	else
		*(intptr_t *)value = fortran;
	return MPI_SUCCESS;
}

int attr_comm_set(MPI_Comm comm, int key, uint64_t value, enum attr_language language)
{
	int rc = attr_set(comm_attrs(comm), VK_COMM, (uintptr_t)comm, key, value, language);

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_set_attr) : rc;
}

int attr_comm_get(MPI_Comm comm, int key, void *value, int *flag, enum attr_language language)
{
	int c_key, which = abi_comm_attr(key, &c_key), rc;

	if (which >= 0 && comm_attrs(comm))
		rc = comm_predefined(comm, which, c_key, value, flag, language);
	else
		rc = attr_get(comm_attrs(comm), VK_COMM, key, value, flag, language);
	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_get_attr) : rc;
}

int attr_dtype_set(MPI_Datatype dtype, int key, uint64_t value, enum attr_language language)
{
	struct vattr **attrs = attrs_of(dtype, keyval_of(key, VK_DTYPE) != NULL);
	int rc = attr_set(attrs, VK_DTYPE, (uintptr_t)dtype, key, value, language);

	return rc ? fail_world(rc, CALL_MPI_Type_set_attr) : rc;
}

int attr_dtype_get(MPI_Datatype dtype, int key, void *value, int *flag,
		   enum attr_language language)
{
	int rc = attr_get(dtype_attrs(dtype), VK_DTYPE, key, value, flag, language);

	return rc ? fail_world(rc, CALL_MPI_Type_get_attr) : rc;
}

int attr_win_set(MPI_Win win, int key, uint64_t value, enum attr_language language)
{
	int rc = attr_set(win_attrs(win), VK_WIN, (uintptr_t)win, key, value, language);

	return rc ? fail_win(win, rc, CALL_MPI_Win_set_attr) : rc;
}

int attr_win_get(MPI_Win win, int key, void *value, int *flag, enum attr_language language)
{
	int c_key = abi_win_attr(key), rc;

	if (c_key >= 0 && win_attrs(win))
		rc = win_predefined((struct vwin *)vobj_win(win), c_key, value, flag, language);
	else
		rc = attr_get(win_attrs(win), VK_WIN, key, value, flag, language);
	return rc ? fail_win(win, rc, CALL_MPI_Win_get_attr) : rc;
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
			    MPI_Comm_delete_attr_function *delete, int *keyval, void *extra)
{
	return keyval_new(VK_COMM, (void *)copy, (void *)delete, extra, keyval);
}
MPI_ALIAS(MPI_Comm_create_keyval);

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy,
			    MPI_Type_delete_attr_function *delete, int *keyval, void *extra)
{
	return keyval_new(VK_DTYPE, (void *)copy, (void *)delete, extra, keyval);
}
MPI_ALIAS(MPI_Type_create_keyval);

int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *delete,
			   int *keyval, void *extra)
{
	return keyval_new(VK_WIN, (void *)copy, (void *)delete, extra, keyval);
}
MPI_ALIAS(MPI_Win_create_keyval);

int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *delete, int *keyval,
		       void *extra)
{
	return keyval_new(VK_COMM, (void *)copy, (void *)delete, extra, keyval);
}
MPI_ALIAS(MPI_Keyval_create);

int PMPI_Comm_free_keyval(int *keyval)
{
	int rc = keyval_free(VK_COMM, keyval);

	return rc ? fail_world(rc, CALL_MPI_Comm_free_keyval) : rc;
}
MPI_ALIAS(MPI_Comm_free_keyval);

int PMPI_Type_free_keyval(int *keyval)
{
	int rc = keyval_free(VK_DTYPE, keyval);

	return rc ? fail_world(rc, CALL_MPI_Type_free_keyval) : rc;
}
MPI_ALIAS(MPI_Type_free_keyval);

int PMPI_Win_free_keyval(int *keyval)
{
	int rc = keyval_free(VK_WIN, keyval);

	return rc ? fail_world(rc, CALL_MPI_Win_free_keyval) : rc;
}
MPI_ALIAS(MPI_Win_free_keyval);

int PMPI_Keyval_free(int *keyval)
{
	return PMPI_Comm_free_keyval(keyval);
}
MPI_ALIAS(MPI_Keyval_free);

int PMPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
	return attr_comm_set(comm, key, (uintptr_t)value, ATTR_C);
}
MPI_ALIAS(MPI_Comm_set_attr);

int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
	return attr_comm_get(comm, key, value, flag, ATTR_C);
}
MPI_ALIAS(MPI_Comm_get_attr);

int PMPI_Comm_delete_attr(MPI_Comm comm, int key)
{
	int rc = attr_delete(comm_attrs(comm), VK_COMM, (uintptr_t)comm, key);

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_delete_attr) : rc;
}
MPI_ALIAS(MPI_Comm_delete_attr);

int PMPI_Type_set_attr(MPI_Datatype dtype, int key, void *value)
{
	return attr_dtype_set(dtype, key, (uintptr_t)value, ATTR_C);
}
MPI_ALIAS(MPI_Type_set_attr);

int PMPI_Type_get_attr(MPI_Datatype dtype, int key, void *value, int *flag)
{
	return attr_dtype_get(dtype, key, value, flag, ATTR_C);
}
MPI_ALIAS(MPI_Type_get_attr);

int PMPI_Type_delete_attr(MPI_Datatype dtype, int key)
{
	int rc = attr_delete(dtype_attrs(dtype), VK_DTYPE, (uintptr_t)dtype, key);

	return rc ? fail_world(rc, CALL_MPI_Type_delete_attr) : rc;
}
MPI_ALIAS(MPI_Type_delete_attr);

int PMPI_Win_set_attr(MPI_Win win, int key, void *value)
{
	return attr_win_set(win, key, (uintptr_t)value, ATTR_C);
}
MPI_ALIAS(MPI_Win_set_attr);

int PMPI_Win_get_attr(MPI_Win win, int key, void *value, int *flag)
{
	return attr_win_get(win, key, value, flag, ATTR_C);
}
MPI_ALIAS(MPI_Win_get_attr);

int PMPI_Win_delete_attr(MPI_Win win, int key)
{
	int rc = attr_delete(win_attrs(win), VK_WIN, (uintptr_t)win, key);

	return rc ? fail_win(win, rc, CALL_MPI_Win_delete_attr) : rc;
}
MPI_ALIAS(MPI_Win_delete_attr);

int PMPI_Attr_put(MPI_Comm comm, int key, void *value)
{
	return PMPI_Comm_set_attr(comm, key, value);
}
MPI_ALIAS(MPI_Attr_put);

int PMPI_Attr_get(MPI_Comm comm, int key, void *value, int *flag)
{
	return PMPI_Comm_get_attr(comm, key, value, flag);
}
MPI_ALIAS(MPI_Attr_get);

int PMPI_Attr_delete(MPI_Comm comm, int key)
{
	return PMPI_Comm_delete_attr(comm, key);
}
MPI_ALIAS(MPI_Attr_delete);
