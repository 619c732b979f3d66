/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram.h"

#include "io.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS] = {
	100 * US, 250 * US, 500 * US, 1 * MS,   2500 * US, 5 * MS,   10 * MS,
	25 * MS,  50 * MS,  100 * MS, 250 * MS, 500 * MS,  1 * S,    2500 * MS,
	5 * S,    10 * S,   30 * S,   60 * S,   300 * S,   1800 * S,
};

const char *const histogram_bound_texts[HISTOGRAM_BOUNDS] = {
	"0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005",  "0.01",
	"0.025",  "0.05",    "0.1",    "0.25",  "0.5",    "1.0",    "2.5",
	"5.0",    "10.0",    "30.0",   "60.0",  "300.0",  "1800.0",
};

void histogram_add(struct histogram *h, uint64_t ns)
{
	size_t i = 0;

	while (i < HISTOGRAM_BOUNDS && ns > histogram_bounds_ns[i])
		i++;
	atomic_fetch_add_explicit(&h->counts[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ns, ns, memory_order_relaxed);
}

void histogram_add_since(struct histogram *h, uint64_t begin_ns)
{
	uint64_t now = io_mono_ns();

	histogram_add(h, now > begin_ns ? now - begin_ns : 0);
}
