/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TRUST_H
#define RAWSTACK_TRUST_H
/*
 * Decides whether to trust a peer's certificate: it is signed by one of our CAs (RFC 5280 section
 * 6), valid now, for its use, and, for a server, for the name that was called (RFC 6125;
 * alternative names only, never the common name). It gives the reason for a refusal, which gRPC
 * core 1.51 does not.
 *
 * It does not check that the peer has the key; TLS has done that. Safe from any thread.
 */
#include "base.h"
#include "err.h"

struct trust;

/* Opens a set of CAs. ca is a PEM text; `name` is borrowed and names it in errors. */
int trust_open(struct trust **ret, const char *ca, const char *name, struct err *err) _must_check_;
void trust_close(struct trust *t);
DEFINE_FREEP(struct trust, trust_close);

enum trust_use {
	TRUST_SERVER,
	TRUST_CLIENT
};

/* The certificates that a peer sent, as PEM texts; both end in NUL. */
struct trust_shown {
	const char *leaf;
	const char *chain; /* those that lead to a CA, perhaps with the leaf; or NULL */
};

/*
 * Checks a peer. host is the name or address that the leaf has to be for; NULL: any. Returns 0 and,
 * in *ret_end unless it is NULL, the time until which this holds, in seconds since 1970; ERR_DENIED
 * with the reason; or ERR_DATA if it is no certificate.
 */
int trust_check(const struct trust *t, const struct trust_shown *shown, enum trust_use use,
		const char *host, int64_t *ret_end, struct err *err) _must_check_;

#endif
