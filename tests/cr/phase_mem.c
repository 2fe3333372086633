// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory and /proc helpers of the test programs; see phase.h.
 *
 * Patterns are a counter-mode mix of seed and position, so that a page in the
 * wrong place, a stale page and a page of zeroes all show.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return x ^ (x >> 27);
}

void cr_fill(void *p, size_t len, uint64_t seed)
{
	uint64_t *w = p;

	for (size_t i = 0; i < len / 8; i++)
		w[i] = mix(seed ^ (i << 8));
	for (size_t i = len & ~7UL; i < len; i++)
		((uint8_t *)p)[i] = (uint8_t)mix(seed ^ i);
}

void cr_check_fill(const void *p, size_t len, uint64_t seed)
{
	const uint64_t *w = p;

	for (size_t i = 0; i < len / 8; i++)
		cr_check(w[i] == mix(seed ^ (i << 8)),
			 "seed %llx: %p + %#zx holds %#llx",
			 (unsigned long long)seed, p, i * 8,
			 (unsigned long long)w[i]);
	for (size_t i = len & ~7UL; i < len; i++)
		cr_check(((const uint8_t *)p)[i] == (uint8_t)mix(seed ^ i),
			 "tail at %#zx", i);
}

void *cr_map(size_t len, int prot, int flags)
{
	void *p = mmap(NULL, len, prot, flags | MAP_ANONYMOUS, -1, 0);

	cr_check(p != MAP_FAILED, "mmap of %zu bytes: %s", len, strerror(errno));
	return p;
}

char *cr_read(const char *path, size_t *ret_len)
{
	size_t room = 4096, len = 0;
	char *buf = malloc(room + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	cr_check(fd >= 0, "%s: %s", path, strerror(errno));
	while ((n = cr_sys(read(fd, buf + len, room - len))) > 0) {
		len += (size_t)n;
		if (len == room) {
			room *= 2;
			buf = realloc(buf, room + 1);
		}
		cr_check(buf, "no memory");
	}
	close(fd);
	buf[len] = '\0';
	if (ret_len)
		*ret_len = len;
	return buf;
}

void cr_write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_check(fd >= 0, "%s: %s", path, strerror(errno));
	cr_check(write(fd, data, len) == (ssize_t)len, "%s", path);
	close(fd);
}

/* the text after "field:" in the entry that holds addr; the caller frees ret_text */
static char *smaps_field(const void *addr, const char *field, char **ret_text)
{
	char *text = cr_read("/proc/self/smaps", NULL);
	unsigned long start, end;
	bool inside = false;
	char *line, *save;

	*ret_text = text;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = (unsigned long)addr >= start &&
				 (unsigned long)addr < end;
		else if (inside && !strncmp(line, field, strlen(field)) &&
			 line[strlen(field)] == ':')
			return line + strlen(field) + 1;
	}
	return NULL;
}

long cr_smaps(const void *addr, const char *field)
{
	char *text, *value = smaps_field(addr, field, &text);
	long n = value ? strtol(value, NULL, 10) : -1;

	free(text);
	return n;
}

void cr_vmflags(const void *addr, char *buf, size_t size)
{
	char *text, *value = smaps_field(addr, "VmFlags", &text);

	cr_check(value, "no VmFlags of %p", addr);
	snprintf(buf, size, "%s", value);
	free(text);
}

uint64_t cr_pfn(const void *addr)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (pread(fd, &entry, 8, (off_t)((unsigned long)addr / 4096 * 8)) != 8)
		entry = 0;
	close(fd);
	return entry >> 63 ? entry & ((1ULL << 55) - 1) : 0;
}
