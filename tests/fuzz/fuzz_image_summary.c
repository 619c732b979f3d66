/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ELF file whose headers and notes are looked at, as the worker does it for a
 * service and tools do it by themselves: refused, or told what it is; and the work is bounded.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image_summary.h"
#include "thread_seconds.h"

/* A hundred times what the worst of a megabyte takes. */
#define SECONDS_MAX 10

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void check_id(const struct build_id *id)
{
	struct build_id again;
	struct err err;

	if (build_id_set(&again, id->kind, id->bytes, id->len, &err) || !build_id_equal(&again, id))
		abort();
}

static void look_at(int fd)
{
	struct build_id id, second;
	struct image_summary s;
	struct err err = {0};
	int rc = image_summary_read(fd, &s, &err);

	if (rc) {
		if (rc > 0 || !err.message[0])
			abort();
		return;
	}
	/* Nothing in memory is unreadable: what is an ELF file has an identity. */
	if (image_summary_identity(fd, &s, &id, &err))
		abort();
	check_id(&id);
	rc = image_summary_second_name(fd, &s, &second, &err);
	if (rc < 0)
		abort();
	if (rc)
		check_id(&second);
	if (s.alt_id.kind != BUILD_ID_NONE)
		check_id(&s.alt_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const double begin = thread_seconds();
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	look_at(fd);
	close(fd);
	if (thread_seconds() - begin > SECONDS_MAX)
		abort();
	return 0;
}
