/* SPDX-License-Identifier: Apache-2.0 */
#include "store_record.h"

#include "bytes.h"
#include "crc32c.h"
#include "limits.h"

enum {
	RECORD_VERSION = 2,
	MISSING_VERSION = 1,
	ALIASES_VERSION = 1,
};

static bool seal_record(struct buf *out)
{
	return !out->failed && buf_u32(out, crc32c(0, out->p, out->len));
}

/* Returns the bytes before the sum if the sum is right, else an empty failed cursor. */
static struct bytes unseal_record(struct kv_bytes value)
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

static int record_damaged(const char *what, struct kv_bytes key, struct err *err)
{
	struct build_id id;
	char hex[BUILD_ID_HEX_MAX] = "?";

	if (!build_id_set(&id, BUILD_ID_GNU, key.p, key.len, NULL))
		build_id_hex(&id, hex);
	return err_set(err, ERR_DATA, "%s of %s is damaged", what, hex);
}

/* --- tables of several formats --------------------------------------------------------------- */

const struct store_record_table *store_record_table(const struct store_record *r, uint16_t format)
{
	for (size_t i = 0; i < r->table_count; i++)
		if (r->tables[i].format == format)
			return &r->tables[i];
	return NULL;
}

void store_record_see(struct store_record *r, uint16_t format)
{
	const struct store_record_table *own = store_record_table(r, format);
	struct store_binary *b = &r->binary;

	b->generation = own ? own->generation : 0;
	b->table_len = own ? own->len : 0;
	b->other_len = 0;
	b->other_format = 0;
	for (size_t i = 0; i < r->table_count; i++) {
		if (r->tables[i].format == format)
			continue;
		b->other_len += r->tables[i].len;
		if (r->tables[i].format > b->other_format)
			b->other_format = r->tables[i].format;
	}
	b->status = r->written;
	if (own)
		b->status = STORE_READY;
	else if (r->written == STORE_READY)
		b->status = r->table_count ? STORE_OTHER : STORE_PURGED;
}

bool store_record_drop(struct store_record *r, uint16_t format)
{
	const struct store_record_table *t = store_record_table(r, format);

	if (!t)
		return false;
	r->tables[t - r->tables] = r->tables[--r->table_count];
	return true;
}

bool store_record_add(struct store_record *r, const struct store_record_table *t,
		      struct store_record_table *ret_gone)
{
	bool fits;

	store_record_drop(r, t->format);
	fits = r->table_count < STORE_FORMATS;
	if (!fits) {
		*ret_gone = r->tables[0];
		for (size_t i = 1; i < r->table_count; i++)
			if (r->tables[i].format < ret_gone->format)
				*ret_gone = r->tables[i];
		store_record_drop(r, ret_gone->format);
	}
	r->tables[r->table_count++] = *t;
	return fits;
}

/* --- the key -----------------------------------------------------------------------------------
 */

/*
 * The checksum of a record once covered its value alone, and older programs still compare it so.
 * The checksum of the key therefore stands behind the service's own bytes, a protobuf message, as a
 * field that no message has: the last field number there is, of four bytes.
 */
static const uint8_t key_tag[] = {0xfd, 0xff, 0xff, 0xff, 0x0f};

enum {
	KEY_SUM_LEN = sizeof(key_tag) + sizeof(uint32_t)
};

static uint32_t key_sum(struct kv_bytes key)
{
	return crc32c(UINT32_C(0x6b657973), key.p, key.len);
}

/* Cuts the sum of the key off the meta, unless the record is older and has none. Returns false if
 * it is the sum of another key. */
static bool take_key_sum(struct store_binary *b, struct kv_bytes key)
{
	const uint8_t *end = (const uint8_t *)b->meta + b->meta_len;
	uint32_t sum;

	if (b->meta_len < KEY_SUM_LEN || memcmp(end - KEY_SUM_LEN, key_tag, sizeof(key_tag)) != 0)
		return true;
	memcpy(&sum, end - sizeof(sum), sizeof(sum));
	b->meta_len -= KEY_SUM_LEN;
	return sum == key_sum(key);
}

/* --- as bytes -------------------------------------------------------------------------------- */

bool store_record_encode(const struct store_record *r, struct buf *out)
{
	const struct store_binary *b = &r->binary;

	if (b->meta_len > LIMIT_BINARY_META_LEN)
		return false;
	buf_u8(out, RECORD_VERSION);
	buf_u8(out, (uint8_t)r->written);
	buf_u8(out, b->pinned);
	buf_u8(out, b->id.kind);
	buf_u64(out, b->changed_ns);
	buf_u8(out, (uint8_t)r->table_count);
	for (size_t i = 0; i < r->table_count; i++) {
		buf_u16(out, r->tables[i].format);
		buf_u32(out, r->tables[i].crc);
		buf_u64(out, r->tables[i].number);
		buf_u64(out, r->tables[i].generation);
		buf_u64(out, r->tables[i].len);
	}
	buf_append(out, b->meta, b->meta_len);
	buf_append(out, key_tag, sizeof(key_tag));
	buf_u32(out, key_sum((struct kv_bytes){b->id.bytes, b->id.len}));
	return seal_record(out);
}

int store_record_decode(struct store_record *r, struct kv_bytes key, struct kv_bytes value,
			uint16_t format, struct err *err)
{
	struct bytes in = unseal_record(value);
	struct store_binary *b = &r->binary;
	uint8_t version = bytes_u8(&in), kind;

	memset(r, 0, sizeof(*r));
	r->written = bytes_u8(&in);
	b->pinned = bytes_u8(&in);
	kind = bytes_u8(&in);
	b->changed_ns = bytes_u64(&in);
	r->table_count = bytes_u8(&in);
	if (r->table_count > STORE_FORMATS)
		bytes_fail(&in);
	for (size_t i = 0; i < r->table_count && !in.failed; i++) {
		r->tables[i].format = bytes_u16(&in);
		r->tables[i].crc = bytes_u32(&in);
		r->tables[i].number = bytes_u64(&in);
		r->tables[i].generation = bytes_u64(&in);
		r->tables[i].len = bytes_u64(&in);
	}
	b->meta = in.p;
	b->meta_len = in.left;
	if (in.failed || version != RECORD_VERSION || r->written < STORE_READY ||
	    r->written > STORE_PURGED || build_id_set(&b->id, kind, key.p, key.len, NULL) ||
	    !take_key_sum(b, key))
		return record_damaged("the record", key, err);
	store_record_see(r, format);
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
	buf_u32(out, key_sum((struct kv_bytes){m->id.bytes, m->id.len}));
	buf_u32(out, m->client);
	return seal_record(out);
}

int store_missing_decode(struct store_missing *m, struct kv_bytes key, struct kv_bytes value,
			 struct err *err)
{
	struct bytes in = unseal_record(value);
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
	/* Older records end here, or after the sum of the key. */
	if (!in.failed && in.left && bytes_u32(&in) != key_sum(key))
		bytes_fail(&in);
	if (!in.failed && in.left)
		m->client = bytes_u32(&in);
	if (in.failed || version != MISSING_VERSION ||
	    build_id_set(&m->id, kind, key.p, key.len, NULL))
		return record_damaged("the missing record", key, err);
	return 0;
}

bool store_id_aliases_encode(const struct store_id_aliases *a, struct buf *out)
{
	buf_u8(out, ALIASES_VERSION);
	for (size_t i = 0; i < a->count; i++) {
		buf_u8(out, a->ids[i].kind);
		buf_u8(out, a->ids[i].len);
		buf_append(out, a->ids[i].bytes, a->ids[i].len);
	}
	return seal_record(out);
}

bool store_id_aliases_decode(struct store_id_aliases *a, struct kv_bytes value)
{
	struct bytes in = unseal_record(value);

	a->count = 0;
	if (bytes_u8(&in) != ALIASES_VERSION)
		bytes_fail(&in);
	while (in.left && !in.failed) {
		uint8_t kind = bytes_u8(&in), len = bytes_u8(&in);
		const void *p = bytes_take(&in, len);

		if (in.failed || a->count == STORE_ID_ALIASES ||
		    build_id_set(&a->ids[a->count], kind, p, len, NULL)) {
			bytes_fail(&in);
			break;
		}
		a->count++;
	}
	if (in.failed)
		a->count = 0;
	return !in.failed;
}

void store_number_encode(uint64_t n, uint8_t out[static STORE_NUMBER_LEN])
{
	uint32_t sum = crc32c(0, &n, sizeof(n));

	memcpy(out, &n, sizeof(n));
	memcpy(out + sizeof(n), &sum, sizeof(sum));
}

bool store_number_decode(struct kv_bytes value, uint64_t *ret)
{
	struct bytes in = unseal_record(value);

	*ret = bytes_u64(&in);
	return !in.failed;
}
