/* SPDX-License-Identifier: Apache-2.0 */
/* When the sampler wakes up: by time, by a signal, by a ring, and not because of a ring for ever.
 */
#include "poll_timer.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "io.h"

#define MS UINT64_C(1000000)

struct fixture {
	struct poll_timer poll_timer;
	int signal_fd, ring_fd;
	sigset_t before;
};

static uint64_t now_ns(void)
{
	return io_mono_ns();
}

static int set_up(void **state)
{
	static struct fixture f;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &f.before);
	f.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	f.ring_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(f.signal_fd >= 0 && f.ring_fd >= 0);
	assert_int_equal(poll_timer_open(&f.poll_timer, f.signal_fd, f.ring_fd, 2, now_ns(), NULL),
			 0);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	poll_timer_read_signals(f->signal_fd, &f->poll_timer.hangups);
	poll_timer_close(&f->poll_timer);
	closep(&f->signal_fd);
	closep(&f->ring_fd);
	sigprocmask(SIG_SETMASK, &f->before, NULL);
	return 0;
}

static void fill_ring(const struct fixture *f)
{
	assert_int_equal(eventfd_write(f->ring_fd, 1), 0);
}

/* Whether the ring asked for a round: one that begins too late for that is none to judge by. */
static bool ring_asks(struct fixture *f, size_t handled)
{
	for (int i = 0; i < 20; i++) {
		const struct poll_round round = {.start_ns = now_ns(), .handled = handled};

		assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
		if (f->poll_timer.is_early) {
			assert_true(now_ns() - round.start_ns >= 20 * MS);
			return true;
		}
		if (!f->poll_timer.is_armed)
			return false;
	}
	return false;
}

static void test_time(void **state)
{
	struct fixture *f = *state;
	struct poll_round round = {.start_ns = now_ns()};

	/* The first one is short. */
	assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
	assert_true(now_ns() - round.start_ns >= 100 * MS);
	assert_false(f->poll_timer.is_early);
	f->poll_timer.began_ns -= 10000 * MS;
	round.start_ns = now_ns();
	assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
	assert_true(now_ns() - round.start_ns >= POLL_TIMER_NS);
	/* As often as the backend says. */
	round = (struct poll_round){.start_ns = now_ns(), .most_ns = 300 * MS};
	assert_false(poll_timer_wait(&f->poll_timer, &round, round.start_ns + 3600 * 1000 * MS));
	assert_true(now_ns() - round.start_ns >= 300 * MS);
	/* More often when there is more to do, or something waits; but never at once. */
	round = (struct poll_round){.start_ns = now_ns(), .handled = 1 << 30};
	assert_false(poll_timer_wait(&f->poll_timer, &round, round.start_ns + 300 * MS));
	assert_true(now_ns() - round.start_ns >= 20 * MS);
	round = (struct poll_round){.start_ns = now_ns(), .is_pending = true};
	assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
	assert_true(now_ns() - round.start_ns >= 200 * MS);
}

static void test_end(void **state)
{
	struct fixture *f = *state;
	struct poll_round round = {.start_ns = now_ns()};

	assert_true(poll_timer_wait(&f->poll_timer, &round, round.start_ns + 30 * MS));
	assert_true(now_ns() - round.start_ns >= 30 * MS);
	/* That a process ended begins a round; SIGTERM ends, also one that came with it. */
	round.start_ns = now_ns() + 3600 * 1000 * MS;
	raise(SIGCHLD);
	assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
	raise(SIGCHLD);
	raise(SIGTERM);
	assert_true(poll_timer_wait(&f->poll_timer, &round, 0));
	/* SIGHUP is counted, and ends nothing. */
	assert_int_equal(f->poll_timer.hangups, 0);
	raise(SIGHUP);
	assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
	assert_int_equal(f->poll_timer.hangups, 1);
	raise(SIGHUP);
	raise(SIGTERM);
	assert_true(poll_timer_wait(&f->poll_timer, &round, 0));
	assert_int_equal(f->poll_timer.hangups, 2);
}

static void test_ring(void **state)
{
	struct fixture *f = *state;
	int poll_timer = 0;

	f->poll_timer.began_ns -= 10000 * MS;
	fill_ring(f);
	assert_true(ring_asks(f, 0));
	/* Full for ever, and each round for it does more than it may in the long run. */
	while (ring_asks(f, 100000))
		assert_in_range(++poll_timer, 1, 4);
	assert_in_range(poll_timer, 1, 4);
	/* It may ask again when enough of that has passed. */
	f->poll_timer.early_ns -= 3600 * 1000 * MS;
	assert_true(ring_asks(f, 0));
}

static void test_no_ring(void **state)
{
	struct fixture *f = *state;
	struct poll_round round = {.start_ns = now_ns()};

	poll_timer_close(&f->poll_timer);
	assert_int_equal(poll_timer_open(&f->poll_timer, f->signal_fd, -1, 2, now_ns(), NULL), 0);
	fill_ring(f);
	assert_false(poll_timer_wait(&f->poll_timer, &round, 0));
	assert_false(f->poll_timer.is_early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ring, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_ring, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
