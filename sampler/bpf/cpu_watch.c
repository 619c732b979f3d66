/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_watch.h"

#include <fcntl.h>
#include <string.h>

#include "limits.h"
#include "number.h"

/* Most bytes of /sys/devices/system/cpu/online: 8,192 CPUs of which every other one is off. */
#define LIMIT_CPU_LIST_LEN LIMIT(32768)

#define LOOK_NS     UINT64_C(500000000)
/* After a CPU has been silent this long, its events are read, which wakes it, to see if they count.
 */
#define ASK_NS      UINT64_C(2000000000)
/* The kernel counts an event's time by another clock, which may differ by this much, and by one
 * part in DRIFT_SHARE. */
#define SLACK_NS    UINT64_C(200000000)
#define DRIFT_SHARE 1000

struct cpu_watched {
	bool is_on, is_refused;
	uint64_t heard, heard_ns; /* the last result of heard(), and when it last changed */
	uint64_t counted_ns, asked_ns;
};

void cpu_watch_begin(struct cpu_watch *w, size_t count)
{
	*w = (struct cpu_watch){
		.cpus = calloc(count, sizeof(*w->cpus)),
		.online_fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC),
	};
	w->count = w->cpus ? count : 0;
}

void cpu_watch_done(struct cpu_watch *w)
{
	closep(&w->online_fd);
	free(w->cpus);
	*w = (struct cpu_watch){.online_fd = -1};
}

bool cpu_watch_parse(const char *text, bool *is_on, size_t count)
{
	const char *at = text;
	uint64_t first, last;

	memset(is_on, 0, count * sizeof(*is_on));
	while (number_take(&at, 10, &first)) {
		last = first;
		if (*at == '-') {
			at++;
			if (!number_take(&at, 10, &last))
				return false;
		}
		for (uint64_t i = first; i <= last && i < count; i++)
			is_on[i] = true;
		at += *at == ',';
	}
	return at > text && (!*at || *at == '\n');
}

static bool read_online(const struct cpu_watch *w, bool *is_on)
{
	char text[LIMIT_CPU_LIST_LEN];
	ssize_t len = w->online_fd < 0 ? -1 : pread(w->online_fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return false;
	text[len] = 0;
	return cpu_watch_parse(text, is_on, w->count);
}

/* Reads how long the event was enabled. Returns false if it cannot be read. */
static bool read_counted(int fd, uint64_t *ret_ns)
{
	uint64_t values[2]; /* perf_event_open(2): the count, the time it was enabled */

	if (read(fd, values, sizeof(values)) != (ssize_t)sizeof(values))
		return false;
	*ret_ns = values[1];
	return true;
}

static void begin_cpu(struct cpu_watched *c, int fd, uint64_t now_ns)
{
	c->heard_ns = c->asked_ns = now_ns;
	c->is_refused = false;
	if (!read_counted(fd, &c->counted_ns))
		c->counted_ns = 0;
}

/* Returns whether the events of a CPU that is on are dead, because it was off between two looks. */
static bool is_dead(struct cpu_watched *c, int fd, uint64_t heard, uint64_t now_ns)
{
	const uint64_t counted_before = c->counted_ns, asked_before = c->asked_ns;
	uint64_t passed, counted;

	if (heard != c->heard) {
		c->heard = heard;
		c->heard_ns = now_ns;
	}
	if (now_ns - c->heard_ns < ASK_NS || now_ns - c->asked_ns < ASK_NS ||
	    !read_counted(fd, &c->counted_ns))
		return false;
	c->asked_ns = now_ns;
	passed = now_ns - asked_before;
	counted = c->counted_ns - counted_before;
	return counted + SLACK_NS + passed / DRIFT_SHARE < passed;
}

/* Opens a CPU, and returns whether it is sampled now. */
static bool open_watched_cpu(struct cpu_watched *c, const struct cpu_watch_ops *ops, void *self,
			     size_t cpu, uint64_t now_ns)
{
	struct err err;

	if (ops->open(self, cpu, &err)) {
		ops->close(self, cpu);
		c->is_refused = true;
		ops->refuse(self, cpu, &err);
		return false;
	}
	if (ops->fd(self, cpu) < 0) /* the CPU is off again */
		return false;
	begin_cpu(c, ops->fd(self, cpu), now_ns);
	return true;
}

static bool poll_cpu(struct cpu_watched *c, const struct cpu_watch_ops *ops, void *self, size_t cpu,
		     bool is_on, uint64_t now_ns)
{
	const int fd = ops->fd(self, cpu);

	if (!is_on) {
		if (fd >= 0)
			ops->close(self, cpu);
		*c = (struct cpu_watched){.is_on = false};
		return false;
	}
	if (!c->is_on) {
		c->is_on = true;
		if (fd >= 0)
			begin_cpu(c, fd, now_ns);
	}
	if (fd >= 0) {
		if (!is_dead(c, fd, ops->heard(self, cpu), now_ns))
			return false;
		ops->close(self, cpu);
	}
	return !c->is_refused && open_watched_cpu(c, ops, self, cpu, now_ns);
}

bool cpu_watch_poll(struct cpu_watch *w, const struct cpu_watch_ops *ops, void *self,
		    uint64_t now_ns)
{
	_cleanup_(freep) bool *is_on = NULL;
	bool any = false;

	if (now_ns - w->looked_ns < LOOK_NS || !w->count)
		return false;
	w->looked_ns = now_ns;
	is_on = calloc(w->count, sizeof(*is_on));
	if (!is_on || !read_online(w, is_on))
		return false;
	for (size_t i = 0; i < w->count; i++)
		any |= poll_cpu(&w->cpus[i], ops, self, i, is_on[i], now_ns);
	return any;
}
