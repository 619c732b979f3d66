/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_samples.h"

#include <stdio.h>
#include <string.h>

const struct spool_limits small = {
	.segment_len = 64 << 10,
	.total_len = 1 << 20,
	.free_floor = 1,
	.sync_ns = 2 * SECOND,
};

const struct spool_origin origin = {
	.host_id = "0123456789abcde",
	.boot_id = "bootbootbootboo",
	.host_name = "host",
	.event = "cpu-clock",
	.backend = "bpf",
	.period_ns = 10101010,
	.cpu_count = 2,
};

struct spool_writer *writer(struct memory_io *m, const struct spool_limits *limits)
{
	struct spool_writer *w = NULL;
	struct err err = {0};

	if (spool_writer_open(&w, "spool", limits, &origin, &m->io, &err))
		fail_msg("%s", err.message);
	return w;
}

struct spool_reader *reader(struct memory_io *m)
{
	struct spool_reader *r = NULL;
	struct err err = {0};

	if (spool_reader_open(&r, "spool", &m->io, &err))
		fail_msg("%s", err.message);
	return r;
}

/* Sample n: its own stack of three frames, a thread of ten, a module of three. All of it can be
 * told from its time, so that check() needs no book-keeping. */
void add(struct spool_writer *w, uint64_t n)
{
	struct spool_module m = {.id = {.kind = BUILD_ID_GNU, .len = 20}};
	struct spool_thread t = SPOOL_THREAD_INIT;
	struct location l[3] = {
		{.kind = LOCATION_FILE_OFF, .address = 0x1000 + n, .name = LOCATION_NO_INDEX},
		{.kind = LOCATION_HOST_NAMED, .reason = HOST_SOURCE_BPF, .module = UINT32_MAX},
		{.kind = LOCATION_UNRESOLVED,
		 .mode = LOCATION_RETURN,
		 .module = UINT32_MAX,
		 .reason = UNRESOLVED_ANONYMOUS,
		 .address = UINT64_MAX - n,
		 .name = UINT32_MAX},
	};
	uint32_t frames[3];
	char text[32];
	int len = snprintf(text, sizeof(text), "/lib/module-%u", (unsigned int)(n % 3));

	m.path = spool_writer_string(w, text, (size_t)len);
	m.id.bytes[0] = (uint8_t)(n % 3);
	l[0].module = spool_writer_module(w, &m);
	l[1].name = spool_writer_string(w, "bpf_prog", 8);
	for (int i = 0; i < 3; i++)
		frames[i] = spool_writer_location(w, &l[i]);
	t.comm = spool_writer_string(w, "comm", 4);
	t.exe = LOCATION_NO_INDEX;
	t.start_ns = 77;
	t.cgroup_id = 5;
	t.pid = (uint32_t)(n % 10);
	t.tid = t.pid + 1;
	t.state = t.pid / 5;
	t.cgroup = spool_writer_string(w, "/a.service", 10);
	t.service = spool_writer_string(w, "service", 7);
	t.labels = spool_writer_string(w, "key=value", 9);
	spool_writer_sample(
		w, &(struct spool_sample){
			   .time_ns = sample_time(n),
			   .thread = spool_writer_thread(w, &t),
			   .stack = spool_writer_stack(w, frames, 3, SPOOL_STACK_USER_TRUNCATED),
			   .cpu = (uint32_t)(n & 1),
			   .weight = 1 + (uint32_t)(n % 4),
		   });
}

void add_many(struct spool_writer *w, uint64_t from, uint64_t count)
{
	for (uint64_t n = from; n < from + count; n++)
		add(w, n);
	spool_writer_flush(w, NULL);
}

bool is_text(const struct spool_batch *b, uint32_t index, const char *want)
{
	return index < b->string_count && b->strings[index].len == strlen(want) &&
	       !memcmp(b->strings[index].p, want, strlen(want));
}

/* That sample i of a batch is the one add() made; returns its number. */
static uint64_t check(const struct spool_batch *b, size_t i)
{
	const struct spool_sample *s = &b->samples[i];
	const uint64_t n = sample_number(s);
	const struct spool_stack *stack;
	const struct location *l[3];
	const struct spool_thread *t;
	char text[32];

	assert_true(s->stack < b->stack_count && s->thread < b->thread_count);
	assert_int_equal(s->cpu, n & 1);
	assert_int_equal(s->weight, 1 + n % 4);
	t = &b->threads[s->thread];
	assert_int_equal(t->pid, n % 10);
	assert_int_equal(t->tid, n % 10 + 1);
	assert_true(is_text(b, t->comm, "comm"));
	assert_int_equal(t->exe, LOCATION_NO_INDEX);
	assert_int_equal(t->cgroup_id, 5);
	assert_int_equal(t->state, n % 10 / 5);
	assert_true(is_text(b, t->service, "service"));
	assert_true(is_text(b, t->labels, "key=value"));
	assert_int_equal(t->container, LOCATION_NO_INDEX);
	assert_true(is_text(b, t->cgroup, "/a.service"));
	assert_int_equal(t->start_ns, 77);
	stack = &b->stacks[s->stack];
	assert_int_equal(stack->count, 3);
	assert_int_equal(stack->flags, SPOOL_STACK_USER_TRUNCATED);
	for (int k = 0; k < 3; k++) {
		assert_true(stack->locations[k] < b->location_count);
		l[k] = &b->locations[stack->locations[k]];
	}
	assert_int_equal(l[0]->kind, LOCATION_FILE_OFF);
	assert_int_equal(l[0]->address, 0x1000 + n);
	assert_true(l[0]->module < b->module_count);
	assert_int_equal(b->modules[l[0]->module].id.bytes[0], n % 3);
	assert_int_equal(b->modules[l[0]->module].id.len, 20);
	snprintf(text, sizeof(text), "/lib/module-%u", (unsigned int)(n % 3));
	assert_true(is_text(b, b->modules[l[0]->module].path, text));
	assert_int_equal(l[1]->kind, LOCATION_HOST_NAMED);
	assert_true(is_text(b, l[1]->name, "bpf_prog"));
	assert_int_equal(l[2]->mode, LOCATION_RETURN);
	assert_int_equal(l[2]->address, UINT64_MAX - n);
	assert_int_equal(l[2]->name, LOCATION_NO_INDEX);
	return n;
}

void see(struct seen *seen, const struct spool_batch *b)
{
	seen->batches++;
	seen->damaged_len += b->damaged_len;
	memcpy(seen->losses, b->losses, sizeof(seen->losses));
	for (size_t i = 0; i < b->sample_count; i++) {
		uint64_t n;

		if (b->stacks[b->samples[i].stack].count == 1) {
			uint32_t frame = b->stacks[b->samples[i].stack].locations[0];

			assert_true(is_text(b, b->locations[frame].name, "[spool: damaged]"));
			seen->replaced++;
			n = sample_number(&b->samples[i]);
		} else {
			n = seen->is_damaged ? sample_number(&b->samples[i]) : check(b, i);
		}
		assert_true(n >= seen->next); /* in order, none twice */
		seen->gaps += n != seen->next;
		seen->next = n + 1;
		seen->count++;
	}
}

struct seen drain_as(struct spool_reader *r, size_t max_samples, bool is_damaged)
{
	struct seen seen = {.is_damaged = is_damaged};
	struct spool_batch b;
	struct err err;
	int rc;

	while ((rc = spool_reader_next(r, max_samples, &b, &err)) == 1) {
		assert_in_range(b.sample_count, 1, max_samples);
		assert_string_equal(b.origin.backend, "bpf");
		see(&seen, &b);
	}
	if (rc)
		fail_msg("%s", err.message);
	return seen;
}

struct seen drain(struct spool_reader *r, size_t max_samples)
{
	return drain_as(r, max_samples, false);
}

struct seen drain_all_as(struct memory_io *m, bool is_damaged)
{
	struct spool_reader *r = reader(m);
	struct seen seen;

	spool_reader_from_start(r);
	seen = drain_as(r, 100, is_damaged);
	spool_reader_close(r);
	return seen;
}

struct seen drain_all(struct memory_io *m)
{
	return drain_all_as(m, false);
}

int setup(void **state)
{
	static struct memory_io m;

	memory_io_init(&m);
	*state = &m;
	return 0;
}

int teardown(void **state)
{
	memory_io_done(*state);
	return 0;
}
