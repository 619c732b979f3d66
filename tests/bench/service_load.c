/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load on the service, as fleets make it; tests/bench/service runs it and says what is measured.
 *
 *	service_load draw TABLE COUNT
 *	service_load bare TABLE SECONDS
 *	service_load lookup|stacks SERVER TABLE SECONDS THREADS [RATE]
 *	service_load distinct SERVER SECONDS THREADS COUNT BATCH TABLE...
 *	service_load upload SERVER MEGABYTES COUNT
 *	service_load hold SERVER CONNECTIONS
 *	service_load connect SERVER SECONDS THREADS
 *	service_load storm SERVER SECONDS THREADS ID...
 *
 * Addresses are drawn from the bytes of code that TABLE knows, each at most once in a run. RATE is
 * in batches per second: each then has a time at which it is due, and its latency counts from
 * there; each connection has had one answer before. Prints `key value` lines. hold keeps its
 * connections until its standard input ends. distinct draws COUNT addresses only, again and again,
 * in batches of BATCH, with full names; as many of each TABLE, mixed. connect makes a connection
 * for each call. RAWSTACK_CA, RAWSTACK_CERT and RAWSTACK_KEY name files for TLS.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "arena.h"
#include "log.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "rpc_client.h"
#include "service_load.h"

enum {
	STACKS = 1000,
	DEPTH = 40,
	STACK_LOCATIONS =
		2000, /* distinct ones of a batch of stacks; half of them were in one before */
	THREADS_MAX = 64,
	LATENCIES_MAX = 1 << 20,
};

struct worker {
	struct load *load;
	pthread_t thread;
	unsigned int number;
	uint64_t addresses, frames, strings, bytes, deferred, failed;
	uint64_t *latencies;
	size_t latency_count;
	uint64_t sum; /* of what was read, so that nothing is left out */
	uint32_t *location;
	struct arena arena;
};

_Noreturn void die(const char *what, const struct err *err)
{
	log_error("%s: %s", what, err ? err->message : strerror(errno));
	exit(1);
}

static struct rpc_identity *identity;

static void make_identity(void)
{
	struct rpc_client_files files = {
		.tls = {.ca = getenv("RAWSTACK_CA"),
			.cert = getenv("RAWSTACK_CERT"),
			.key = getenv("RAWSTACK_KEY")},
	};
	struct err err = {0};

	if (files.tls.ca && rpc_identity_new(&identity, &files, &err))
		die("RAWSTACK_CA", &err);
}

struct rpc_client *open_client(const char *server)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rpc_client *c;
	struct err err = {0};

	pthread_once(&once, make_identity);
	if (rpc_client_open_as(&c, server, identity, &err))
		die("client", &err);
	return c;
}

/* --- requests -------------------------------------------------------------------------------- */

struct request {
	Rawstack__V1__StackBatch batch;
	Rawstack__V1__Module module[TABLES_MAX], *modules[TABLES_MAX];
	Rawstack__V1__Locations locations;
	Rawstack__V1__Stacks stacks;
	Rawstack__V1__LocationKind kind[BATCH_MAX];
	uint32_t of_module[BATCH_MAX];
	uint64_t address[BATCH_MAX];
	uint32_t count[STACKS], location[STACKS * DEPTH];
	uint64_t seed;
};

static void request_init(struct request *q, const struct build_id *id, size_t count)
{
	rawstack__v1__stack_batch__init(&q->batch);
	rawstack__v1__module__init(&q->module[0]);
	rawstack__v1__locations__init(&q->locations);
	rawstack__v1__stacks__init(&q->stacks);
	q->module[0].build_id = (ProtobufCBinaryData){id->len, (uint8_t *)(uintptr_t)id->bytes};
	q->modules[0] = &q->module[0];
	q->batch.modules = q->modules;
	q->batch.n_modules = 1;
	q->batch.locations = &q->locations;
	for (size_t i = 0; i < count; i++)
		q->kind[i] = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR;
	q->locations.kind = q->kind;
	q->locations.module = q->of_module;
	q->locations.address = q->address;
	q->locations.n_kind = q->locations.n_module = q->locations.n_address = count;
}

/* Modules of all tables that the pool is of. */
static void request_tables_init(struct request *q, const struct load *l)
{
	for (size_t i = 0; i < l->id_count; i++) {
		rawstack__v1__module__init(&q->module[i]);
		q->module[i].build_id =
			(ProtobufCBinaryData){l->ids[i].len, (uint8_t *)(uintptr_t)l->ids[i].bytes};
		q->modules[i] = &q->module[i];
	}
	q->batch.n_modules = l->id_count;
}

/* Stacks that use every location at least once: the first DEPTH * STACKS places walk through them,
 * the others draw. */
static void fill_stacks(struct request *q, struct load *l)
{
	const size_t fresh = STACK_LOCATIONS / 2;

	/* What was new in the batch before is the known half of this one. */
	memcpy(q->address + fresh, q->address, fresh * sizeof(q->address[0]));
	memcpy(q->address, take(l, fresh), fresh * sizeof(q->address[0]));
	for (size_t i = 0; i < STACKS * DEPTH; i++)
		q->location[i] =
			(uint32_t)(i < STACK_LOCATIONS ? i
						       : random_next(&q->seed) % STACK_LOCATIONS);
}

static void request_stacks_init(struct request *q, struct load *l)
{
	for (size_t i = 0; i < STACKS; i++)
		q->count[i] = DEPTH;
	q->stacks.count = q->count;
	q->stacks.n_count = STACKS;
	q->stacks.location = q->location;
	q->stacks.n_location = STACKS * DEPTH;
	q->batch.stacks = &q->stacks;
	memcpy(q->address, take(l, STACK_LOCATIONS / 2), STACK_LOCATIONS / 2 * sizeof(uint64_t));
}

/* --- replies --------------------------------------------------------------------------------- */

static uint64_t frame_sum(const Rawstack__V1__SymbolizedBatch *r, size_t frame)
{
	uint32_t function = r->frame_function[frame];
	const Rawstack__V1__Functions *f = r->functions;

	if (function >= f->n_name || f->name[function] >= r->n_strings ||
	    f->file[function] >= r->n_strings)
		die("an index of the reply is out of range", NULL);
	return r->strings[f->name[function]].len + r->strings[f->file[function]].len +
	       r->frame_line[frame];
}

/* Where each location's frames begin. */
static void index_frames(struct worker *w, const Rawstack__V1__SymbolizedBatch *r)
{
	uint32_t at = 0;

	for (size_t i = 0; i < r->n_frame_count; i++) {
		w->location[i] = at;
		at += r->frame_count[i];
	}
	w->location[r->n_frame_count] = at;
	if (at != r->n_frame_function || at != r->n_frame_line || !r->functions)
		die("columns of the reply are not of equal length", NULL);
}

/* Reads the name, the file and the line of every frame. */
static void read_reply(struct worker *w, const struct request *q,
		       const Rawstack__V1__SymbolizedBatch *r)
{
	index_frames(w, r);
	w->deferred += r->deferred;
	w->strings += r->n_strings;
	w->frames += r->n_frame_function;
	if (!w->load->stacks) {
		for (size_t i = 0; i < r->n_frame_function; i++)
			w->sum += frame_sum(r, i);
		w->addresses += r->n_status - r->deferred;
		return;
	}
	/* A frame of a stack is a location with all that is inlined there. */
	for (size_t i = 0; i < q->stacks.n_location; i++)
		for (uint32_t k = w->location[q->location[i]]; k < w->location[q->location[i] + 1];
		     k++)
			w->sum += frame_sum(r, k);
	w->addresses += q->stacks.n_location;
}

/* --- threads --------------------------------------------------------------------------------- */

static void note_latency(struct worker *w, uint64_t ns)
{
	if (w->latency_count < LATENCIES_MAX)
		w->latencies[w->latency_count++] = ns;
}

/* When the next batch of all threads is due; without a rate, now. False at the end. */
static bool wait_due(struct load *l, uint64_t *ret_due)
{
	struct timespec until;
	uint64_t due = mono_ns();

	if (l->rate > 0) {
		due = l->start_ns +
		      (uint64_t)((double)atomic_fetch_add(&l->due, 1) * 1e9 / l->rate);
		until.tv_sec = (time_t)(due / 1000000000);
		until.tv_nsec = (long)(due % 1000000000);
		if (due < l->end_ns)
			while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
				;
	}
	*ret_due = due;
	return due < l->end_ns;
}

static void fill_addresses(struct request *q, struct load *l)
{
	const uint64_t *from = take(l, l->batch);

	memcpy(q->address, from, l->batch * sizeof(q->address[0]));
	for (size_t i = 0; l->pool_table && i < l->batch; i++)
		q->of_module[i] = l->pool_table[from - l->pool + i];
}

static void fill(struct worker *w, struct request *q)
{
	struct load *l = w->load;

	if (l->stacks)
		fill_stacks(q, l);
	else if (l->pool)
		fill_addresses(q, l);
	else
		for (size_t i = 0; i < l->batch; i++)
			q->address[i] = random_next(&q->seed) & 0xffffff;
	if (l->id_count > 1 && !l->pool_table) {
		const struct build_id *id = &l->ids[random_next(&q->seed) % l->id_count];

		q->module[0].build_id.data = (uint8_t *)(uintptr_t)id->bytes;
		q->module[0].build_id.len = id->len;
	}
}

/* False when there was no answer. */
static bool ask(struct worker *w, struct rpc_client *c, struct request *q)
{
	const struct rpc_request request = {
		.method = "/rawstack.v1.Symbolizer/Symbolize",
		.message = &q->batch.base,
		.reply_type = &rawstack__v1__symbolized_batch__descriptor,
		.timeout_ms = CALL_MS,
		.arena = &w->arena,
	};
	ProtobufCMessage *reply;
	struct err err;

	fill(w, q);
	if (rpc_client_request(c, &request, &reply, &err)) {
		if (!w->failed++)
			log_warn("%s", err.message);
		return false;
	}
	read_reply(w, q, (const Rawstack__V1__SymbolizedBatch *)reply);
	arena_reset(&w->arena);
	return true;
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct load *l = w->load;
	struct request *q = calloc(1, sizeof(*q));
	struct rpc_client *c = open_client(l->server);
	uint64_t due;

	w->latencies = malloc(LATENCIES_MAX * sizeof(w->latencies[0]));
	w->location = malloc((BATCH_MAX + 1) * sizeof(w->location[0]));
	w->arena = (struct arena)ARENA_INIT(64 * MIB);
	if (!q || !w->latencies || !w->location)
		die("client", NULL);
	q->seed = w->number + 1;
	request_init(q, &l->ids[0], l->stacks ? STACK_LOCATIONS : l->batch);
	if (l->full_names)
		q->batch.demangle = RAWSTACK__V1__DEMANGLE__DEMANGLE_FULL;
	if (l->stacks)
		request_stacks_init(q, l);
	if (l->pool_table)
		request_tables_init(q, l);
	/* A connection takes as long to come about as many batches to be answered: not measured. */
	ask(w, c, q);
	w->addresses = w->frames = w->strings = w->deferred = 0;
	pthread_barrier_wait(&l->ready);
	pthread_barrier_wait(&l->ready); /* the start is set in between */
	while (wait_due(l, &due))
		if (ask(w, c, q))
			note_latency(w, mono_ns() - due);
	rpc_client_close(c);
	arena_done(&w->arena);
	free(w->location);
	free(q);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static void print_latencies(struct worker *workers, unsigned int threads)
{
	uint64_t *all = malloc(threads * LATENCIES_MAX * sizeof(*all));
	size_t count = 0;

	if (!all)
		die("latencies", NULL);
	for (unsigned int i = 0; i < threads; i++) {
		memcpy(all + count, workers[i].latencies, workers[i].latency_count * sizeof(*all));
		count += workers[i].latency_count;
		free(workers[i].latencies);
	}
	qsort(all, count, sizeof(*all), by_value);
	if (count)
		printf("p50_us %.0f\np99_us %.0f\nmax_us %.0f\n", (double)all[count / 2] / 1e3,
		       (double)all[count * 99 / 100] / 1e3, (double)all[count - 1] / 1e3);
	free(all);
}

static double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void run_all(struct load *l, unsigned int threads)
{
	static struct worker workers[THREADS_MAX];
	uint64_t addresses = 0, frames = 0, strings = 0, deferred = 0, failed = 0, batches = 0;
	double seconds, cpu;

	if (pthread_barrier_init(&l->ready, NULL, threads + 1))
		die("barrier", NULL);
	for (unsigned int i = 0; i < threads; i++) {
		workers[i].load = l;
		workers[i].number = i;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			die("thread", NULL);
	}
	pthread_barrier_wait(&l->ready);
	cpu = cpu_seconds();
	l->start_ns = mono_ns();
	l->end_ns = l->start_ns + (uint64_t)(l->seconds * 1e9);
	pthread_barrier_wait(&l->ready);
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		addresses += workers[i].addresses;
		frames += workers[i].frames;
		strings += workers[i].strings;
		deferred += workers[i].deferred;
		failed += workers[i].failed;
		batches += workers[i].latency_count;
	}
	seconds = (double)(mono_ns() - l->start_ns) / 1e9;
	printf("cpu_seconds %.3f\n", cpu_seconds() - cpu);
	printf("batches %" PRIu64 "\nseconds %.2f\n%s_per_s %.0f\n", batches, seconds,
	       l->stacks ? "stack_frames" : "addresses", (double)addresses / seconds);
	printf("reply_frames_per_batch %.0f\nstrings_per_batch %.0f\n",
	       (double)frames / (double)(batches + !batches),
	       (double)strings / (double)(batches + !batches));
	printf("deferred %" PRIu64 "\nfailed %" PRIu64 "\n", deferred, failed);
	print_latencies(workers, threads);
}

static unsigned int number(const char *text, unsigned int max)
{
	unsigned long n = strtoul(text, NULL, 10);

	if (n == 0 || n > max) {
		log_error("'%s' is not a number from 1 to %u", text, max);
		exit(2);
	}
	return (unsigned int)n;
}

static int storm(int argc, char **argv, struct load *l)
{
	struct build_id *ids = calloc((size_t)argc, sizeof(*ids));
	struct err err = {0};

	if (!ids)
		die("ids", NULL);
	for (int i = 5; i < argc; i++)
		if (build_id_parse(&ids[l->id_count++], argv[i], &err))
			die(argv[i], &err);
	l->server = argv[2];
	l->seconds = strtod(argv[3], NULL);
	l->ids = ids;
	run_all(l, number(argv[4], THREADS_MAX));
	free(ids);
	return 0;
}

int main(int argc, char **argv)
{
	struct load l = {.batch = BATCH};

	log_init("service_load");
	if (argc == 4 && !strcmp(argv[1], "draw")) {
		open_table(&l, argv[2]);
		draw(&l);
		for (size_t i = 0, n = number(argv[3], POOL_MAX); i < n && i < l.pool_count; i++)
			printf("0x%" PRIx64 "\n", l.pool[i]);
	} else if (argc == 4 && !strcmp(argv[1], "bare")) {
		open_table(&l, argv[2]);
		draw(&l);
		l.seconds = strtod(argv[3], NULL);
		bare(&l);
	} else if (argc >= 6 && (!strcmp(argv[1], "lookup") || !strcmp(argv[1], "stacks"))) {
		open_table(&l, argv[3]);
		draw(&l);
		l.server = argv[2];
		l.stacks = argv[1][0] == 's';
		l.ids = &l.table.id;
		l.id_count = 1;
		l.seconds = strtod(argv[4], NULL);
		l.rate = argc > 6 ? strtod(argv[6], NULL) : 0;
		run_all(&l, number(argv[5], THREADS_MAX));
	} else if (argc >= 8 && argc < 8 + TABLES_MAX && !strcmp(argv[1], "distinct")) {
		static struct build_id ids[TABLES_MAX];

		draw_tables(&l, argv + 7, (size_t)argc - 7, number(argv[5], POOL_MAX), ids);
		l.batch = number(argv[6], BATCH_MAX);
		l.full_names = true;
		l.server = argv[2];
		l.seconds = strtod(argv[3], NULL);
		run_all(&l, number(argv[4], THREADS_MAX));
	} else if (argc == 5 && !strcmp(argv[1], "upload")) {
		upload(argv[2], (size_t)number(argv[3], 4096) << 20, number(argv[4], 1000));
	} else if (argc == 4 && !strcmp(argv[1], "hold")) {
		hold(argv[2], number(argv[3], 100000));
	} else if (argc == 5 && !strcmp(argv[1], "connect")) {
		connect_often(argv[2], strtod(argv[3], NULL), number(argv[4], THREADS_MAX));
	} else if (argc > 5 && !strcmp(argv[1], "storm")) {
		return storm(argc, argv, &l);
	} else {
		log_error("see the head of its source");
		return 2;
	}
	free(l.pool);
	free(l.pool_table);
	return 0;
}
