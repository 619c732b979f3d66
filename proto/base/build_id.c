/* SPDX-License-Identifier: Apache-2.0 */
#include "build_id.h"

#include <string.h>

int build_id_set(struct build_id *id, enum build_id_kind kind, const void *p, size_t len,
		 struct err *err)
{
	if (len < BUILD_ID_MIN || len > BUILD_ID_MAX ||
	    (kind == BUILD_ID_HTLHASH && len != HTLHASH_LEN))
		return err_set(err, ERR_DATA, "a build id has %d to %d bytes, not %zu",
			       BUILD_ID_MIN, BUILD_ID_MAX, len);
	*id = (struct build_id){.kind = (uint8_t)kind, .len = (uint8_t)len};
	memcpy(id->bytes, p, len);
	return 0;
}

const char *build_id_hex(const struct build_id *id, char hex[static BUILD_ID_HEX_MAX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->len; i++) {
		hex[2 * i] = digits[id->bytes[i] >> 4];
		hex[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	hex[2 * id->len] = 0;
	return hex;
}

static int hex_digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

int build_id_parse(struct build_id *id, const char *hex, struct err *err)
{
	uint8_t bytes[BUILD_ID_MAX];
	size_t len = strlen(hex);

	if (len % 2 || len / 2 < BUILD_ID_MIN || len / 2 > BUILD_ID_MAX)
		return err_set(err, ERR_USAGE, "'%.140s' is not a build id: %d to %d hex digits",
			       hex, 2 * BUILD_ID_MIN, 2 * BUILD_ID_MAX);
	for (size_t i = 0; i < len / 2; i++) {
		int hi = hex_digit_of(hex[2 * i]), lo = hex_digit_of(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return err_set(err, ERR_USAGE,
				       "'%s' is not a build id: '%c' is no hex digit", hex,
				       hex[2 * i + (hi >= 0)]);
		bytes[i] = (uint8_t)(hi << 4 | lo);
	}
	return build_id_set(id, BUILD_ID_GNU, bytes, len / 2, err);
}

bool build_id_is_text(const struct build_id *id)
{
	if (id->len < 2 * HTLHASH_LEN)
		return false;
	for (size_t i = 0; i < id->len; i++)
		if (hex_digit_of((char)id->bytes[i]) < 0)
			return false;
	return true;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}
