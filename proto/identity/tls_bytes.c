/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_bytes.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

typedef int read_tls_fn(SSL *ssl, void *to, int len);

/* The state that is kept with an SSL of ours. */
struct shown {
	bool refused; /* nothing more is read */
	max_align_t state[];
};

static struct {
	_Atomic(const struct tls_bytes_watcher *) watcher;
	read_tls_fn *read;
	int index; /* of struct shown among the data of an SSL */
} table = {.index = -1};

static void find_library_read(void)
{
	table.read = (read_tls_fn *)dlsym(RTLD_NEXT, "SSL_read");
}

static void free_shown(void *ssl _unused_, void *p, CRYPTO_EX_DATA *data _unused_,
		       int index _unused_, long number _unused_, void *arg _unused_)
{
	free(p);
}

/* Returns what is kept with the connection, made at its first bytes; NULL: out of memory. */
static struct shown *find_shown(const struct tls_bytes_watcher *w, SSL *ssl)
{
	struct shown *s = SSL_get_ex_data(ssl, table.index);
	uint8_t random[TLS_BYTES_RANDOM_LEN];

	if (s)
		return s;
	s = calloc(1, sizeof(*s) + w->state_len);
	if (!s)
		return NULL;
	if (!SSL_set_ex_data(ssl, table.index, s)) {
		free(s);
		return NULL;
	}
	if (SSL_get_client_random(ssl, random, sizeof(random)) == sizeof(random))
		w->begin(random);
	return s;
}

/* Ends a connection: gRPC takes an SSL_read() that fails with a reason for a broken peer. */
static int stop_reading(struct shown *s)
{
	if (s)
		s->refused = true;
	ERR_raise(ERR_LIB_USER, 1);
	return -1;
}

/* Replaces libssl's SSL_read() for all libraries of the program: see the header. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): its are other words. */
__attribute__((visibility("default"))) int SSL_read(SSL *ssl, void *to, int len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct tls_bytes_watcher *w = atomic_load(&table.watcher);
	struct shown *s;
	int got;

	pthread_once(&once, find_library_read);
	if (!table.read)
		return stop_reading(NULL);
	if (!w || !SSL_is_server(ssl))
		return table.read(ssl, to, len);
	s = SSL_get_ex_data(ssl, table.index);
	if (s && s->refused)
		return stop_reading(s);
	got = table.read(ssl, to, len);
	if (got <= 0)
		return got;
	s = find_shown(w, ssl);
	return s && w->look(s->state, to, (size_t)got) ? got : stop_reading(s);
}

int tls_bytes_watch(const struct tls_bytes_watcher *watcher, struct err *err)
{
	if (dlsym(RTLD_DEFAULT, "SSL_read") != (void *)SSL_read)
		return err_set(err, ERR_INTERNAL, "linked without SSL_read() for its libraries");
	if (atomic_load(&table.watcher))
		return 0;
	table.index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, NULL, NULL, NULL, free_shown);
	if (table.index < 0)
		return err_no_memory(err);
	atomic_store(&table.watcher, watcher);
	return 0;
}
