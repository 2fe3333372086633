// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing CPUs, and moving register sets; see cpu.h.
 *
 * A feature is in the table if a program that detected it may, on a CPU without it, execute
 * an undefined instruction or one that does something else.  Not in the table: hints that
 * are no-ops elsewhere, features that only kernels use, and features of every x86-64.
 * A node may have more features than the image's CPU.
 */
#include "engine/core/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LEGACY_AREA	512	/* x87 and SSE */
#define HEADER_SIZE	64
#define XF_UP_TO_AVX	7ULL	/* x87, SSE, AVX: they lie at the same place in all CPUs */

struct feature {
	uint8_t word;		/* enum ckpt_cpu_word */
	uint8_t bit;
	const char *name;	/* as in /proc/cpuinfo */
};

static const struct feature features[] = {
	{ CKPT_CPU_1_ECX, 0, "sse3" }, { CKPT_CPU_1_ECX, 1, "pclmulqdq" },
	{ CKPT_CPU_1_ECX, 9, "ssse3" }, { CKPT_CPU_1_ECX, 12, "fma" },
	{ CKPT_CPU_1_ECX, 13, "cx16" }, { CKPT_CPU_1_ECX, 19, "sse4_1" },
	{ CKPT_CPU_1_ECX, 20, "sse4_2" }, { CKPT_CPU_1_ECX, 22, "movbe" },
	{ CKPT_CPU_1_ECX, 23, "popcnt" }, { CKPT_CPU_1_ECX, 25, "aes" },
	{ CKPT_CPU_1_ECX, 26, "xsave" }, { CKPT_CPU_1_ECX, 28, "avx" },
	{ CKPT_CPU_1_ECX, 29, "f16c" }, { CKPT_CPU_1_ECX, 30, "rdrand" },
	{ CKPT_CPU_7_EBX, 0, "fsgsbase" }, { CKPT_CPU_7_EBX, 3, "bmi1" },
	{ CKPT_CPU_7_EBX, 5, "avx2" }, { CKPT_CPU_7_EBX, 8, "bmi2" },
	{ CKPT_CPU_7_EBX, 11, "rtm" }, { CKPT_CPU_7_EBX, 16, "avx512f" },
	{ CKPT_CPU_7_EBX, 17, "avx512dq" }, { CKPT_CPU_7_EBX, 18, "rdseed" },
	{ CKPT_CPU_7_EBX, 19, "adx" }, { CKPT_CPU_7_EBX, 21, "avx512ifma" },
	{ CKPT_CPU_7_EBX, 23, "clflushopt" }, { CKPT_CPU_7_EBX, 24, "clwb" },
	{ CKPT_CPU_7_EBX, 26, "avx512pf" }, { CKPT_CPU_7_EBX, 27, "avx512er" },
	{ CKPT_CPU_7_EBX, 28, "avx512cd" }, { CKPT_CPU_7_EBX, 29, "sha_ni" },
	{ CKPT_CPU_7_EBX, 30, "avx512bw" }, { CKPT_CPU_7_EBX, 31, "avx512vl" },
	{ CKPT_CPU_7_ECX, 1, "avx512vbmi" }, { CKPT_CPU_7_ECX, 4, "ospke" },
	{ CKPT_CPU_7_ECX, 5, "waitpkg" }, { CKPT_CPU_7_ECX, 6, "avx512_vbmi2" },
	{ CKPT_CPU_7_ECX, 8, "gfni" }, { CKPT_CPU_7_ECX, 9, "vaes" },
	{ CKPT_CPU_7_ECX, 10, "vpclmulqdq" }, { CKPT_CPU_7_ECX, 11, "avx512_vnni" },
	{ CKPT_CPU_7_ECX, 12, "avx512_bitalg" }, { CKPT_CPU_7_ECX, 14, "avx512_vpopcntdq" },
	{ CKPT_CPU_7_ECX, 22, "rdpid" }, { CKPT_CPU_7_ECX, 27, "movdiri" },
	{ CKPT_CPU_7_ECX, 28, "movdir64b" },
	{ CKPT_CPU_7_EDX, 2, "avx512_4vnniw" }, { CKPT_CPU_7_EDX, 3, "avx512_4fmaps" },
	{ CKPT_CPU_7_EDX, 8, "avx512_vp2intersect" }, { CKPT_CPU_7_EDX, 14, "serialize" },
	{ CKPT_CPU_7_EDX, 16, "tsxldtrk" }, { CKPT_CPU_7_EDX, 23, "avx512_fp16" },
	{ CKPT_CPU_7_1_EAX, 0, "sha512" }, { CKPT_CPU_7_1_EAX, 1, "sm3" },
	{ CKPT_CPU_7_1_EAX, 2, "sm4" }, { CKPT_CPU_7_1_EAX, 4, "avx_vnni" },
	{ CKPT_CPU_7_1_EAX, 5, "avx512_bf16" }, { CKPT_CPU_7_1_EAX, 7, "cmpccxadd" },
	{ CKPT_CPU_7_1_EAX, 23, "avx_ifma" },
	{ CKPT_CPU_D_1_EAX, 0, "xsaveopt" }, { CKPT_CPU_D_1_EAX, 1, "xsavec" },
	{ CKPT_CPU_D_1_EAX, 2, "xgetbv1" },
	{ CKPT_CPU_80000001_EDX, 22, "mmxext" }, { CKPT_CPU_80000001_EDX, 27, "rdtscp" },
	{ CKPT_CPU_80000001_EDX, 30, "3dnowext" }, { CKPT_CPU_80000001_EDX, 31, "3dnow" },
	{ CKPT_CPU_80000001_ECX, 0, "lahf_lm" }, { CKPT_CPU_80000001_ECX, 5, "abm" },
	{ CKPT_CPU_80000001_ECX, 6, "sse4a" }, { CKPT_CPU_80000001_ECX, 7, "misalignsse" },
	{ CKPT_CPU_80000001_ECX, 11, "xop" }, { CKPT_CPU_80000001_ECX, 15, "lwp" },
	{ CKPT_CPU_80000001_ECX, 16, "fma4" }, { CKPT_CPU_80000001_ECX, 21, "tbm" },
	{ CKPT_CPU_80000001_ECX, 29, "mwaitx" },
};

static const struct error_refusal refusal = { .reason = CKPT_R_CPU_FEATURES };

static bool is_known(const struct ckpt_cpu *cpu)
{
	return cpu && cpu->features[CKPT_CPU_1_EDX];
}

static void check_features(const struct ckpt_cpu *image, const struct ckpt_cpu *node,
			   struct ckpt_error *error)
{
	char names[80] = "";	/* room for "and N more" in a refusal's text */
	unsigned int more = 0;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		const struct feature *f = &features[i];
		uint32_t lost = image->features[f->word] & ~node->features[f->word];

		if (!(lost & 1U << f->bit))
			continue;
		if (more || len + 1 + strlen(f->name) >= sizeof(names))
			more++;
		else
			len += (size_t)snprintf(names + len, sizeof(names) - len, " %s", f->name);
	}
	if (more)
		error_refuse(error, &refusal, "it lacks%s, %u more", names, more);
	else if (len)
		error_refuse(error, &refusal, "it lacks%s", names);
}

/* Register sets must have equal sizes, unless one of the two CPUs does not use the set. */
static void check_sizes(const struct ckpt_rec_system *system, const struct ckpt_cpu *image,
			const struct ckpt_info *node, struct ckpt_error *error)
{
	for (unsigned int i = 2; i < CKPT_XSTATE_COMPONENTS; i++) {
		if (!(system->xfeatures & node->xfeatures & 1ULL << i) ||
		    image->xstate_size[i] == node->cpu.xstate_size[i])
			continue;
		error_refuse(error, &refusal,
			      "register set %u has %u bytes in the image, %u on this node", i,
			      image->xstate_size[i], node->cpu.xstate_size[i]);
	}
}

void cpu_check(const struct ckpt_rec_system *system, const struct ckpt_cpu *image,
	       const struct ckpt_info *node, struct ckpt_error *error)
{
	bool known = is_known(image) && is_known(&node->cpu);

	if (known)
		check_features(image, &node->cpu, error);
	if (system->xfeatures & ~node->xfeatures)
		error_refuse(error, &refusal, "register sets: image %#llx, this node %#llx",
			      (unsigned long long)system->xfeatures,
			      (unsigned long long)node->xfeatures);
	else if (known)
		check_sizes(system, image, node, error);
	else if (system->xstate_size > node->xstate_size ||
		 (system->xstate_size != node->xstate_size && system->xfeatures & ~XF_UP_TO_AVX))
		error_refuse(error, &refusal,
			      "the image does not say where its registers lie: %u bytes, "
			      "this node has %u", system->xstate_size, node->xstate_size);
}

bool cpu_moves_xstate(const struct ckpt_cpu *image, const struct ckpt_info *node, size_t size)
{
	return is_known(image) && is_known(&node->cpu) && size >= LEGACY_AREA + HEADER_SIZE &&
	       node->xstate_size >= LEGACY_AREA + HEADER_SIZE;
}

static bool lies_in(const struct ckpt_cpu *cpu, unsigned int set, size_t size)
{
	return cpu->xstate_size[set] && cpu->xstate_offset[set] >= LEGACY_AREA + HEADER_SIZE &&
	       (uint64_t)cpu->xstate_offset[set] + cpu->xstate_size[set] <= size;
}

int cpu_move_xstate(const struct ckpt_cpu *image, const struct ckpt_info *node,
		    const void *area, size_t size, void *ret)
{
	const struct ckpt_cpu *here = &node->cpu;
	uint64_t sets;

	memcpy(&sets, (const char *)area + LEGACY_AREA, sizeof(sets));
	if (sets >> CKPT_XSTATE_COMPONENTS)
		return -EINVAL;
	memcpy(ret, area, LEGACY_AREA + HEADER_SIZE);
	for (unsigned int i = 2; i < CKPT_XSTATE_COMPONENTS; i++) {
		if (!(sets & 1ULL << i))
			continue;	/* the set is in its initial state: nothing to copy */
		if (!lies_in(image, i, size) || !lies_in(here, i, node->xstate_size) ||
		    image->xstate_size[i] != here->xstate_size[i])
			return -EINVAL;
		memcpy((char *)ret + here->xstate_offset[i],
		       (const char *)area + image->xstate_offset[i], here->xstate_size[i]);
	}
	return 0;
}
