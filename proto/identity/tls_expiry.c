/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_expiry.h"

#include <stdio.h>
#include <time.h>

#include "certificate.h"

enum {
	DAY_S = 86400,
	/* Whoever renews by a program does so with a month to go: 14 days mean that it failed. */
	WARN_S = 14 * DAY_S,
	/* A certificate that lives for hours, as those of SPIFFE, has a third of them. */
	WARN_PART = 3,
};

#define LOOK_NS UINT64_C(86400000000000) /* a day between two warnings */

void tls_expiry_init(struct tls_expiry *e)
{
	*e = (struct tls_expiry){0};
	pthread_mutex_init(&e->lock, NULL);
}

void tls_expiry_done(struct tls_expiry *e)
{
	pthread_mutex_destroy(&e->lock);
}

void tls_expiry_take(struct tls_expiry *e, const struct tls_texts *texts, const char *path)
{
	_cleanup_(certificate_list_free) STACK_OF(X509) *chain = NULL;
	char subject[CERTIFICATE_NAME_LEN];
	const X509 *first = NULL;

	if (!texts->cert || certificate_list_parse(&chain, texts->cert, NULL))
		return;
	for (int i = 0; i < sk_X509_num(chain); i++) {
		const X509 *x = sk_X509_value(chain, i);

		if (!first || certificate_end(x) < certificate_end(first))
			first = x;
	}
	certificate_subject(first, subject);
	pthread_mutex_lock(&e->lock);
	snprintf(e->name, sizeof(e->name), "%s in %s", subject, path);
	e->begin = certificate_begin(first);
	atomic_store(&e->end, certificate_end(first));
	atomic_store(&e->look_ns, 0);
	pthread_mutex_unlock(&e->lock);
}

bool tls_expiry_is_due(struct tls_expiry *e, int64_t now, uint64_t mono_ns, char *to, size_t len)
{
	int64_t end, most;
	char date[32] = "";
	struct tm tm;
	bool due;

	if (mono_ns < atomic_load_explicit(&e->look_ns, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&e->lock);
	end = atomic_load(&e->end);
	most = (end - e->begin) / WARN_PART;
	due = end && mono_ns >= atomic_load(&e->look_ns) &&
	      end - now < (most < WARN_S ? most : WARN_S);
	/* The moment may come within the day; an hour is near enough. */
	atomic_store(&e->look_ns, mono_ns + (due ? LOOK_NS : LOOK_NS / 24));
	if (due) {
		if (gmtime_r(&end, &tm))
			(void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
		if (end <= now)
			snprintf(to, len, "the certificate of %s expired on %s: replace it",
				 e->name, date);
		else
			snprintf(to, len,
				 "the certificate of %s expires in %lld days and %lld hours, on "
				 "%s: replace it",
				 e->name, (long long)(end - now) / DAY_S,
				 (long long)(end - now) % DAY_S / 3600, date);
	}
	pthread_mutex_unlock(&e->lock);
	return due;
}

int64_t tls_expiry_end(struct tls_expiry *e)
{
	return atomic_load(&e->end);
}
