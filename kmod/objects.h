/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel objects by number: equal numbers in records mean the same object.
 *
 * A table of (kind, address) to struct ckpt_object, numbered from 1 per kind in
 * the order of first sight.  The owner's cmd_lock protects it.
 */
#ifndef _CKPT_OBJECTS_H
#define _CKPT_OBJECTS_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct ckpt_rec_mm;
struct ckpt_thread;
struct file;
struct files_struct;
struct mm_struct;
struct path;
struct sk_buff;
struct sock;
struct task_struct;

enum ckpt_object_kind {
	CKPT_OBJ_MM,
	CKPT_OBJ_FILES,
	CKPT_OBJ_FS,
	CKPT_OBJ_SIGHAND,
	CKPT_OBJ_FILE,
	CKPT_OBJ_PIPE,
	CKPT_OBJ_SOCK,
	CKPT_OBJ_ANON_ROOT,		/* struct anon_vma root: who may share pages */
	CKPT_OBJ_SYSV,			/* inode of a segment that only ranges left out map */
	CKPT_OBJ_RING,			/* inode of the ring of an asynchronous I/O context */
	CKPT_OBJ__COUNT
};

struct ckpt_object {
	struct hlist_node hash;
	const void *key, *key2;
	enum ckpt_object_kind kind;
	u32 id;
	unsigned int users;		/* tasks or descriptors of the tree that have it */
	unsigned int excluded;		/* number of excluded threads that have it */
	struct task_struct *task;	/* a task that has it; borrowed from the scan */
	union {
		struct {
			struct mm_struct *mm;		/* reference */
			struct mm_struct *snapshot;	/* reference; NULL: none */
			struct mm_struct *kept;	/* of an earlier capture: l0.h; reference */
			bool keep;			/* CKPT_IOC_L0_KEEP takes @snapshot */
			struct ckpt_thread *cloner;	/* a parked thread that has it, or NULL */
			int clone_err;
			struct ckpt_rec_mm *rec;	/* in the records of the snapshot */
			bool held; /* map of stopped threads: readable in place until dropped */
			bool in_use;			/* threads left out run in it */
			bool sysv;			/* a System V segment is attached */
			u64 base; /* token of the snapshot that clean pages refer to; 0: none */
			u64 token;			/* token of @snapshot; 0: not tracked */
		} mm;
		struct {
			struct files_struct *files;	/* reference */
		} files;
		struct {
			struct file *file;		/* reference, or NULL: path only */
			struct path *path;		/* reference, or NULL */
			u32 flags;			/* CKPT_FILE_* */
			bool emitted;			/* recorded with a descriptor */
			struct ckpt_object *pipe;	/* its pipe, or NULL */
		} file;
		struct {
			unsigned int readers, writers;	/* open descriptions in the tree */
			struct file *file;		/* borrowed from one of its files */
			bool external;
			u32 total_readers, total_writers;
		} pipe;
		struct {
			struct sock *sk;		/* reference */
			struct ckpt_object *file;	/* NULL: it waits to be accepted */
			struct ckpt_object *listener;	/* that is to accept it, or NULL */
			struct sk_buff **skbs;		/* its queue: references; kvmalloc */
			unsigned int nr_skbs;
			/* of TCP, see files_inet.c */
			struct sock *peer;		/* the other end: reference, or NULL */
			u8 *sent;			/* without acknowledgement; kvmalloc */
			u32 sent_seq, sent_len;
			u8 peer_seen;			/* enum ckpt_inet_peer */
			bool orphan;			/* closed: its peer is in the tree */
			bool connected;			/* its record says so */
		} sock;
		struct {
			const void *mm;			/* first map that has the root */
			bool shared;			/* several maps of the tree have the root */
		} anon;
		struct {
			bool owned;			/* a map of the tree has the context */
			struct task_struct *heir;	/* has a mapping from a fork; or NULL */
		} ring;
	};
};

struct ckpt_objects {
	struct hlist_head *buckets;
	struct xarray by_id[CKPT_OBJ__COUNT];
	u32 nr[CKPT_OBJ__COUNT];
};

int ckpt_objects_init(struct ckpt_objects *objs);
void ckpt_objects_free(struct ckpt_objects *objs);
/* Forget all objects, and give their references back. */
void ckpt_objects_reset(struct ckpt_objects *objs);
/*
 * Give back objects that must not be held past the thaw: files, descriptor tables, and the live
 * maps, except the maps of stopped processes that stay held.  Objects of a killed process, which
 * nobody else has any more, are given back after the thaw (ckpt_objects_thawed()): closing their
 * last file may take as long as a server does, and the tree must not wait for that.
 */
void ckpt_objects_thaw(struct ckpt_objects *objs);
void ckpt_objects_thawed(struct ckpt_objects *objs);
/* Give back snapshots and held maps. */
void ckpt_objects_drop(struct ckpt_objects *objs);

/* files_socket.c: give back the socket's references. */
void ckpt_sock_put(struct ckpt_object *obj);

struct ckpt_object *ckpt_object_find(struct ckpt_objects *objs, enum ckpt_object_kind kind,
				     const void *key, const void *key2);
/*
 * Find or add an object; *@is_new says which.  A new object holds no reference yet: the caller
 * takes it.  NULL without memory.
 */
struct ckpt_object *ckpt_object_get(struct ckpt_objects *objs, enum ckpt_object_kind kind,
				    const void *key, const void *key2, bool *is_new);
/* Find an object by its number; NULL if there is none. */
struct ckpt_object *ckpt_object_by_id(struct ckpt_objects *objs,
				      enum ckpt_object_kind kind, u32 id);

/* Visit the objects in the order of their numbers; @id is an unsigned long. */
#define ckpt_for_each_object(obj, id, objs, kind) \
	xa_for_each(&(objs)->by_id[kind], id, obj)

#endif /* _CKPT_OBJECTS_H */
