/* SPDX-License-Identifier: Apache-2.0 */
#include "upload_check.h"

#include <string.h>

#include "digest.h"

bool upload_kind_is_of_host(Rawstack__V1__BinaryKind kind)
{
	return kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS ||
	       kind == RAWSTACK__V1__BINARY_KIND__BINARY_KIND_VDSO;
}

int upload_check_digest(const struct upload *up, struct err *err)
{
	const size_t chunk = 1 << 20;
	_cleanup_(freep) uint8_t *p = malloc(chunk);
	uint8_t sum[DIGEST_LEN];
	uint64_t left = up->begin->size;
	struct digest d;

	if (!p)
		return err_no_memory(err);
	digest_init(&d);
	while (left) {
		size_t n = left < chunk ? (size_t)left : chunk;

		TRY(io_read_all(io_system(), up->fd, p, n, (off_t)(up->begin->size - left), err));
		digest_update(&d, p, n);
		left -= n;
	}
	digest_finish(&d, sum);
	if (memcmp(sum, up->begin->sha256.data, DIGEST_LEN) != 0)
		return err_set(err, ERR_DATA, "the content has another SHA-256 than declared");
	return 0;
}

/* A file could have the hash of another file as its build id. Such an id is refused, because it
 * names the other file already. */
int upload_check_id_alias(const struct upload *up, struct store *store, struct err *err)
{
	char declared[BUILD_ID_HEX_MAX], found[BUILD_ID_HEX_MAX];
	struct build_id id;
	struct store_read *r;
	int rc = store_read_begin(store, &r, err);

	if (rc == ERR_DATA) { /* the store is damaged, not the upload */
		if (err)
			err->code = ERR_DAMAGED;
		return ERR_DAMAGED;
	}
	if (rc)
		return rc;
	id = store_resolve_alias(r, &up->id);
	store_read_end(r);
	if (!build_id_equal(&id, &up->id))
		return err_set(err, ERR_DATA, "%s is the hash of the file with build id %s",
			       build_id_hex(&up->id, declared), build_id_hex(&id, found));
	return 0;
}

int upload_check_id(const struct upload *up, const char *worker_path, struct image_summary *ret,
		    struct err *err)
{
	char declared[BUILD_ID_HEX_MAX], found[BUILD_ID_HEX_MAX];
	struct build_id id;
	int rc;

	switch (up->begin->kind) {
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_KALLSYMS:
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_TABLE: /* has its own check */
	case RAWSTACK__V1__BINARY_KIND__BINARY_KIND_DWP:   /* has no id */
		return 0;
	default:
		break;
	}
	rc = table_inspect(up->fd, worker_path, ret, err);
	if (!rc)
		rc = image_summary_identity(up->fd, ret, &id, err);
	if (rc == ERR_UNSUPPORTED)
		rc = err->code = ERR_DATA;
	if (rc)
		return rc;
	if (build_id_equal(&id, &up->id))
		return 0;
	build_id_hex(&id, found);
	build_id_hex(&up->id, declared);
	if (build_id_is_text(&up->id))
		return err_set(err, ERR_DATA, "the file has build id %s: " BUILD_ID_TEXT_HINT,
			       found, up->id.len, up->id.len / 2);
	return err_set(err, ERR_DATA, "the file has build id %s, declared was %s", found, declared);
}
