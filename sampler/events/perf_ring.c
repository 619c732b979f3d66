/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "bytes.h"
#include "intern.h"
#include "io.h"
#include "limits.h"
#include "number.h"

enum {
	/* PERF_SAMPLE_TID | TIME | CPU put this after every record that is no sample. */
	TRAILER_LEN = 24,
	RECORD_MAX = 65536,
	FULL_PART = 64, /* a ring with less than this part free counts as full */
};

enum {
	PERF_STACK_DEPTH_MAX = 127
};

/*
 * attr.build_id is not set, because of a fault of the kernel (seen on Linux 6.18): it marks the
 * header of a mapping record as holding a build id for the listener that asked, and leaves the mark
 * in the records of other listeners. It makes perf 6.1, recording one process, fail an assertion.
 */
void perf_attr_tracking(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, /* struct cpu_watch reads it */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* wakes at half of the ring */
	};
}

void perf_attr_sampling(struct perf_event_attr *attr, enum backend_event event, uint64_t period_ns)
{
	const bool is_clock = event != BACKEND_EVENT_CYCLES;

	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = is_clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.config = is_clock ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_HW_CPU_CYCLES,
		/* This is as in perf_attr_tracking(), so that one reader fits records of both. */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
	};
	if (is_clock) {
		attr->sample_period = period_ns;
	} else {
		attr->freq = 1;
		attr->sample_freq = (1000000000 + period_ns / 2) / period_ns;
	}
}

enum backend_event perf_choose_event(enum backend_event wanted)
{
	struct perf_event_attr attr;
	int fd;

	if (wanted != BACKEND_EVENT_AUTO)
		return wanted;
	perf_attr_sampling(&attr, BACKEND_EVENT_CYCLES, 1000000000 / 99);
	fd = perf_open(&attr, -1, 0, -1);
	if (fd < 0)
		return BACKEND_EVENT_CLOCK;
	close(fd);
	return BACKEND_EVENT_CYCLES;
}

const char *perf_event_name(enum backend_event event)
{
	return event == BACKEND_EVENT_CYCLES ? "cycles" : "cpu-clock";
}

uint16_t perf_stack_depth(void)
{
	_cleanup_(freep) uint8_t *text = NULL;
	const char *at;
	uint64_t depth;
	size_t len;

	if (io_read_file("/proc/sys/kernel/perf_event_max_stack", 64, &text, &len, NULL))
		return PERF_STACK_DEPTH_MAX;
	at = (const char *)text;
	return number_take(&at, 10, &depth) && depth && depth < PERF_STACK_DEPTH_MAX
		       ? (uint16_t)depth
		       : PERF_STACK_DEPTH_MAX;
}

int perf_open(struct perf_event_attr *attr, int32_t pid, int cpu, int group_fd)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int perf_set_period(int fd, uint64_t period_ns)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period_ns) ? -errno : 0;
}

int perf_try_cpu(void)
{
	struct perf_event_attr attr;
	int fd;

	perf_attr_tracking(&attr);
	fd = perf_open(&attr, -1, 0, -1);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

void perf_check_features(void (*say)(void *arg, const char *what, bool ok, const char *why),
			 void *arg)
{
	struct perf_event_attr attrs[3];
	static const char *const names[] = {"mappings", "names of new cgroups",
					    "counter of cycles (PMU)"};

	perf_attr_tracking(&attrs[0]);
	perf_attr_tracking(&attrs[1]);
	attrs[1].cgroup = 1;
	perf_attr_sampling(&attrs[2], BACKEND_EVENT_CYCLES, 1000000000 / 99);
	for (size_t i = 0; i < ARRAY_LEN(attrs); i++) {
		int fd = perf_open(&attrs[i], -1, 0, -1);

		say(arg, names[i], fd >= 0, fd >= 0 ? "" : strerror(-fd));
		closep(&fd);
	}
}

int perf_ring_map(struct perf_ring *r, int fd, size_t pages, size_t least, struct err *err)
{
	size_t page_len = (size_t)sysconf(_SC_PAGESIZE);
	void *base = MAP_FAILED;

	for (; pages >= least; pages /= 2) {
		base = mmap(NULL, (pages + 1) * page_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);
		if (base != MAP_FAILED || errno != EPERM)
			break;
	}
	if (base == MAP_FAILED)
		return err_sys(err, errno, "ring of a perf event (kernel.perf_event_mlock_kb)");
	*r = (struct perf_ring){
		.base = base,
		.page_len = page_len,
		.data_len = pages * page_len,
		.record = malloc(RECORD_MAX),
	};
	if (!r->record) {
		perf_ring_unmap(r);
		return err_no_memory(err);
	}
	return 0;
}

uint64_t perf_ring_heard(const struct perf_ring *r)
{
	const struct perf_event_mmap_page *page = r->base;

	return page ? page->data_tail : 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->base)
		munmap(r->base, r->data_len + r->page_len);
	free(r->record);
	*r = (struct perf_ring){0};
}

int perf_ring_watch(int *epoll_fd, int fd)
{
	struct epoll_event readable = {.events = EPOLLIN};

	if (*epoll_fd < 0)
		*epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return *epoll_fd < 0 || epoll_ctl(*epoll_fd, EPOLL_CTL_ADD, fd, &readable) ? -errno : 0;
}

/* --- records --------------------------------------------------------------------------------- */

static void take_record_text(struct bytes *in, struct event *e)
{
	const char *s = bytes_cstr(in, &e->data_len);

	e->data = s;
	if (!s || e->data_len > LIMIT_PATH_LEN)
		in->failed = true;
}

/* Reads a mapping record. The header's mark of a build id is ignored: it may be there for another
 * listener, and these records hold none. */
static void read_mmap(struct bytes *in, struct event *e, uint32_t type)
{
	uint64_t len;

	e->kind = EVENT_MAP;
	e->map.start = bytes_u64(in);
	len = bytes_u64(in);
	e->map.file_off = bytes_u64(in);
	if (!CHECKED_ADD(e->map.start, len, &e->map.end))
		in->failed = true;
	e->map.dev = e->map.inode = e->map.generation = 0;
	if (type == PERF_RECORD_MMAP2) {
		uint32_t major = bytes_u32(in), minor = bytes_u32(in);

		e->map.dev = makedev(major, minor);
		e->map.inode = bytes_u64(in);
		e->map.generation = bytes_u64(in);
		bytes_skip(in, 8); /* protection and flags */
	}
	take_record_text(in, e);
}

/* Reads a call chain, kernel part first; marks of context separate the parts. */
static void read_ring_sample(const struct perf_ring *r, struct bytes *in, struct event *e,
			     uint64_t *pcs)
{
	uint16_t *part = NULL, total = 0;
	uint64_t count;

	e->kind = EVENT_SAMPLE;
	memset(&e->sample, 0, sizeof(e->sample));
	e->pid = bytes_u32(in);
	e->tid = bytes_u32(in);
	e->time_ns = bytes_u64(in);
	e->sample.cpu = bytes_u32(in);
	bytes_skip(in, 4);
	e->sample.syscall = -1;
	e->sample.flags = SAMPLE_SHARED_DEPTH |
			  (r->has_kernel ? SAMPLE_SYSCALL_UNKNOWN : SAMPLE_NO_KERNEL_PART);
	count = bytes_u64(in);
	for (uint64_t i = 0; i < count && !in->failed; i++) {
		uint64_t pc = bytes_u64(in);

		if (pc == (uint64_t)PERF_CONTEXT_USER) {
			part = &e->sample.user_count;
		} else if (pc >= (uint64_t)PERF_CONTEXT_MAX) {
			/* The user part comes last, so a kernel part after it is dropped. */
			part = r->has_kernel && pc == (uint64_t)PERF_CONTEXT_KERNEL &&
					       !e->sample.user_count
				       ? &e->sample.kernel_count
				       : NULL;
		} else if (part && total < LIMIT_STACK_FRAMES) {
			pcs[total++] = pc;
			(*part)++;
		}
	}
	if (r->has_cgroup)
		e->sample.cgroup_id = bytes_u64(in);
	e->data = pcs;
	e->data_len = total * sizeof(*pcs);
}

static void add_ring_sample(struct perf_ring *r, struct bytes in, struct events *events,
			    struct perf_counts *counts)
{
	uint64_t pcs[LIMIT_STACK_FRAMES];
	struct event e = {.pid = 0};

	read_ring_sample(r, &in, &e, pcs);
	if (in.failed)
		return;
	if (e.data_len)
		e.sample.stack_id = intern_digest(e.data, e.data_len);
	counts->samples++;
	r->last_ns = e.time_ns;
	if (!events_add(events, &e))
		counts->refused++;
}

/* Reads a record of another kind than a sample, whose time is known. Returns false if it makes no
 * event. */
static bool read_ring_record(const struct perf_ring *r, const struct perf_event_header *head,
			     struct bytes *in, struct event *e, struct perf_counts *counts)
{
	switch (head->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		e->pid = bytes_u32(in);
		e->tid = bytes_u32(in);
		read_mmap(in, e, head->type);
		return true;
	case PERF_RECORD_COMM:
		e->kind = EVENT_COMM;
		e->pid = bytes_u32(in);
		e->tid = bytes_u32(in);
		e->comm.is_exec = head->misc & PERF_RECORD_MISC_COMM_EXEC;
		take_record_text(in, e);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		e->kind = head->type == PERF_RECORD_FORK ? EVENT_FORK : EVENT_EXIT;
		e->pid = bytes_u32(in);
		e->fork.parent_pid = bytes_u32(in);
		e->tid = bytes_u32(in);
		return true;
	case PERF_RECORD_CGROUP:
		e->kind = EVENT_CGROUP;
		e->cgroup.id = bytes_u64(in);
		take_record_text(in, e);
		return true;
	case PERF_RECORD_LOST:
		e->kind = EVENT_LOST;
		bytes_skip(in, 8);
		counts->lost += bytes_u64(in);
		/* The gap lasts from the last record until this one, when there was room again. */
		e->lost.until_ns = e->time_ns;
		e->time_ns = r->last_ns < e->time_ns ? r->last_ns : e->time_ns;
		return true;
	case PERF_RECORD_THROTTLE:
		counts->throttled++;
		return false;
	default:
		return false;
	}
}

static void add_ring_record(struct perf_ring *r, const struct perf_event_header *head,
			    struct bytes in, struct events *events, struct perf_counts *counts)
{
	struct event e = {.pid = 0};
	struct bytes trailer;
	uint64_t record_ns;

	if (in.left < TRAILER_LEN)
		return;
	trailer = bytes_of(in.p + in.left - TRAILER_LEN, TRAILER_LEN);
	bytes_skip(&trailer, 8);
	e.time_ns = record_ns = bytes_u64(&trailer);
	in.left -= TRAILER_LEN;
	if (!read_ring_record(r, head, &in, &e, counts))
		return;
	r->last_ns = record_ns;
	if (!in.failed && !events_add(events, &e))
		counts->lost++;
}

/* Adds an EVENT_LOST for a full ring now, because the kernel reports the loss only with the first
 * record that fits again, after these samples are placed. */
static void add_full(const struct perf_ring *r, struct events *events)
{
	struct event e = {.kind = EVENT_LOST, .time_ns = r->last_ns};

	e.lost.until_ns = io_mono_ns();
	events_add(events, &e);
}

void perf_ring_drain(struct perf_ring *r, struct events *events, struct perf_counts *counts)
{
	struct perf_event_mmap_page *page = r->base;
	const uint8_t *data = (const uint8_t *)r->base + r->page_len;
	/* perf_event_open(2): records before data_head are valid once data_head was read. */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	const bool is_full = r->data_len - (head - tail) < r->data_len / FULL_PART;

	while (tail < head) {
		struct perf_event_header h;
		size_t at = tail & (r->data_len - 1), first;
		const uint8_t *p = data + at;
		struct bytes body;

		/* Records are multiples of 8, so a header never wraps. */
		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break; /* the ring is invalid: skip all that is in it */
		if (h.size > r->data_len - at) {
			first = r->data_len - at;
			memcpy(r->record, p, first);
			memcpy(r->record + first, data, h.size - first);
			p = r->record;
		}
		body = bytes_of(p + sizeof(h), h.size - sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE)
			add_ring_sample(r, body, events, counts);
		else
			add_ring_record(r, &h, body, events, counts);
		tail += h.size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	if (is_full)
		add_full(r, events);
}
