/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TLS_BYTES_H
#define RAWSTACK_TLS_BYTES_H
/*
 * Shows the bytes that clients send within TLS to somebody before gRPC core has them. Core reads a
 * connection by SSL_read(), so a program that links this room has an SSL_read() of its own, as it
 * has an X509_get_ext_d2i() (alternative_names.h). Connections on which this process is the client
 * are read as ever, and so are all before tls_bytes_watch(). Safe from any thread.
 */
#include "base.h"
#include "err.h"

enum {
	TLS_BYTES_RANDOM_LEN = 32, /* the random of a ClientHello (RFC 8446 section 4.1.2) */
};

struct tls_bytes_watcher {
	size_t state_len; /* bytes of `state`, which is zero at first and goes with the connection
			   */
	/* Called with the first bytes of a connection, whose handshake is complete by then;
	 * `random` is that of its ClientHello. */
	void (*begin)(const uint8_t random[static TLS_BYTES_RANDOM_LEN]);
	/* Returns whether the bytes may be used. If not, the connection ends with an error. One
	 * thread at a time for each state. */
	bool (*look)(void *state, const void *p, size_t len);
};

/* Begins to show bytes; the struct is kept. Later calls do nothing. Returns ERR_INTERNAL if the
 * program was linked without our SSL_read(), or ERR_MEMORY. */
int tls_bytes_watch(const struct tls_bytes_watcher *watcher, struct err *err) _must_check_;

#endif
