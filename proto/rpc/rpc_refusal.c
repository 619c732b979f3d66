/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_refusal.h"

#include <ctype.h>
#include <grpc/slice.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "google/rpc/status.pb-c.h"
#include "io.h"

/* A second lets the longest of queues pass (some 256 requests of 4 ms), and another second spreads
 * those who wait. */
enum {
	PUSHBACK_MS = 1000,
	JITTER_MS = 1000,
};

#define TYPE_URL "type.googleapis.com/google.rpc."

uint32_t rpc_refusal_pushback_ms(grpc_status_code status, bool is_too_large)
{
	uint32_t jitter;

	if (is_too_large ||
	    (status != GRPC_STATUS_UNAVAILABLE && status != GRPC_STATUS_RESOURCE_EXHAUSTED))
		return 0;
	io_system()->random(NULL, &jitter, sizeof(jitter));
	return PUSHBACK_MS + jitter % JITTER_MS;
}

/* --- fields at fault ------------------------------------------------------------------------- */

/* Skips "[N]" behind a repeated field, if it is there. Returns NULL if it is something else. */
static const char *skip_index(const char *at, bool is_repeated)
{
	if (*at != '[')
		return at;
	if (!is_repeated || !isdigit((unsigned char)at[1]))
		return NULL;
	for (at++; isdigit((unsigned char)*at); at++)
		;
	return *at == ']' ? at + 1 : NULL;
}

/* Returns the end of a path of fields of the message, such as "modules[3].build_id", or NULL when
 * the text does not begin with one. */
static const char *skip_path(const char *at, const ProtobufCMessageDescriptor *type)
{
	const ProtobufCFieldDescriptor *field;
	char name[64];

	for (;;) {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (!type || !len || len >= sizeof(name))
			return NULL;
		memcpy(name, at, len);
		name[len] = '\0';
		field = protobuf_c_message_descriptor_get_field_by_name(type, name);
		at = field ? skip_index(at + len, field->label == PROTOBUF_C_LABEL_REPEATED) : NULL;
		if (!at || *at != '.')
			return at;
		at++;
		type = field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
	}
}

/* A list of violations, and what they and the details point to. */
struct details {
	char fields[RPC_REFUSAL_FIELDS][128];
	Google__Rpc__BadRequest__FieldViolation violations[RPC_REFUSAL_FIELDS];
	Google__Rpc__BadRequest__FieldViolation *list[RPC_REFUSAL_FIELDS];
	size_t count;
	uint8_t packed_bad[RPC_REFUSAL_FIELDS * (128 + ERR_MESSAGE_MAX + 16)], packed_retry[64];
	Google__Protobuf__Any any[2], *any_list[2];
	size_t any_count;
};

/* Finds the fields that the message begins with: "FIELD, FIELD: what is wrong". */
static void find_fields(struct details *d, const char *message,
			const ProtobufCMessageDescriptor *request)
{
	const char *at = message, *end;
	size_t count = 0;

	for (;;) {
		end = skip_path(at, request);
		if (!end || count == RPC_REFUSAL_FIELDS ||
		    (size_t)(end - at) >= sizeof(d->fields[0]))
			return;
		snprintf(d->fields[count++], sizeof(d->fields[0]), "%.*s", (int)(end - at), at);
		if (*end == ':')
			break;
		if (strncmp(end, ", ", 2) != 0)
			return;
		at = end + 2;
	}
	end += strspn(end, ": ");
	for (size_t i = 0; i < count; i++) {
		google__rpc__bad_request__field_violation__init(&d->violations[i]);
		d->violations[i].field = d->fields[i];
		/* protobuf-c lacks the const; the text is only read. */
		memcpy(&d->violations[i].description, &end, sizeof(end));
		d->list[i] = &d->violations[i];
	}
	d->count = count;
}

/* --- the details ----------------------------------------------------------------------------- */

static void add_detail(struct details *d, const char *type_url, uint8_t *packed, size_t len)
{
	Google__Protobuf__Any *any = &d->any[d->any_count];

	google__protobuf__any__init(any);
	memcpy(&any->type_url, &type_url, sizeof(type_url));
	any->value.data = packed;
	any->value.len = len;
	d->any_list[d->any_count++] = any;
}

static void add_retry(struct details *d, uint32_t pushback_ms)
{
	Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;
	Google__Rpc__RetryInfo retry = GOOGLE__RPC__RETRY_INFO__INIT;

	delay.seconds = pushback_ms / 1000;
	delay.nanos = (int32_t)(pushback_ms % 1000) * 1000000;
	retry.retry_delay = &delay;
	add_detail(d, TYPE_URL "RetryInfo", d->packed_retry,
		   google__rpc__retry_info__pack(&retry, d->packed_retry));
}

static void add_bad_request(struct details *d)
{
	Google__Rpc__BadRequest bad = GOOGLE__RPC__BAD_REQUEST__INIT;

	bad.field_violations = d->list;
	bad.n_field_violations = d->count;
	add_detail(d, TYPE_URL "BadRequest", d->packed_bad,
		   google__rpc__bad_request__pack(&bad, d->packed_bad));
}

static grpc_slice pack_details(struct details *d, grpc_status_code status, const char *message)
{
	Google__Rpc__Status said;
	grpc_slice slice;

	google__rpc__status__init(&said);
	said.code = (int32_t)status;
	memcpy(&said.message, &message, sizeof(message));
	said.details = d->any_list;
	said.n_details = d->any_count;
	slice = grpc_slice_malloc(google__rpc__status__get_packed_size(&said));
	google__rpc__status__pack(&said, GRPC_SLICE_START_PTR(slice));
	return slice;
}

static void add_trailer(struct rpc_refusal *r, const char *key, grpc_slice value)
{
	r->trailers[r->count].key = grpc_slice_from_static_string(key);
	r->trailers[r->count++].value = value;
}

void rpc_refusal_init(struct rpc_refusal *r, grpc_status_code status, const char *message,
		      uint32_t pushback_ms, const ProtobufCMessageDescriptor *request)
{
	_cleanup_(freep) struct details *d = NULL;
	char text[16];

	memset(r, 0, sizeof(*r));
	if (status == GRPC_STATUS_OK)
		return;
	if (pushback_ms) {
		snprintf(text, sizeof(text), "%u", pushback_ms);
		add_trailer(r, "grpc-retry-pushback-ms", grpc_slice_from_copied_string(text));
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return;
	if (pushback_ms)
		add_retry(d, pushback_ms);
	if (status == GRPC_STATUS_INVALID_ARGUMENT)
		find_fields(d, message, request);
	if (d->count)
		add_bad_request(d);
	add_trailer(r, "grpc-status-details-bin", pack_details(d, status, message));
}

void rpc_refusal_done(struct rpc_refusal *r)
{
	while (r->count)
		grpc_slice_unref(r->trailers[--r->count].value);
}
