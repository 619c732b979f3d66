/* SPDX-License-Identifier: Apache-2.0 */
#include "store_record.h"

#include "bytes.h"
#include "crc32c.h"
#include "limits.h"

enum {
	RECORD_VERSION = 1,
	MISSING_VERSION = 1
};

static bool seal(struct buf *out)
{
	return !out->failed && buf_u32(out, crc32c(0, out->p, out->len));
}

/* The bytes before the sum, if it is right; else an empty failed cursor. */
static struct bytes unseal(struct kv_bytes value)
{
	struct bytes b = {.failed = true};
	const uint8_t *p = value.p;
	uint32_t sum;

	if (value.len < sizeof(sum))
		return b;
	memcpy(&sum, p + value.len - sizeof(sum), sizeof(sum));
	if (crc32c(0, p, value.len - sizeof(sum)) != sum)
		return b;
	return bytes_of(p, value.len - sizeof(sum));
}

static int damaged(const char *what, struct kv_bytes key, struct err *err)
{
	struct build_id id;
	char hex[BUILD_ID_HEX_MAX] = "?";

	if (!build_id_set(&id, BUILD_ID_GNU, key.p, key.len, NULL))
		build_id_hex(&id, hex);
	return err_set(err, ERR_DATA, "%s of %s is damaged", what, hex);
}

bool store_record_encode(const struct store_record *r, struct buf *out)
{
	const struct store_binary *b = &r->binary;

	if (b->meta_len > LIMIT_BINARY_META_LEN)
		return false;
	buf_u8(out, RECORD_VERSION);
	buf_u8(out, (uint8_t)b->status);
	buf_u8(out, b->pinned);
	buf_u8(out, b->id.kind);
	buf_u64(out, b->changed_ns);
	buf_u64(out, b->generation);
	buf_u64(out, b->table_len);
	buf_u64(out, r->number);
	buf_u32(out, r->table_crc);
	buf_append(out, b->meta, b->meta_len);
	return seal(out);
}

int store_record_decode(struct store_record *r, struct kv_bytes key, struct kv_bytes value,
			struct err *err)
{
	struct bytes in = unseal(value);
	struct store_binary *b = &r->binary;
	uint8_t version = bytes_u8(&in), kind;

	memset(r, 0, sizeof(*r));
	b->status = bytes_u8(&in);
	b->pinned = bytes_u8(&in);
	kind = bytes_u8(&in);
	b->changed_ns = bytes_u64(&in);
	b->generation = bytes_u64(&in);
	b->table_len = bytes_u64(&in);
	r->number = bytes_u64(&in);
	r->table_crc = bytes_u32(&in);
	b->meta = in.p;
	b->meta_len = in.left;
	if (in.failed || version != RECORD_VERSION || b->status < STORE_READY ||
	    b->status > STORE_PURGED || build_id_set(&b->id, kind, key.p, key.len, NULL))
		return damaged("the record", key, err);
	return 0;
}

bool store_missing_encode(const struct store_missing *m, struct buf *out)
{
	buf_u8(out, MISSING_VERSION);
	buf_u8(out, m->id.kind);
	buf_u64(out, m->weight);
	buf_u64(out, m->first_ns);
	buf_u64(out, m->last_ns);
	buf_u8(out, (uint8_t)m->path_count);
	for (size_t i = 0; i < m->path_count; i++) {
		buf_u16(out, (uint16_t)m->paths[i].len);
		buf_append(out, m->paths[i].p, m->paths[i].len);
	}
	return seal(out);
}

int store_missing_decode(struct store_missing *m, struct kv_bytes key, struct kv_bytes value,
			 struct err *err)
{
	struct bytes in = unseal(value);
	uint8_t version = bytes_u8(&in), kind;

	memset(m, 0, sizeof(*m));
	kind = bytes_u8(&in);
	m->weight = bytes_u64(&in);
	m->first_ns = bytes_u64(&in);
	m->last_ns = bytes_u64(&in);
	m->path_count = bytes_u8(&in);
	if (m->path_count > ARRAY_LEN(m->paths))
		bytes_fail(&in);
	for (size_t i = 0; i < m->path_count && !in.failed; i++) {
		m->paths[i].len = bytes_u16(&in);
		m->paths[i].p = bytes_take(&in, m->paths[i].len);
	}
	if (in.failed || version != MISSING_VERSION ||
	    build_id_set(&m->id, kind, key.p, key.len, NULL))
		return damaged("the missing record", key, err);
	return 0;
}

void store_number_encode(uint64_t n, uint8_t out[static STORE_NUMBER_LEN])
{
	uint32_t sum = crc32c(0, &n, sizeof(n));

	memcpy(out, &n, sizeof(n));
	memcpy(out + sizeof(n), &sum, sizeof(sum));
}

bool store_number_decode(struct kv_bytes value, uint64_t *ret)
{
	struct bytes in = unseal(value);

	*ret = bytes_u64(&in);
	return !in.failed;
}
