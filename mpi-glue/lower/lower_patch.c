// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces system call instructions of the lower half by jumps to lower_syscall_entry().
 * Hook code: see lower_internal.h.
 *
 * A site is an instruction of five bytes (mostly "mov $nr,%eax") and the "syscall"
 * after it: seven bytes, enough for a jump to a stub that executes the first,
 * calls lower_syscall_entry() and jumps back behind the second. The jump may not be
 * a call, as functions without a frame keep data below the stack pointer.
 *
 * Files are known by name. Each site has to be found as often as the tables say, and
 * the code after it has to test for an error as glibc does; a file that differs is
 * refused as a whole. Text is patched as it is mapped, before anybody can execute it;
 * each file has a page of stubs of its own.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

#define SITES_MAX	96
#define MANY		48
#define STUB_SIZE	32
#define SYSCALL_LEN	2

/**
 * struct site - a pattern of instructions to patch
 * @what:  name of the system call
 * @bytes: the instruction before "syscall"
 * @len:   length of that instruction; 3 or 5, so that a jump fits
 * @before: a byte that may not precede @bytes, as it would make another instruction
 * @tested: "cmp $-4096,%rax" or "cmp $-4095,%rax" follows
 * @least, @most: limits of the number of such sites in the file
 */
struct site {
	const char *what;
	uint8_t bytes[5];
	uint8_t len;
	uint8_t before;
	bool tested;
	uint8_t least;
	uint8_t most;
};

/* "mov $nr,%eax"; 0x41 before it would make it %r8d */
#define MOV(name, nr, tested, least, most) \
	{ name, { 0xb8, (nr) & 0xff, (nr) >> 8 & 0xff, 0, 0 }, 5, 0x41, tested, least, most }

static const struct site sites_ld[] = {
	MOV("mmap", SYS_mmap, true, 1, 1),
	MOV("brk", SYS_brk, false, 1, 1),
};

static const struct site sites_libc[] = {
	MOV("mmap", SYS_mmap, true, 1, 1),
	MOV("brk", SYS_brk, false, 1, 1),
	MOV("mremap", SYS_mremap, true, 1, 1),
	MOV("shmat", SYS_shmat, true, 1, 1),
	MOV("rt_sigaction", SYS_rt_sigaction, true, 1, 1),
	MOV("sigaltstack", SYS_sigaltstack, true, 1, 1),
	/* syscall(): "mov 8(%rsp),%r9" */
	{ "syscall", { 0x4c, 0x8b, 0x4c, 0x24, 0x08 }, 5, 0, true, 1, 1 },
	/* calls that make descriptors and calls that close them */
	MOV("openat", SYS_openat, false, 1, MANY),
	MOV("openat2", SYS_openat2, false, 0, MANY),
	/* open64(): "mov $AT_FDCWD,%edi" */
	{ "openat", { 0xbf, 0x9c, 0xff, 0xff, 0xff }, 5, 0x41, true, 0, MANY },
	MOV("socket", SYS_socket, false, 1, MANY),
	MOV("socketpair", SYS_socketpair, false, 1, MANY),
	MOV("accept", SYS_accept, false, 1, MANY),
	MOV("accept4", SYS_accept4, false, 1, MANY),
	MOV("recvmsg", SYS_recvmsg, false, 1, MANY),
	MOV("pipe", SYS_pipe, false, 0, MANY),
	MOV("pipe2", SYS_pipe2, false, 1, MANY),
	MOV("dup", SYS_dup, false, 1, MANY),
	MOV("dup2", SYS_dup2, false, 1, MANY),
	MOV("dup3", SYS_dup3, false, 1, MANY),
	MOV("fcntl", SYS_fcntl, false, 1, MANY),
	MOV("epoll_create", SYS_epoll_create, false, 0, MANY),
	MOV("epoll_create1", SYS_epoll_create1, false, 1, MANY),
	MOV("eventfd", SYS_eventfd2, false, 1, MANY),
	/* signalfd(): "mov $8,%edx" */
	{ "signalfd", { 0xba, 0x08, 0x00, 0x00, 0x00 }, 5, 0x41, true, 0, MANY },
	MOV("timerfd_create", SYS_timerfd_create, false, 1, MANY),
	MOV("inotify_init", SYS_inotify_init, false, 0, MANY),
	MOV("inotify_init1", SYS_inotify_init1, false, 1, MANY),
	MOV("memfd_create", SYS_memfd_create, false, 1, MANY),
	MOV("open_by_handle_at", SYS_open_by_handle_at, false, 0, MANY),
	MOV("pidfd_open", SYS_pidfd_open, false, 0, MANY),
	MOV("pidfd_getfd", SYS_pidfd_getfd, false, 0, MANY),
	MOV("close", SYS_close, false, 1, MANY),
	/* if_indextoname(): "mov -0x60(%rbp),%edi" */
	{ "close", { 0x8b, 0x7d, 0xa0 }, 3, 0x44, false, 0, MANY },
	MOV("close_range", SYS_close_range, false, 0, MANY),
};

/* UCX moves the break by itself */
static const struct site sites_ucm[] = { MOV("brk", SYS_brk, false, 0, MANY) };
static const struct site sites_uring[] = { MOV("mmap", SYS_mmap, false, 0, MANY) };

struct file {
	const char *name;	/* what the file's name starts with */
	const struct site *sites;
	unsigned int nr;
	bool strict;		/* counts matter even after the load */
};

#define FILE_OF(name, sites, strict) \
	{ name, sites, sizeof(sites) / sizeof((sites)[0]), strict }

static const struct file files[] = {
	FILE_OF("ld-linux-x86-64.so", sites_ld, true),
	FILE_OF("libc.so", sites_libc, true),
	FILE_OF("libc-2.", sites_libc, true),
	FILE_OF("libucm.so", sites_ucm, false),
	FILE_OF("liburing.so", sites_uring, false),
};

/* the last refusal, for lower_load()'s message; loads do not run side by side */
static struct lower_refusal refusal;

static bool starts_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return false;
	return true;
}

/* the entries of files[] that were patched since the load began, a bit each */
static unsigned int patched;

void lower_patch_reset(void)
{
	patched = 0;
	refusal.file = NULL;
}

bool lower_patch_done(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (patched >> i & 1 && starts_with(files[i].name, name))
			return true;
	return false;
}

bool lower_patch_libc_done(void)
{
	return lower_patch_done("libc");
}

const struct lower_refusal *lower_patch_refusal(void)
{
	return &refusal;
}

/* ---- find the file */

static const struct file *find_file(int fd)
{
	char link[32] = "/proc/self/fd/", path[1024], digits[12], *name = path, *p;
	long len, i;
	unsigned int n = fd, nr = 0, at;

	do {
		digits[nr++] = '0' + n % 10;
		n /= 10;
	} while (n);
	for (at = 14; nr; at++)
		link[at] = digits[--nr];
	link[at] = 0;
	len = lower_raw(SYS_readlink, link, path, sizeof(path) - 1);
	if (len < 0)
		return NULL;
	path[len] = 0;
	for (p = path; *p; p++)
		if (*p == '/')
			name = p + 1;
	for (i = 0; i < (long)(sizeof(files) / sizeof(files[0])); i++)
		if (starts_with(name, files[i].name))
			return &files[i];
	return NULL;
}

/* ---- find the sites */

struct found {
	uint8_t *at;		/* first byte of the site */
	const struct site *site;
};

static bool is_tested(const uint8_t *p, const uint8_t *end)
{
	return end - p >= 6 && p[0] == 0x48 && p[1] == 0x3d && p[2] <= 1 && p[3] == 0xf0 &&
	       p[4] == 0xff && p[5] == 0xff;
}

/* @p is at "syscall" */
static bool lower_patch_matches(const struct site *site, const uint8_t *start, const uint8_t *p,
				const uint8_t *end)
{
	const uint8_t *at = p - site->len;
	unsigned int i;

	if (at <= start)
		return false;
	for (i = 0; i < site->len; i++)
		if (at[i] != site->bytes[i])
			return false;
	if (site->before && at[-1] == site->before)
		return false;
	return !site->tested || is_tested(p + SYSCALL_LEN, end);
}

static unsigned int find_sites(const struct file *file, uint8_t *start, uint8_t *end,
			       struct found *found)
{
	unsigned int nr = 0, i;
	uint8_t *p;

	for (p = start; p + 1 < end; p++) {
		if (p[0] != 0x0f || p[1] != 0x05)
			continue;
		for (i = 0; i < file->nr && nr < SITES_MAX; i++) {
			if (!lower_patch_matches(&file->sites[i], start, p, end))
				continue;
			found[nr].at = p - file->sites[i].len;
			found[nr++].site = &file->sites[i];
			break;
		}
	}
	return nr;
}

static int check_counts(const struct file *file, const struct found *found, unsigned int nr)
{
	unsigned int i, k, count;

	for (i = 0; i < file->nr; i++) {
		count = 0;
		for (k = 0; k < nr; k++)
			count += found[k].site == &file->sites[i];
		if (count >= file->sites[i].least && count <= file->sites[i].most)
			continue;
		refusal.file = file->name;
		refusal.what = file->sites[i].what;
		refusal.found = count;
		refusal.least = file->sites[i].least;
		refusal.most = file->sites[i].most;
		return -ENOTSUP;
	}
	return 0;
}

/* ---- patching */

static uint8_t *lower_patch_put(uint8_t *p, const uint8_t *bytes, unsigned int n)
{
	while (n--)
		*p++ = *bytes++;
	return p;
}

/* put a displacement to @target; the instruction must end with it */
static uint8_t *put_rel(uint8_t *p, const void *target)
{
	int32_t rel = (int32_t)((uintptr_t)target - (uintptr_t)(p + 4));

	return lower_patch_put(p, (const uint8_t *)&rel, sizeof(rel));
}

static void write_stub(uint8_t *stub, const uint8_t *hook, const struct found *f)
{
	static const uint8_t down[] = { 0x48, 0x8d, 0xa4, 0x24, 0x78, 0xff, 0xff, 0xff };
	static const uint8_t up[] = { 0x48, 0x8d, 0xa4, 0x24, 0x88, 0x00, 0x00, 0x00 };
	static const uint8_t call[] = { 0xff, 0x15 };
	static const uint8_t jump[] = { 0xe9 };
	uint8_t *p = stub, *site = f->at;
	unsigned int len = f->site->len;

	p = lower_patch_put(p, f->site->bytes, len);
	p = lower_patch_put(p, down, sizeof(down)); /* lea -0x88(%rsp),%rsp: below the red zone */
	p = lower_patch_put(p, call, sizeof(call));		/* call *hook(%rip) */
	p = put_rel(p, hook);
	p = lower_patch_put(p, up, sizeof(up));
	p = lower_patch_put(p, jump, sizeof(jump));
	put_rel(p, site + len + SYSCALL_LEN);

	*site++ = jump[0];
	site = put_rel(site, stub);
	while (site < f->at + len + SYSCALL_LEN)
		*site++ = 0x90;
}

static int write_stubs(const struct found *found, unsigned int nr)
{
	long page = lower_range_stubs();
	uint8_t *p = (uint8_t *)page;
	unsigned int i;

	if (page < 0)
		return -ENOMEM;
	*(uintptr_t *)p = (uintptr_t)lower_syscall_entry;
	for (i = 0; i < nr; i++)
		write_stub(p + STUB_SIZE * (i + 1), p, &found[i]);
	return lower_raw(SYS_mprotect, page, LOWER_PAGE, PROT_READ | PROT_EXEC);
}

int lower_patch_text(unsigned long start, size_t len, int fd)
{
	struct found found[SITES_MAX];
	const struct file *file = find_file(fd);
	unsigned int nr;
	long err;

	_Static_assert(STUB_SIZE * (SITES_MAX + 1) <= LOWER_PAGE, "stubs fill a page");
	if (!file)
		return 0;
	refusal.file = NULL;
	nr = find_sites(file, (uint8_t *)start, (uint8_t *)start + len, found);
	err = check_counts(file, found, nr);
	if (err)
		return file->strict ? err : 0;
	if (!nr)
		return 0;
	len = lower_page_up(len);
	err = lower_raw(SYS_mprotect, start, len, PROT_READ | PROT_WRITE);
	if (!err)
		err = write_stubs(found, nr);
	if (!err)
		err = lower_raw(SYS_mprotect, start, len, PROT_READ | PROT_EXEC);
	if (!err)
		patched |= 1U << (file - files);
	return err;
}
