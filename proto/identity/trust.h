/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TRUST_H
#define RAWSTACK_TRUST_H
/*
 * Whether a peer's certificate is to be believed: signed by one of our CAs (RFC 5280 section 6), in
 * time, for its use, and, of a server, for the name that was called (RFC 6125; alternative names
 * only, never the common name). Says why not, which gRPC core 1.51 does not.
 *
 * Does not know whether the peer has the key: TLS has seen to that. Safe from any thread.
 */
#include "base.h"
#include "err.h"

struct trust;

/* ca: a text of PEM; `name` is what errors call it by, kept, not copied. */
int trust_open(struct trust **ret, const char *ca, const char *name, struct err *err) _must_check_;
void trust_close(struct trust *t);
DEFINE_FREEP(struct trust, trust_close);

enum trust_use {
	TRUST_SERVER,
	TRUST_CLIENT
};

/* What a peer has shown, as texts of PEM; both end in NUL. */
struct trust_shown {
	const char *leaf;
	const char *chain; /* those that lead to a CA, the leaf too or not; NULL: none */
};

/*
 * host: the name or address that the leaf has to be for; NULL: any. 0, and in *ret_end (may be
 * NULL) when that ends, in seconds since 1970; ERR_DENIED and one line that says why not; ERR_DATA
 * when it is no certificate.
 */
int trust_check(const struct trust *t, const struct trust_shown *shown, enum trust_use use,
		const char *host, int64_t *ret_end, struct err *err) _must_check_;

#endif
