// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: what the records say, held against what the child knows of
 * itself: registers, process attributes, signals, mappings, descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <grp.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

/* Freeze, collect without cloning, read the records; the tree stays frozen. */
static int collected(pid_t pid, struct recs *recs)
{
	int fd = cap_frozen(pid, NULL), err;

	err = cap_snapshot(fd, CKPT_SNAPSHOT_NO_COW, NULL);
	if (err) {
		recs_refused(fd, CKPT_R__COUNT, 0);
		tap_bail("snapshot: %s", strerror(-err));
	}
	*recs = recs_read(fd);
	return fd;
}

/* -------------------------------------------------------------- registers */

static void spin_with_registers(void *unused)
{
	(void)unused;
	asm volatile(
		"movq $0x1111111111111111, %%rbx\n\t"
		"movq $0x2222222222222222, %%r12\n\t"
		"movq $0x3333333333333333, %%r13\n\t"
		"movq $0x4444444444444444, %%r14\n\t"
		"movq $0x5555555555555555, %%r15\n\t"
		"movq $0x6666666666666666, %%rdx\n\t"
		"movq %%rbx, %%xmm0\n\t"
		"movq %%rdx, %%xmm15\n\t"
		"fldpi\n\t"
		"lock incl %0\n\t"
		"1: incq %1\n\t"
		"jmp 1b"
		: "+m" (shared->ready), "+m" (shared->n[0])
		: : "rbx", "rdx", "r12", "r13", "r14", "r15", "memory");
}

part(regs)
{
	static const unsigned char pi[10] = { 0x35, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f,
					      0xc9, 0x00, 0x40 };
	struct ckpt_rec_xstate *x;
	struct ckpt_rec_thread *t;
	struct recs recs;
	pid_t pid = spawn(spin_with_registers, NULL);
	unsigned char *area;
	int fd;

	wait_ready(1);
	fd = collected(pid, &recs);
	t = recs_thread(&recs, pid);
	x = recs_get(&recs, CKPT_REC_XSTATE, 0);
	if (!t || !x)
		tap_bail("no THREAD or XSTATE");
	tap_is(t->regs[5], 0x1111111111111111, "rbx");
	tap_is(t->regs[3], 0x2222222222222222, "r12");
	tap_is(t->regs[0], 0x5555555555555555, "r15");
	tap_is(t->regs[12], 0x6666666666666666, "rdx");
	tap_is((int)t->regs[15], -1, "it is in no system call");
	tap_ok(!(t->flags & CKPT_THREAD_IN_SYSCALL), "and the flag agrees");
	tap_ok(t->regs[21] != 0, "there is an FS base");
	area = (unsigned char *)(x + 1);
	tap_is(*(uint64_t *)(area + 160), 0x1111111111111111, "xmm0");
	tap_is(*(uint64_t *)(area + 160 + 15 * 16), 0x6666666666666666, "xmm15");
	tap_ok(!memcmp(area + 32, pi, 10), "st(0)");
	tap_ok(x->size >= 576 && *(uint64_t *)(area + 512) & 2, "an XSAVE header");
	recs_free(&recs);
	tap_ok(!advances(&shared->n[0], 50), "it stands still");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs");
	close(fd);
	reap(pid);
}

/* ---------------------------------------------------------------- process */

static char altstack[16384];
static struct { void *next; long offset; void *pending; } robust = { &robust, 0, NULL };

static void decorated(void *unused)
{
	struct itimerval it = { { 7, 0 }, { 1000, 0 } };
	struct rlimit limit = { 123, 456 };
	stack_t ss = { .ss_sp = altstack, .ss_size = sizeof(altstack) };
	cpu_set_t cpus;

	(void)unused;
	prctl(PR_SET_NAME, "decorated");
	setpgid(0, 0);
	umask(027);
	if (chdir("/proc"))
		_exit(1);
	setrlimit(RLIMIT_NOFILE, &limit);
	sigaltstack(&ss, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	nice(3);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	prctl(PR_SET_TIMERSLACK, 12345);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_set_robust_list, &robust, 24);
	if (setgroups(3, (gid_t[]){ 10, 20, 30 }) || setresgid(5, 6, 7) ||
	    setresuid(8, 9, 10))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	shared->addr[0] = (uintptr_t)sbrk(0);
	am_ready();
	for (;;)
		pause();
}

static void check_thread(const struct recs *recs, pid_t pid)
{
	struct ckpt_rec_thread *t = recs_thread(recs, pid);
	struct ckpt_rec_groups *g = recs_get(recs, CKPT_REC_GROUPS, 0);

	if (!t || !g)
		tap_bail("no THREAD or GROUPS");
	tap_is(t->host_tid, pid, "tid");
	tap_ok(!strcmp(t->comm, "decorated"), "name %s", t->comm);
	tap_ok(t->flags & CKPT_THREAD_LEADER && t->flags & CKPT_THREAD_NO_NEW_PRIVS, "flags");
	tap_ok(t->flags & CKPT_THREAD_IN_SYSCALL, "it is in a system call");
	tap_is(t->regs[15], SYS_pause, "in pause()");
	tap_is((long)t->regs[10], -514, "which restarts unless a handler runs");
	tap_is(t->sas_sp, (uintptr_t)altstack, "alternate stack");
	tap_is(t->sas_size, sizeof(altstack), "its size");
	tap_is(t->robust_list, (uintptr_t)&robust, "robust list");
	tap_ok(t->clear_child_tid != 0, "child tid address");
	tap_ok(t->rseq != 0 && t->rseq_len >= 20, "rseq is registered");
	tap_is(t->nice, 3, "nice");
	tap_is(t->timer_slack_ns, 12345, "timer slack");
	tap_is(t->cpus[0] & 3, 1, "affinity");
	tap_is(t->pdeath_signal, SIGTERM, "death signal");
	tap_ok(t->creds.uid == 8 && t->creds.euid == 9 && t->creds.suid == 10, "user ids");
	tap_ok(t->creds.gid == 5 && t->creds.egid == 6 && t->creds.sgid == 7, "group ids");
	tap_ok(t->creds.cap_effective == 0 && t->creds.cap_bounding != 0, "capabilities");
	tap_ok(g->nr == 3 && ((__u32 *)(g + 1))[2] == 30, "groups");
}

part(process)
{
	struct ckpt_rec_system *system;
	struct ckpt_rec_file *cwd;
	struct ckpt_rec_proc *p;
	struct ckpt_rec_mm *mm;
	struct recs recs;
	pid_t pid = spawn(decorated, NULL);
	uint64_t before = now_ns();
	int fd;

	wait_ready(1);
	fd = collected(pid, &recs);
	p = recs_proc(&recs, pid);
	system = recs_get(&recs, CKPT_REC_SYSTEM, 0);
	mm = recs_get(&recs, CKPT_REC_MM, 0);
	if (!p || !system || !mm || recs.buf != (char *)system)
		tap_bail("no SYSTEM, PROC or MM");
	tap_ok(system->monotonic_ns > before && system->monotonic_ns < now_ns(), "clock");
	tap_ok(system->nr_procs == 1 && system->nr_threads == 1, "one process, one thread");
	tap_ok(system->vdso_size && system->vvar_size && system->release[0], "vDSO");
	tap_ok(p->ppid == getpid() && p->pgid == pid && p->sid == getsid(0), "family");
	tap_is(p->state, CKPT_PROC_RUNNING, "running");
	tap_is(p->flags & (CKPT_PROC_ROOT | CKPT_PROC_SUBREAPER | CKPT_PROC_EXECED |
			   CKPT_PROC_SESSION_LEADER | CKPT_PROC_LEADER_DEAD),
	       CKPT_PROC_ROOT | CKPT_PROC_SUBREAPER, "flags");
	tap_is(p->exit_signal, SIGCHLD, "exit signal");
	tap_is(p->umask, 027, "umask");
	tap_ok(p->limits[RLIMIT_NOFILE][0] == 123 && p->limits[RLIMIT_NOFILE][1] == 456,
	       "limits");
	tap_ok(p->itimer[0].interval_ns == 7000 * MS && p->itimer[0].value_ns > 900000 * MS &&
	       p->itimer[0].value_ns <= 1000000 * MS, "interval timer");
	tap_ok(!p->itimer[1].value_ns && !p->itimer[2].value_ns, "no other");
	cwd = recs_file(&recs, p->cwd);
	tap_ok(cwd && cwd->kind == CKPT_FILE_DIR && !strcmp((char *)(cwd + 1), "/proc"),
	       "directory");
	tap_ok(recs_file(&recs, p->root) != NULL, "root");
	tap_is(mm->brk, shared->addr[0], "brk");
	tap_ok(mm->nr_auxv >= 20 && mm->auxv[mm->nr_auxv - 2] == 0, "auxv");
	tap_ok(recs_file(&recs, mm->exe) && mm->live == 1, "executable; not cloned");
	check_thread(&recs, pid);
	recs_free(&recs);
	close(fd);
	reap(pid);
}

/* ---------------------------------------------------------------- signals */

static void on_signal(int sig) { (void)sig; }

static void signalled(void *unused)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	sigset_t set;
	union sigval value = { .sival_int = 4711 };

	(void)unused;
	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGQUIT, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGRTMIN + 3, value);
	value.sival_int = 4712;
	sigqueue(getpid(), SIGRTMIN + 3, value);
	syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 3);
	am_ready();
	for (;;)
		sigsuspend(&set);
}

part(signals)
{
	struct ckpt_rec_sigactions *sa;
	struct ckpt_rec_sigpending *p[3];
	struct ckpt_rec_thread *t;
	struct recs recs;
	pid_t pid = spawn(signalled, NULL);
	int fd;

	wait_ready(1);
	sleep_ms(50);
	fd = collected(pid, &recs);
	sa = recs_get(&recs, CKPT_REC_SIGACTIONS, 0);
	t = recs_thread(&recs, pid);
	for (int i = 0; i < 3; i++)
		p[i] = recs_get(&recs, CKPT_REC_SIGPENDING, i);
	if (!sa || !t || !p[2])
		tap_bail("no SIGACTIONS, THREAD or SIGPENDING");
	tap_is(sa->sa[SIGUSR1 - 1].handler, (uintptr_t)on_signal, "handler");
	tap_is(sa->sa[SIGUSR1 - 1].mask, 1UL << (SIGUSR2 - 1), "its mask");
	tap_ok(sa->sa[SIGUSR1 - 1].flags & SA_RESTART && sa->sa[SIGUSR1 - 1].restorer,
	       "its flags and restorer");
	tap_is(sa->sa[SIGQUIT - 1].handler, (uintptr_t)SIG_IGN, "ignored");
	tap_is(t->sigmask, 1UL << (SIGUSR2 - 1) | 1UL << (SIGRTMIN + 3 - 1),
	       "the mask the program set, in sigsuspend");
	tap_is(recs_count(&recs, CKPT_REC_SIGPENDING), 3, "three signals pend");
	tap_ok(!p[0]->shared && p[0]->signo == SIGUSR2 && p[0]->has_info, "one for the thread");
	tap_ok(p[1]->shared && p[1]->signo == (unsigned)SIGRTMIN + 3 && p[1]->has_info,
	       "one for the process");
	tap_is(((siginfo_t *)p[1]->siginfo)->si_value.sival_int, 4711, "the first first");
	tap_is(((siginfo_t *)p[2]->siginfo)->si_value.sival_int, 4712, "the second second");
	recs_free(&recs);
	close(fd);
	reap(pid);
}

/* --------------------------------------------------------------- mappings */

static void mapped(void *unused)
{
	char *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int memfd = memfd_create("capture", MFD_ALLOW_SEALING);
	long *word;

	(void)unused;
	shared->addr[0] = (uintptr_t)p;
	mprotect(p + 2 * PAGE, PAGE, PROT_NONE);
	madvise(p + 4 * PAGE, PAGE, MADV_DONTFORK);
	madvise(p + 6 * PAGE, PAGE, MADV_WIPEONFORK);
	madvise(p + 8 * PAGE, PAGE, MADV_DONTDUMP);
	madvise(p + 10 * PAGE, PAGE, MADV_RANDOM);
	mlock(p + 12 * PAGE, PAGE);
	if (ftruncate(memfd, 8 * PAGE) || fcntl(memfd, F_ADD_SEALS, F_SEAL_GROW))
		_exit(1);
	shared->addr[1] = (uintptr_t)mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
					  memfd, 2 * PAGE);
	word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*word = 99;
	shared->addr[2] = (uintptr_t)word;
	am_ready();
	for (;;)
		pause();
}

static struct ckpt_rec_vma *vma_at(const struct recs *recs, unsigned long addr)
{
	recs_for_each(rec, recs) {
		struct ckpt_rec_vma *v = (void *)rec;

		if (rec->type == CKPT_REC_VMA && v->start <= addr && addr < v->end)
			return v;
	}
	return NULL;
}

static void check_maps(const struct recs *recs, pid_t pid)
{
	char path[64], line[512], perms[8];
	unsigned long start, end, off;
	int n = 0, wrong = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		struct ckpt_rec_vma *v;

		if (sscanf(line, "%lx-%lx %4s %lx", &start, &end, perms, &off) != 4 ||
		    strstr(line, "[vsyscall]"))
			continue;
		v = recs_get(recs, CKPT_REC_VMA, n++);
		if (v && v->start == start && v->end == end &&
		    !!(v->flags & CKPT_VM_READ) == (perms[0] == 'r') &&
		    !!(v->flags & CKPT_VM_WRITE) == (perms[1] == 'w') &&
		    !!(v->flags & CKPT_VM_EXEC) == (perms[2] == 'x') &&
		    !!(v->flags & CKPT_VM_SHARED) == (perms[3] == 's'))
			continue;
		tap_note("differs: %s", line);
		wrong++;
	}
	if (f)
		fclose(f);
	tap_is(n, recs_count(recs, CKPT_REC_VMA), "as many mappings as in maps");
	tap_is(wrong, 0, "the same mappings");
}

part(vmas)
{
	static const struct { int page; __u64 flag; const char *name; } advised[] = {
		{ 4, CKPT_VM_DONTCOPY | CKPT_VM_LIVE, "DONTFORK" },
		{ 6, CKPT_VM_WIPEONFORK | CKPT_VM_LIVE, "WIPEONFORK" },
		{ 8, CKPT_VM_DONTDUMP, "DONTDUMP" }, { 10, CKPT_VM_RAND_READ, "RANDOM" },
		{ 12, CKPT_VM_LOCKED, "mlock" },
	};
	struct ckpt_rec_file *f;
	struct ckpt_rec_vma *v;
	struct recs recs;
	pid_t pid = spawn(mapped, NULL);
	int fd, vdso = 0, vvar = 0, memfd;
	struct stat st;

	wait_ready(1);
	fd = collected(pid, &recs);
	check_maps(&recs, pid);
	for (unsigned int i = 0; i < sizeof(advised) / sizeof(advised[0]); i++) {
		v = vma_at(&recs, shared->addr[0] + advised[i].page * PAGE);
		tap_ok(v && (v->flags & advised[i].flag) == advised[i].flag &&
		       v->kind == CKPT_VMA_ANON, "%s", advised[i].name);
	}
	v = vma_at(&recs, shared->addr[1]);
	f = v ? recs_file(&recs, v->file) : NULL;
	tap_ok(v && f && v->kind == CKPT_VMA_FILE_SHARED && v->pgoff == 2 &&
	       f->kind == CKPT_FILE_MEMFD, "a memfd, shared");
	tap_is(f ? f->flags : 0, CKPT_FILE_OPEN | CKPT_FILE_MAPPED | CKPT_FILE_DELETED |
	       CKPT_FILE_MAPPED_SHARED_WRITE, "open and mapped is one file");
	tap_ok(f && f->seals == F_SEAL_GROW && f->size == 8 * PAGE &&
	       strstr((char *)(f + 1), "memfd:capture"), "its seals, size, name");
	memfd = f ? cap_file_get(fd, f->id) : -1;
	tap_ok(memfd >= 0 && !fstat(memfd, &st) && st.st_ino == f->ino &&
	       fcntl(memfd, F_GETFD) == FD_CLOEXEC, "its descriptor");
	close(memfd);
	v = vma_at(&recs, shared->addr[2]);
	f = v ? recs_file(&recs, v->file) : NULL;
	tap_ok(v && f && v->kind == CKPT_VMA_SHM && f->kind == CKPT_FILE_SHM,
	       "shared anonymous memory");
	memfd = f ? cap_file_get(fd, f->id) : -1;
	if (v && memfd >= 0) {
		long got = 0;

		pread(memfd, &got, sizeof(got), v->pgoff * PAGE);
		tap_is(got, 99, "can be read through its descriptor");
	}
	close(memfd);
	recs_for_each(rec, &recs) {
		v = (void *)rec;
		vdso += rec->type == CKPT_REC_VMA && v->kind == CKPT_VMA_VDSO;
		vvar += rec->type == CKPT_REC_VMA && v->kind == CKPT_VMA_VVAR;
	}
	tap_ok(vdso == 1 && vvar >= 1, "vDSO and vvar");
	recs_free(&recs);
	close(fd);
	reap(pid);
}

/* ------------------------------------------------------------ descriptors */

static void with_files(void *unused)
{
	int p[2], q[2], fd;

	(void)unused;
	if (pipe(p) || pipe2(q, O_CLOEXEC))
		_exit(1);
	fcntl(p[1], F_SETPIPE_SZ, 131072);
	if (write(p[1], "hello, pipe", 11) != 11)
		_exit(1);
	fd = open("/tmp/capture-file", O_RDWR | O_CREAT | O_APPEND | O_TRUNC, 0640);
	if (fd < 0 || write(fd, "0123456789", 10) != 10)
		_exit(1);
	lseek(fd, 4, SEEK_SET);
	shared->addr[0] = fd;
	shared->addr[1] = dup(fd);
	shared->addr[2] = open("/tmp/capture-gone", O_RDWR | O_CREAT, 0600);
	unlink("/tmp/capture-gone");
	shared->addr[3] = open("/dev/null", O_WRONLY);
	shared->addr[4] = p[0];
	shared->addr[5] = p[1];
	shared->addr[6] = q[0];
	close(q[1]);
	shared->addr[7] = open("/tmp", O_PATH);
	shared->addr[8] = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	am_ready();
	for (;;)
		pause();
}

static struct ckpt_rec_fd *fd_of(const struct recs *recs, int fd)
{
	recs_for_each(rec, recs)
		if (rec->type == CKPT_REC_FD && ((struct ckpt_rec_fd *)rec)->fd == fd)
			return (void *)rec;
	return NULL;
}

static struct ckpt_rec_file *file_of(const struct recs *recs, int fd)
{
	struct ckpt_rec_fd *r = fd_of(recs, fd);
	struct ckpt_rec_file *f = r ? recs_file(recs, r->file) : NULL;

	if (!f)
		tap_bail("no record of descriptor %d", fd);
	return f;
}

static const char *path_of(const struct ckpt_rec_file *f)
{
	return (const char *)(f + 1);
}

static void check_pipes(const struct recs *recs)
{
	struct ckpt_rec_file *r = file_of(recs, shared->addr[4]);
	struct ckpt_rec_file *w = file_of(recs, shared->addr[5]);
	struct ckpt_rec_pipe *p = NULL;

	tap_ok(r->kind == CKPT_FILE_PIPE && w->kind == CKPT_FILE_PIPE && r->id != w->id &&
	       r->object && r->object == w->object, "both ends of a pipe");
	recs_for_each(rec, recs) if (rec->type == CKPT_REC_PIPE &&
				     ((struct ckpt_rec_pipe *)rec)->object == r->object)
		p = (void *)rec;
	tap_ok(p && p->readers == 1 && p->writers == 1 && p->tree_readers == 1 &&
	       p->tree_writers == 1 && p->ring_size == 131072, "its ends and size");
	tap_ok(p && p->data_len == 11 && !memcmp(p + 1, "hello, pipe", 11), "its data");
	tap_ok(!(r->flags & CKPT_FILE_EXTERNAL), "nobody else has it");
}

part(files)
{
	struct ckpt_rec_file *f, *g;
	struct recs recs;
	struct stat st;
	pid_t pid = spawn(with_files, NULL);
	int fd;

	wait_ready(1);
	fd = collected(pid, &recs);
	f = file_of(&recs, shared->addr[0]);
	g = file_of(&recs, shared->addr[1]);
	stat("/tmp/capture-file", &st);
	tap_ok(f == g, "a duplicate is the same file");
	tap_ok(f->kind == CKPT_FILE_REG && f->pos == 4 && f->size == 10, "position and size");
	tap_ok((f->f_flags & (O_ACCMODE | O_APPEND)) == (O_RDWR | O_APPEND), "flags");
	tap_ok(f->ino == st.st_ino && f->mode == st.st_mode && f->nlink == 1 &&
	       makedev((f->dev >> 8) & 0xfff, f->dev & 0xff) == st.st_dev, "identity");
	tap_ok(!strcmp(path_of(f), "/tmp/capture-file") &&
	       f->path_len == strlen(path_of(f)) + 1, "path %s", path_of(f));
	f = file_of(&recs, shared->addr[2]);
	tap_ok(f->flags & CKPT_FILE_DELETED && f->nlink == 0 &&
	       !strcmp(path_of(f), "/tmp/capture-gone"), "a deleted file, %s", path_of(f));
	f = file_of(&recs, shared->addr[3]);
	tap_ok(f->kind == CKPT_FILE_CHR && f->rdev == 0x103, "/dev/null");
	check_pipes(&recs);
	f = file_of(&recs, shared->addr[6]);
	tap_is(fd_of(&recs, shared->addr[6])->cloexec, 1, "close on exec");
	tap_ok(f->kind == CKPT_FILE_PIPE && !(f->flags & CKPT_FILE_EXTERNAL), "a lone end");
	tap_is(file_of(&recs, shared->addr[7])->kind, CKPT_FILE_PATH, "O_PATH");
	tap_is(file_of(&recs, shared->addr[8])->kind, CKPT_FILE_PTM, "a pty master");
	recs_free(&recs);
	close(fd);
	reap(pid);
	unlink("/tmp/capture-file");
}

/* ------------------------------------------------------------------ locks */

static void with_locks(void *unused)
{
	struct flock range = { .l_type = F_WRLCK, .l_start = 10, .l_len = 5 };
	int fd = open("/tmp/capture-locks", O_RDWR | O_CREAT, 0600);
	int other = open("/tmp/capture-locks", O_RDONLY);

	(void)unused;
	shared->addr[0] = fd;
	shared->addr[1] = other;
	if (flock(other, LOCK_SH) || fcntl(fd, F_SETLK, &range))
		_exit(1);
	range = (struct flock) { .l_type = F_RDLCK, .l_start = 100 };
	if (fcntl(other, F_OFD_SETLK, &range))
		_exit(1);
	am_ready();
	for (;;)
		pause();
}

/* The record of that kind, if it is as said; its table, if it has one. */
static bool lock_is(const struct recs *recs, __u32 kind, int fd, __u32 type, __u64 start,
		    __u64 end)
{
	const struct ckpt_rec_fd *r = fd_of(recs, fd);
	const struct ckpt_rec_lock *l;

	recs_for_each(rec, recs) {
		l = (void *)rec;
		if (rec->type == CKPT_REC_LOCK && l->kind == kind && r)
			return l->file == r->file && l->type == type && l->start == start &&
			       l->end == end &&
			       l->files_id == (kind == CKPT_LOCK_POSIX ? r->files_id : 0);
	}
	return false;
}

/* Another process's lock on the same file is not the tree's. */
part(locks)
{
	struct flock range = { .l_type = F_WRLCK, .l_start = 50, .l_len = 1 };
	unsigned int nr = 0;
	struct recs recs;
	pid_t pid = spawn(with_locks, NULL);
	int fd, mine;

	wait_ready(1);
	mine = open("/tmp/capture-locks", O_RDWR);
	tap_ok(!fcntl(mine, F_SETLK, &range) && !flock(mine, LOCK_SH), "locks of our own");
	fd = collected(pid, &recs);
	recs_for_each(rec, &recs)
		nr += rec->type == CKPT_REC_LOCK;
	tap_is(nr, 3, "all of the tree's locks, and no other");
	tap_ok(lock_is(&recs, CKPT_LOCK_FLOCK, shared->addr[1], F_RDLCK, 0, INT64_MAX), "flock");
	tap_ok(lock_is(&recs, CKPT_LOCK_OFD, shared->addr[1], F_RDLCK, 100, INT64_MAX),
	       "a lock of the description, to the end");
	tap_ok(lock_is(&recs, CKPT_LOCK_POSIX, shared->addr[0], F_WRLCK, 10, 14),
	       "a lock of the process");
	recs_free(&recs);
	close(fd);
	close(mine);
	reap(pid);
	unlink("/tmp/capture-locks");
}
