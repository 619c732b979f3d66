/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the state of the service, to probes and to people. */
#include "io.h"
#include "limits.h"
#include "service_priv.h"

int service_ready(struct service *s, struct err *err)
{
	const uint64_t free_bytes = io_system()->free_bytes(NULL, s->data_fd);
	struct store_stat stat;

	store_stat(s->store, &stat);
	if (stat.failed || stat.gone)
		return err_set(err, ERR_UNAVAILABLE,
			       "the store has to be opened anew: %s/store.mdb", s->data_dir);
	if (free_bytes < LIMIT_DISK_FLOOR)
		return err_set(err, ERR_UNAVAILABLE,
			       "the disk of %s is full: %llu bytes are free, and %llu have to stay "
			       "free",
			       s->data_dir, (unsigned long long)free_bytes,
			       (unsigned long long)LIMIT_DISK_FLOOR);
	return 0;
}

size_t service_uploads(struct service *s, struct upload_shown *rows, size_t max)
{
	return uploads_show(s->uploads, rows, max);
}
