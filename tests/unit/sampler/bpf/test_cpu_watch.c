/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that go and come: what the kernel says is on, and events that do not count any more. */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include <cmocka.h>

#include "cpu_watch.h"
#include "io.h"
#include "perf_ring.h"

static const char *shown(const char *text, size_t count)
{
	static char ret[32];
	bool is_on[16];

	if (!cpu_watch_parse(text, is_on, count))
		return "none";
	for (size_t i = 0; i < count; i++)
		ret[i] = is_on[i] ? '1' : '0';
	ret[count] = 0;
	return ret;
}

static void test_parse(void **state _unused_)
{
	assert_string_equal(shown("0\n", 2), "10");
	assert_string_equal(shown("0-1\n", 4), "1100");
	assert_string_equal(shown("0-2,5,7-9", 8), "11100101");
	assert_string_equal(shown("1,3-3\n", 4), "0101");
	assert_string_equal(shown("0-4294967295\n", 3), "111");
	assert_string_equal(shown("", 2), "none");
	assert_string_equal(shown("\n", 2), "none");
	assert_string_equal(shown("0-1 and more", 2), "none");
	assert_string_equal(shown("on", 2), "none");
}

/* What a backend is here: an event of the first CPU. */
struct one {
	int fd;
	int opened, closed, refused;
	bool is_denied;
};

static int one_fd(const void *self, size_t cpu)
{
	return cpu ? -1 : ((const struct one *)self)->fd;
}

static uint64_t one_heard(const void *self _unused_, size_t cpu _unused_)
{
	return 0;
}

static void one_close(void *self, size_t cpu _unused_)
{
	struct one *o = self;

	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	o->closed++;
}

static int one_open(void *self, size_t cpu, struct err *err)
{
	struct perf_event_attr attr;
	struct one *o = self;

	if (cpu)
		return 0;
	if (o->is_denied)
		return err_set(err, ERR_DENIED, "not today");
	perf_attr_tracking(&attr);
	o->fd = perf_open(&attr, -1, 0, -1);
	o->opened++;
	return 0;
}

static void one_refuse(void *self, size_t cpu _unused_, const struct err *why)
{
	assert_string_equal(why->message, "not today");
	((struct one *)self)->refused++;
}

static const struct cpu_watch_ops ops = {one_fd, one_heard, one_close, one_open, one_refuse};

static bool poll_later(struct cpu_watch *w, struct one *o)
{
	const struct timespec while_ago = {.tv_sec = 1, .tv_nsec = 500000000};

	nanosleep(&while_ago, NULL);
	return cpu_watch_poll(w, &ops, o, io_mono_ns());
}

/* A disabled event counts no time, as one whose CPU was off meanwhile. */
static void test_dead(void **state _unused_)
{
	struct one o = {.fd = -1};
	struct cpu_watch w;
	struct err err;

	assert_int_equal(one_open(&o, 0, &err), 0);
	if (o.fd < 0) {
		print_message("perf events of a CPU are not permitted here: %s\n", strerror(-o.fd));
		skip();
	}
	cpu_watch_begin(&w, 1);
	assert_false(poll_later(&w, &o));
	assert_false(poll_later(&w, &o));
	assert_int_equal(o.opened, 1);
	assert_int_equal(ioctl(o.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	assert_true(poll_later(&w, &o));
	assert_int_equal(o.opened, 2);
	assert_int_equal(o.closed, 1);
	assert_false(poll_later(&w, &o));
	/* It cannot be opened any more: that is said once. */
	o.is_denied = true;
	assert_int_equal(ioctl(o.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	assert_false(poll_later(&w, &o));
	assert_false(poll_later(&w, &o));
	assert_int_equal(o.refused, 1);
	cpu_watch_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse),
					   cmocka_unit_test(test_dead)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
