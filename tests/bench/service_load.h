/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SERVICE_LOAD_H
#define RAWSTACK_SERVICE_LOAD_H
/* What the parts of service_load share. Whatever goes wrong ends the program. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "io.h"
#include "rpc_client.h"
#include "rsym.h"

enum {
	BATCH = 8192,
	BATCH_MAX = 20000, /* of "distinct" */
	CALL_MS = 60000,
	POOL_MAX = 1 << 23, /* addresses of a run */
	TABLES_MAX = 16,    /* of "distinct" */
};

struct load {
	const char *server;
	bool stacks, full_names;
	size_t batch; /* addresses of a request */
	double seconds, rate;
	struct rsym table;
	uint64_t *pool; /* distinct addresses in random order */
	size_t pool_count;
	atomic_size_t next;         /* in the pool */
	const struct build_id *ids; /* of a storm, or of the tables of a batch */
	size_t id_count;
	uint8_t *pool_table; /* with several tables in a batch: which one each address is of */
	uint64_t start_ns, end_ns;
	atomic_size_t due;       /* batches that were given out, with a rate */
	pthread_barrier_t ready; /* of all threads, once each has had an answer */
};

static inline uint64_t mono_ns(void)
{
	const struct io *io = io_system();

	return io->mono_ns(io->ctx);
}

static inline uint64_t random_next(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* err NULL: errno says why. */
_Noreturn void die(const char *what, const struct err *err);

/* A client with what RAWSTACK_CA, RAWSTACK_CERT and RAWSTACK_KEY name: TLS with the first of them.
 */
struct rpc_client *open_client(const char *server);

void open_table(struct load *l, const char *path);

/* Every byte of code, shuffled, and as many of them as are wanted. */
void draw(struct load *l);

/* "distinct" of several tables: as many addresses of each, count in all, shuffled. ids must hold
 * TABLES_MAX. */
void draw_tables(struct load *l, char *const *paths, size_t path_count, size_t count,
		 struct build_id *ids);

/* The next count addresses; the pool begins again when it is used up. */
const uint64_t *take(struct load *l, size_t count);

/* Looks up in process, without a service, for l->seconds. */
void bare(struct load *l);

/* Sends files of len bytes, one after the other, and prints how fast each went. */
void upload(const char *server, size_t len, unsigned long count);

/* Keeps connections until standard input ends. */
void hold(const char *server, size_t count);

/* Makes connections for so many seconds, each for one small call, and prints how many. */
void connect_often(const char *server, double seconds, unsigned int threads);

#endif
