// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs an image may be restored on, and registers moved from one maker's layout
 * to the other's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "engine/core/cpu.h"

#define XF_ZEN4		0x2e7ULL	/* x87 SSE AVX AVX-512 PKRU */
#define SETS		0x2e6ULL	/* all of them that are not in their initial state */

struct layout {
	uint32_t size;
	uint32_t offset[10];
};

static const uint32_t sizes[10] = { [2] = 256, [5] = 64, [6] = 512, [7] = 1024, [9] = 8 };
static const struct layout intel = { 2696, { [2] = 576, [5] = 1088, 1152, 1664, [9] = 2688 } };
static const struct layout amd = { 2440, { [2] = 576, [5] = 832, 896, 1408, [9] = 2432 } };

struct node {
	struct ckpt_rec_system system;
	struct ckpt_info info;	/* info.cpu is both's */
};

static struct node node_of(const struct layout *layout)
{
	struct node n = { 0 };

	n.info.xstate_size = n.system.xstate_size = layout->size;
	n.info.xfeatures = n.system.xfeatures = XF_ZEN4;
	n.info.cpu.features[CKPT_CPU_1_EDX] = 1U << 26;
	n.info.cpu.features[CKPT_CPU_7_EBX] = 1U << 5 | 1U << 8 | 1U << 9 | 1U << 16;
	n.info.cpu.features[CKPT_CPU_D_1_EAX] = 1U << 1;
	memcpy(n.info.cpu.xstate_offset, layout->offset, sizeof(layout->offset));
	memcpy(n.info.cpu.xstate_size, sizes, sizeof(sizes));
	return n;
}

/* NULL: it may be restored; else the text of the only refusal. */
static const char *check(const struct node *from, const struct ckpt_cpu *cpu,
			 const struct node *to)
{
	static char detail[sizeof(((struct error_refusal *)0)->detail)];
	struct ckpt_error error = { 0 };

	cpu_check(&from->system, cpu, &to->info, &error);
	assert_true(error.nr_refusals <= 1);
	if (!error.nr_refusals)
		return NULL;
	assert_int_equal(error.refusals[0].reason, CKPT_R_CPU_FEATURES);
	memcpy(detail, error.refusals[0].detail, sizeof(detail));
	error_done(&error);
	return detail;
}

static void test_features(void **unused)
{
	struct node from = node_of(&intel), to = node_of(&intel);
	const char *detail;

	assert_null(check(&from, &from.info.cpu, &to));
	to.info.cpu.features[CKPT_CPU_7_ECX] = ~0U;
	to.info.cpu.features[CKPT_CPU_7_EBX] &= ~(1U << 9);
	assert_null(check(&from, &from.info.cpu, &to));	/* more, and no rep movsb */
	to.info.cpu.features[CKPT_CPU_7_EBX] &= ~(1U << 5 | 1U << 8);
	to.info.cpu.features[CKPT_CPU_D_1_EAX] = 0;
	assert_string_equal(check(&from, &from.info.cpu, &to), "it lacks avx2 bmi2 xsavec");
	memset(from.info.cpu.features, 0xff, sizeof(from.info.cpu.features));
	to = node_of(&intel);
	detail = check(&from, &from.info.cpu, &to);
	assert_non_null(strstr(detail, "it lacks sse3 "));
	assert_string_equal(detail + strlen(detail) - 5, " more");
}

static void test_sets(void **unused)
{
	struct node from = node_of(&intel), to = node_of(&intel);

	to.info.xfeatures = 7;
	assert_string_equal(check(&from, &from.info.cpu, &to),
			    "register sets: image 0x2e7, this node 0x7");
	to.info.xfeatures = XF_ZEN4;
	to.info.cpu.xstate_size[6] = 1024;
	assert_string_equal(check(&from, &from.info.cpu, &to),
			    "register set 6 has 512 bytes in the image, 1024 on this node");
}

/* Other offsets are no reason to refuse if they are known, and one if they are not. */
static void test_layouts(void **unused)
{
	struct node from = node_of(&amd), to = node_of(&intel);

	assert_null(check(&from, &from.info.cpu, &to));
	assert_null(check(&to, &to.info.cpu, &from));
	assert_non_null(strstr(check(&from, NULL, &to), "does not say where"));
	assert_non_null(check(&to, NULL, &from));
	assert_null(check(&to, NULL, &to));
	memset(&to.info.cpu, 0, sizeof(to.info.cpu));	/* an older module's node */
	assert_non_null(check(&from, &from.info.cpu, &to));
	from = node_of(&intel);
	assert_null(check(&from, &from.info.cpu, &to));
	from.system.xfeatures = 7;	/* up to AVX all CPUs are alike */
	from.system.xstate_size = 832;
	assert_null(check(&from, NULL, &to));
	to.info.xstate_size = 576;
	assert_non_null(check(&from, NULL, &to));
}

static void fill(unsigned char *area, const struct layout *layout, uint64_t sets)
{
	memset(area, 0, layout->size);
	for (unsigned int i = 0; i < 512; i++)
		area[i] = (unsigned char)(i * 7);
	memcpy(area + 512, &sets, sizeof(sets));
	for (unsigned int set = 2; set < 10; set++)
		for (unsigned int i = 0; sets & 1ULL << set && i < sizes[set]; i++)
			area[layout->offset[set] + i] = (unsigned char)(set * 31 + i);
}

static void moved(const struct layout *a, const struct layout *b, uint64_t sets)
{
	unsigned char area[2696], want[2696], got[2696] = { 0 };
	struct node from = node_of(a), to = node_of(b);

	fill(area, a, sets);
	fill(want, b, sets);
	assert_true(cpu_moves_xstate(&from.info.cpu, &to.info, a->size));
	assert_int_equal(cpu_move_xstate(&from.info.cpu, &to.info, area, a->size, got), 0);
	assert_memory_equal(got, want, b->size);
}

static void test_move(void **unused)
{
	moved(&amd, &intel, SETS);
	moved(&intel, &amd, SETS);
	moved(&intel, &intel, SETS);
	moved(&amd, &intel, 0x202);
	moved(&amd, &intel, 0);
}

static void test_move_damaged(void **unused)
{
	struct node from = node_of(&amd), to = node_of(&intel);
	unsigned char area[2696], got[2696];

	fill(area, &amd, SETS);
	assert_int_equal(cpu_move_xstate(&from.info.cpu, &to.info, area, 2432, got), -EINVAL);
	area[513] |= 1;		/* set 8 has no place */
	assert_int_equal(cpu_move_xstate(&from.info.cpu, &to.info, area, 2440, got), -EINVAL);
	fill(area, &amd, SETS);
	area[519] = 0x80;
	assert_int_equal(cpu_move_xstate(&from.info.cpu, &to.info, area, 2440, got), -EINVAL);
	fill(area, &amd, SETS);
	from.info.cpu.xstate_offset[5] = 0xfffffff0;
	assert_int_equal(cpu_move_xstate(&from.info.cpu, &to.info, area, 2440, got), -EINVAL);
	assert_false(cpu_moves_xstate(NULL, &to.info, 2440));
	assert_false(cpu_moves_xstate(&from.info.cpu, &to.info, 512));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_move_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
