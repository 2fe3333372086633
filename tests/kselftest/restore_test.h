/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scenarios of restore_test that live outside of restore_test.c.
 */
#ifndef RESTORE_TEST_H
#define RESTORE_TEST_H

#include <sys/types.h>

struct recs;
struct rig;

/* restore_test_mm.c */
void test_layout(void);
void test_many_vmas(void);
void test_mempolicy(void);
void test_exec_key(void);
void test_aio(void);
void test_large_vma(void);
void test_hugetlb(void);
/* More for rig_basic_mm(): one anonymous mapping at MORE; @arg: its length, unsigned long. */
void one_vma_add(struct recs *recs, void *arg);
/* restore_test_pages.c */
void test_pages(void);
void test_thp(void);
void test_share(void);
void test_share_thp(void);
/* Of the mapping at @addr; -1: none. */
long smaps_kb(pid_t pid, unsigned long addr, const char *field);
/* restore_test_beside.c */
void test_beside(void);
/* restore_test_killed.c */
void test_killed(void);
void test_robust(void);
/* restore_test_proc.c */
void test_signals(void);
void test_timers(void);
void test_fatal_signal(void);
void test_alarm(void);
void test_stopped(void);
void test_groups(void);
void test_zombie(void);
void test_tty(void);
void test_rseq(void);
/* restore_test_files.c */
void test_files(void);
void test_locks(void);
void test_mq_notify(void);
/* restore_test_rollback.c */
void test_rollback(void);
void test_rollback_lost(void);
void test_rollback_keep(void);
void test_rollback_dumped(void);
void test_rollback_library(void);

/* restore_test_l0.c */
void test_l0_refused(void);
void test_l0_rollback(void);
void test_l0_huge(void);
void test_l0_given_up(void);
/* restore_test_fuzz.c */
void test_fuzz(void);

/* Where clock_gettime() of the vDSO will be if [vvar] is mapped at @vvar; NULL if unknown. */
void *vdso_clock_gettime(unsigned long vvar, struct rig *rig);

#endif /* RESTORE_TEST_H */
