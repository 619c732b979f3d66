/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of histograms, and how figures are written in both text formats. */
#include "histogram.h"
#include "io.h"
#include "limits.h"
#include "openmetrics.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A bound belongs to its bucket, a nanosecond more to the next. */
static void test_bounds(void **state _unused_)
{
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
		struct histogram h = {0};

		histogram_add(&h, histogram_bounds_ns[i]);
		histogram_add(&h, histogram_bounds_ns[i] + 1);
		assert_int_equal(h.counts[i], 1);
		assert_int_equal(h.counts[i + 1], 1);
		assert_int_equal(h.sum_ns, 2 * histogram_bounds_ns[i] + 1);
		assert_true(i == 0 || histogram_bounds_ns[i] > histogram_bounds_ns[i - 1]);
	}
}

/* The texts of the bounds are the bounds. */
static void test_bound_texts(void **state _unused_)
{
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
		double seconds = strtod(histogram_bound_texts[i], NULL);

		assert_int_equal((uint64_t)(seconds * 1e9 + 0.5), histogram_bounds_ns[i]);
		assert_non_null(strchr(histogram_bound_texts[i], '.'));
	}
}

static void test_ends(void **state _unused_)
{
	struct histogram h = {0};

	histogram_add(&h, 0);
	histogram_add(&h, UINT64_MAX / 2);
	assert_int_equal(h.counts[0], 1);
	assert_int_equal(h.counts[HISTOGRAM_BUCKETS - 1], 1);
	histogram_add_since(&h, io_mono_ns() + 1000000000); /* a time to come counts as none */
	assert_int_equal(h.counts[0], 2);
}

static void assert_written(struct buf *out, const char *row)
{
	buf_u8(out, 0);
	if (!strstr((const char *)out->p, row))
		fail_msg("no row %s in\n%s", row, (const char *)out->p);
	out->len--;
}

static void test_rows(void **state _unused_)
{
	struct buf out = BUF_INIT(MIB);
	struct openmetrics m = {.out = &out};
	struct histogram h = {0};

	histogram_add(&h, 100000);
	histogram_add(&h, 200000);
	histogram_add(&h, UINT64_C(2000000000000));
	openmetrics_histogram_family(&m, "x_seconds", "How long.");
	openmetrics_histogram_rows(&m, "x_seconds", "a=\"b\"", &h);
	openmetrics_counter(&m, "y", "How many.", 7);
	openmetrics_end(&m);
	assert_written(&out, "# TYPE rawstack_x_seconds histogram\n"
			     "# UNIT rawstack_x_seconds seconds\n"
			     "# HELP rawstack_x_seconds How long.\n"
			     "rawstack_x_seconds_bucket{a=\"b\",le=\"0.0001\"} 1\n"
			     "rawstack_x_seconds_bucket{a=\"b\",le=\"0.00025\"} 2\n");
	assert_written(&out, "rawstack_x_seconds_bucket{a=\"b\",le=\"1800.0\"} 2\n"
			     "rawstack_x_seconds_bucket{a=\"b\",le=\"+Inf\"} 3\n"
			     "rawstack_x_seconds_count{a=\"b\"} 3\n"
			     "rawstack_x_seconds_sum{a=\"b\"} 2000.000300000\n"
			     "# TYPE rawstack_y counter\n"
			     "# HELP rawstack_y How many.\n"
			     "rawstack_y_total 7\n"
			     "# EOF\n");

	buf_reset(&out);
	m.is_plain = true;
	openmetrics_histogram_rows(&m, "x_seconds", NULL, &h);
	openmetrics_counter(&m, "y", "How many.", 7);
	openmetrics_end(&m);
	assert_written(&out, "rawstack_x_seconds_bucket{le=\"+Inf\"} 3\n"
			     "rawstack_x_seconds_count 3\n");
	assert_written(&out, "# TYPE rawstack_y_total counter\n"
			     "# HELP rawstack_y_total How many.\n"
			     "rawstack_y_total 7\n");
	assert_null(strstr((const char *)out.p, "EOF"));
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_bound_texts),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
