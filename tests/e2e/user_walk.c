/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of user stacks that sampler.bpf.c has, beside that of the kernel, at the same ticks of a
 * program that has stacks of every kind: deep ones, wide ones, several threads, system calls, and
 * chains of frame records that no compiler makes. Each pair must be equal, address by address, and
 * where the program knows how long its stack is, so must the walk.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user_walk_tick.h"

#include "user_walk.skel.h"

enum {
	PAGE = 4096,
	HZ = 1997,
	CASE_MS = 70, /* of CPU time */
	CASE_EMULATED_MS = 700,
	RANDOM_PAGES = 16,
	RANDOM_ROUNDS = 300,
	CASES_MAX = 64,
	SKIPPED = 77,
};

/* --- the program that is watched ------------------------------------------------------------- */

/* One thread after the other, but for those that are meant to run together; each case is known by
 * the name of its thread. */
static volatile uint64_t sink;

/* An emulated processor that does not get to run loses most of its ticks, while its CPU time goes
 * on. */
static unsigned int case_ms = CASE_MS;

static uint64_t cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void name_case(const char *name)
{
	prctl(PR_SET_NAME, name);
}

__attribute__((noinline)) static void work(unsigned int rounds)
{
	volatile uint64_t sum = 0;

	for (unsigned int i = 0; i < rounds; i++)
		sum = sum * 3 + i;
	sink += sum;
}

__attribute__((noinline)) static void work_long(void)
{
	for (uint64_t end = cpu_ms() + case_ms; cpu_ms() < end;)
		work(20000);
}

__attribute__((noinline)) static void call_kernel_long(void)
{
	static char buffer[1 << 16];
	int pipes[2];

	if (pipe(pipes))
		abort();
	for (uint64_t end = cpu_ms() + case_ms; cpu_ms() < end;) {
		if (write(pipes[1], buffer, sizeof(buffer) / 2) < 0 ||
		    read(pipes[0], buffer, sizeof(buffer)) < 0)
			abort();
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* Frames of `bytes` and a little, `depth` of them. */
__attribute__((noinline)) static void deeper(int depth, size_t bytes, void (*then)(void))
{
	volatile char room[bytes + 1];

	room[0] = room[bytes] = (char)depth;
	if (depth)
		deeper(depth - 1, bytes, then);
	else
		then();
	sink += (uint64_t)room[bytes];
}

/* Runs with that frame pointer for some ten microseconds. */
__attribute__((noinline)) static void spin_with(uint64_t fp)
{
	uint64_t rounds = 30000;

#if defined(__x86_64__)
	__asm__ volatile("mov %%rbp, %%r12\n\tmov %1, %%rbp\n1:\tdec %0\n\tjnz 1b\n\t"
			 "mov %%r12, %%rbp"
			 : "+r"(rounds)
			 : "r"(fp)
			 : "r12", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, x29\n\tmov x29, %1\n1:\tsubs %0, %0, #1\n\tb.ne 1b\n\t"
			 "mov x29, x19"
			 : "+r"(rounds)
			 : "r"(fp)
			 : "x19", "cc");
#endif
}

static void spin_long_with(uint64_t fp)
{
	for (uint64_t end = cpu_ms() + case_ms; cpu_ms() < end;)
		for (int i = 0; i < 50; i++)
			spin_with(fp);
}

static void put_record(char *at, const void *next, uint64_t address)
{
	uint64_t record[2] = {(uint64_t)(uintptr_t)next, address};

	memcpy(at, record, sizeof(record));
}

/* `pages` that can be read, all there, between two that cannot. */
static char *make_pages(size_t pages)
{
	char *p = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, pages * PAGE, PROT_READ | PROT_WRITE))
		abort();
	memset(p + PAGE, 0, pages * PAGE);
	return p + PAGE;
}

/* A chain of `count` records, `step` bytes apart; the last one's frame pointer is `last`. */
static void run_chain(const char *name, char *first, long step, int count, const void *last)
{
	name_case(name);
	for (int i = 0; i < count; i++)
		put_record(first + i * step, i == count - 1 ? last : first + (i + 1) * step,
			   0x1000 + (uint64_t)i);
	spin_long_with((uint64_t)(uintptr_t)first);
}

static void run_chains(void)
{
	char *p = make_pages(8);

	run_chain("chain=41", p, 64, 40, NULL);
	run_chain("page=41", p + PAGE - 24, 16, 40, NULL);
	run_chain("far=21", p, 1024 - 16, 20, (void *)1);
	run_chain("far-by=21", p, 1024 - 8, 20, (void *)1);
	run_chain("long=127", p, 16, 200, NULL);
	run_chain("unaligned", p + 3, 40, 40, NULL);
	run_chain("mixed=41", p, 43, 40, NULL);
	run_chain("down", p + 4 * PAGE, -48, 40, NULL);
	run_chain("itself", p, 0, 1, p);
	/* Faults: behind the last page, and where the second half of a record is missing. */
	run_chain("fault=11", p, 512, 10, p + 8 * PAGE + 64);
	run_chain("half=11", p, 512, 10, p + 8 * PAGE - 8);
	run_chain("first=1", p + 8 * PAGE - 8, 0, 0, NULL);
	name_case("across=3");
	put_record(p, p + PAGE - 8, 1);
	put_record(p + PAGE - 8, NULL, 2);
	spin_long_with((uint64_t)(uintptr_t)p);
	run_chain("kernel=6", p, 32, 5, (void *)(uintptr_t)0xffffffff81000000);
	run_chain("no-address=6", p, 32, 5, (void *)(uintptr_t)0x8000000000000000);
}

/* Words that point anywhere among pages of which some cannot be read: aligned or not, up or down,
 * into each other. */
static void run_random(void)
{
	char *p = make_pages(RANDOM_PAGES);
	uint64_t state = 88172645463325252;

	name_case("random");
	for (int page = 3; page < RANDOM_PAGES; page += 5)
		mprotect(p + (size_t)page * PAGE, PAGE, PROT_NONE);
	for (int round = 0; round < RANDOM_ROUNDS; round++) {
		const uint64_t mask = round % 3 ? ~UINT64_C(7) : ~UINT64_C(0);

		for (size_t i = 0; i < RANDOM_PAGES * PAGE / 8; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			if (i / (PAGE / 8) % 5 == 3)
				continue;
			((uint64_t *)(void *)p)[i] = (uint64_t)(uintptr_t)p +
						     ((state >> 20) % (RANDOM_PAGES * PAGE) & mask);
		}
		for (int i = 0; i < 40; i++)
			spin_with((uint64_t)(uintptr_t)p + ((state >> 30) % (2 * PAGE) & mask));
	}
}

static void *run_thread(void *arg)
{
	const int depth = *(const int *)arg;
	char name[16];

	snprintf(name, sizeof(name), "thread-%d", depth);
	name_case(name);
	deeper(depth, (size_t)depth, work_long);
	return NULL;
}

static void run_program(void)
{
	static int depths[4] = {5, 33, 90, 150};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run_thread, &depths[i]))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	name_case("deep");
	deeper(300, 0, work_long);
	name_case("medium");
	deeper(60, 200, work_long);
	name_case("wide");
	deeper(60, 1500, work_long);
	name_case("wider");
	deeper(100, 6000, work_long);
	name_case("system-call");
	deeper(40, 90, call_kernel_long);
	run_chains();
	run_random();
}

/* --- comparing ------------------------------------------------------------------------------- */

struct outcome {
	char name[16];
	unsigned int ticks, differ, as_wanted, in_syscall;
	unsigned int depth_max;
};

static struct outcome results[CASES_MAX];
static unsigned int result_count, printed;

static struct outcome *result_of(const char *name)
{
	for (unsigned int i = 0; i < result_count; i++)
		if (!strncmp(results[i].name, name, sizeof(results[i].name)))
			return &results[i];
	if (result_count == CASES_MAX)
		abort();
	memcpy(results[result_count].name, name, sizeof(results[0].name));
	return &results[result_count++];
}

static void print_difference(const struct user_walk_tick *t)
{
	unsigned int i = 0;

	while (i < t->ours_count && i < t->theirs_count && t->ours[i] == t->theirs[i])
		i++;
	printf("%.16s: %u addresses, the kernel has %u; the first that differs is %u: %llx, %llx\n",
	       t->comm, t->ours_count, t->theirs_count, i, (unsigned long long)t->ours[i],
	       (unsigned long long)t->theirs[i]);
}

static int take(void *ctx, void *data, size_t len)
{
	const struct user_walk_tick *t = data;
	struct outcome *r = result_of(t->comm);
	char name[17] = {0};
	const char *wanted;

	(void)ctx;
	if (len < sizeof(*t))
		return 0;
	memcpy(name, t->comm, sizeof(t->comm));
	wanted = strchr(name, '=');
	r->ticks++;
	r->in_syscall += t->syscall >= 0;
	r->as_wanted += wanted && t->ours_count == strtoul(wanted + 1, NULL, 10);
	if (t->ours_count > r->depth_max)
		r->depth_max = t->ours_count;
	if (t->ours_count == t->theirs_count &&
	    !memcmp(t->ours, t->theirs, t->ours_count * sizeof(t->ours[0])))
		return 0;
	r->differ++;
	if (printed++ < 20)
		print_difference(t);
	return 0;
}

static bool attach(struct user_walk *skel)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / HZ,
	};

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0 || !bpf_program__attach_perf_event(skel->progs.user_walk_both, fd))
			return false;
	}
	return true;
}

static bool check(const struct outcome *r)
{
	const bool has_wanted = strchr(r->name, '=');
	/* A tick may come between two spins. */
	const bool good = !r->differ && (!has_wanted || r->as_wanted * 10 >= r->ticks * 7) &&
			  (strcmp(r->name, "system-call") || r->in_syscall * 2 > r->ticks) &&
			  (strcmp(r->name, "deep") || r->depth_max == USER_WALK_TICK_DEPTH);

	printf("%-16.16s %5u ticks, %3u differ, deepest %3u, %u as the program knows, %u in system "
	       "calls%s\n",
	       r->name, r->ticks, r->differ, r->depth_max, r->as_wanted, r->in_syscall,
	       good ? "" : ": WRONG");
	return good;
}

static int parent(struct user_walk *skel, pid_t child, int start_fd)
{
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), take, NULL, NULL);
	const struct timespec moment = {.tv_nsec = 20000000};
	unsigned int enough = 0, failures = 0;
	int status;

	skel->bss->wanted_pid = (uint32_t)child;
	if (!ring || !attach(skel)) {
		perror("attaching");
		return 1;
	}
	if (write(start_fd, "", 1) != 1)
		return 1;
	while (waitpid(child, &status, WNOHANG) == 0) {
		ring_buffer__consume(ring);
		nanosleep(&moment, NULL);
	}
	ring_buffer__consume(ring);
	for (unsigned int i = 0; i < result_count; i++) {
		failures += !check(&results[i]);
		enough += results[i].ticks >= 20;
	}
	printf("%u cases with 20 ticks and more, %llu ticks without room, %llu left to the "
	       "kernel\n",
	       enough, (unsigned long long)skel->bss->ring_full,
	       (unsigned long long)skel->bss->left_to_kernel);
	/* 4 threads, 5 stacks, 15 chains, at random. */
	return failures || enough < 25 || status || skel->bss->left_to_kernel > 50;
}

static int run(bool has_loop)
{
	struct user_walk *skel = user_walk__open();
	int pipes[2], rc;
	pid_t child;
	char byte;

	if (!skel)
		return 1;
	skel->rodata->has_loop = has_loop;
	rc = user_walk__load(skel);
	if (rc == -EPERM) {
		printf("SKIP: eBPF is not permitted here\n");
		return SKIPPED;
	}
	if (rc || pipe(pipes))
		return 1;
	child = fork();
	if (!child) {
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		run_program();
		_exit(0);
	}
	rc = child < 0 ? 1 : parent(skel, child, pipes[1]);
	user_walk__destroy(skel);
	return rc;
}

int main(void)
{
	int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("RAWSTACK_EMULATED"))
		case_ms = CASE_EMULATED_MS;
	rc = run(false);
	if (rc)
		return rc;
	printf("\nwith bpf_loop()\n");
	result_count = 0;
	memset(results, 0, sizeof(results));
	return run(true);
}
