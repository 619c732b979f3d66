/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TLS_EXPIRY_H
#define RAWSTACK_TLS_EXPIRY_H
/*
 * Warns while a server's certificate is about to expire: when it is taken, and then once a day. A
 * certificate is about to expire in its last 14 days, or in the last third of its time if that is
 * shorter. Safe from any thread, except init and done.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base.h"
#include "tls_files.h"

struct tls_expiry {
	pthread_mutex_t lock;
	_Atomic int64_t end; /* seconds since 1970; 0: no certificate */
	_Atomic uint64_t look_ns;
	int64_t begin;
	char name[160];
};

void tls_expiry_init(struct tls_expiry *e);
void tls_expiry_done(struct tls_expiry *e);

/* Takes the certificate of the texts; of a chain that of its certificates which expires first. */
void tls_expiry_take(struct tls_expiry *e, const struct tls_texts *texts, const char *path);

/*
 * Returns whether a warning is due, and writes it to `to`. Cheap when it is not. now is in seconds
 * since 1970, mono_ns that of io_mono_ns().
 */
bool tls_expiry_is_due(struct tls_expiry *e, int64_t now, uint64_t mono_ns, char *to, size_t len);

/* Returns when the certificate expires, in seconds since 1970, or 0 if there is none. */
int64_t tls_expiry_end(struct tls_expiry *e);

#endif
