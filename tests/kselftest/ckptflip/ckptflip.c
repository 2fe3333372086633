// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module for tests: flips a bit of a program's memory as a broken memory chip does, so that
 * neither the program's page table nor any mark of the kernel says that the page was written.
 *
 *   echo "PID ADDRESS BIT" >/sys/module/ckptflip/parameters/flip
 *
 * PID is a number of the caller's PID namespace, ADDRESS has hexadecimal digits, BIT is 0 to 7.
 * The page must be there, and be anonymous: it is found without a fault for writing, and changed
 * through the kernel's own mapping.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

static unsigned int flips;
module_param(flips, uint, 0444);

static long ckptflip_get(struct mm_struct *mm, unsigned long addr, struct page **page)
{
#ifdef CKPTFLIP_VMAS
	return get_user_pages_remote(mm, addr, 1, 0, page, NULL, NULL);
#else
	return get_user_pages_remote(mm, addr, 1, 0, page, NULL);
#endif
}

static int ckptflip_page(struct mm_struct *mm, unsigned long addr, unsigned int bit)
{
	struct page *page;
	long got;
	u8 *data;

	mmap_read_lock(mm);
	got = ckptflip_get(mm, addr, &page);
	mmap_read_unlock(mm);
	if (got != 1)
		return got < 0 ? got : -EFAULT;
	if (!PageAnon(page)) {
		put_page(page);
		return -EINVAL;
	}
	data = kmap_local_page(page);
	data[offset_in_page(addr)] ^= 1U << bit;
	kunmap_local(data);
	put_page(page);
	flips++;
	return 0;
}

static int ckptflip_set(const char *text, const struct kernel_param *param)
{
	struct task_struct *task;
	struct mm_struct *mm;
	unsigned long addr;
	unsigned int bit;
	struct pid *pid;
	int number, err;

	if (sscanf(text, "%d %lx %u", &number, &addr, &bit) != 3 || bit > 7)
		return -EINVAL;
	pid = find_get_pid(number);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	mm = get_task_mm(task);
	put_task_struct(task);
	if (!mm)
		return -ESRCH;
	err = ckptflip_page(mm, addr, bit);
	mmput(mm);
	return err;
}

static const struct kernel_param_ops ckptflip_ops = { .set = ckptflip_set };
module_param_cb(flip, &ckptflip_ops, NULL, 0200);

MODULE_DESCRIPTION("Flipped bits in memory, for tests");
MODULE_LICENSE("GPL");
