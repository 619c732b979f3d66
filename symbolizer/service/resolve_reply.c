/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_reply.h"

#include <string.h>

#include "limits.h"
#include "utf8.h"

/* Numbers of the fields in symbolizer.proto. */
enum {
	REPLY_ADDRESSES = 3,
	ADDRESS_ADDRESS = 1,
	ADDRESS_STATUS = 2,
	ADDRESS_FRAMES = 3,
	FRAME_FUNCTION = 1, /* then linkage_name and file */
	FRAME_LINE = 4,
	FRAME_COLUMN = 5,
	FRAME_INLINED = 6,
	FRAME_START_LINE = 7,
	FRAME_START_ADDRESS = 8,
	FRAME_FUNCTION_TEXT = 9, /* then linkage_name_text and file_text */
};

enum {
	FRAME_TEXTS = 3
};

/* How a value is written (protobuf.dev, "Encoding"). All of these numbers have tags of one byte. */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2
};

/* A frame, as it will be written. */
struct frame {
	const ProtobufCBinaryData *texts[FRAME_TEXTS];
	uint64_t start_address;
	uint32_t line, column, start_line;
	bool inlined;
};

struct writer {
	const Rawstack__V1__SymbolizedBatch *columns;
	uint32_t *frame_len; /* bytes of each frame */
	bool as_text;
	uint8_t *p; /* where the next byte goes */
};

static size_t len_of_varint(uint64_t v)
{
	return ((size_t)(63 - __builtin_clzll(v | 1)) * 9 + 73) / 64;
}

/* Proto3 leaves out what is 0 or empty. */
static size_t len_of_number(uint64_t v)
{
	return v ? 1 + len_of_varint(v) : 0;
}

static size_t len_of_fixed64(uint64_t v)
{
	return v ? 1 + sizeof(v) : 0;
}

static size_t len_of_bytes(size_t len)
{
	return 1 + len_of_varint(len) + len;
}

static void put_varint(struct writer *w, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*w->p++ = (uint8_t)(v | 0x80);
	*w->p++ = (uint8_t)v;
}

static void put_tag(struct writer *w, uint32_t field, enum wire_type type)
{
	*w->p++ = (uint8_t)(field << 3 | type);
}

static void put_number(struct writer *w, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	put_tag(w, field, WIRE_VARINT);
	put_varint(w, v);
}

static void put_fixed64(struct writer *w, uint32_t field, uint64_t v)
{
	if (!v)
		return;
	put_tag(w, field, WIRE_FIXED64);
	memcpy(w->p, &v, sizeof(v));
	w->p += sizeof(v);
}

static void put_texts(struct writer *w, const struct frame *f)
{
	uint32_t field = w->as_text ? FRAME_FUNCTION_TEXT : FRAME_FUNCTION;

	for (uint32_t i = 0; i < FRAME_TEXTS; i++) {
		size_t len = f->texts[i]->len;

		if (!len)
			continue;
		put_tag(w, field + i, WIRE_BYTES);
		put_varint(w, len);
		memcpy(w->p, f->texts[i]->data, len);
		if (w->as_text)
			utf8_mask((char *)w->p, len);
		w->p += len;
	}
}

/* Returns the frame of row `at` of the columns. */
static struct frame frame_at(const struct writer *w, size_t at, bool inlined)
{
	const Rawstack__V1__Functions *f = w->columns->functions;
	const ProtobufCBinaryData *strings = w->columns->strings;
	uint32_t row = w->columns->frame_function[at];

	return (struct frame){
		.texts = {&strings[f->name[row]], &strings[f->linkage_name[row]],
			  &strings[f->file[row]]},
		.start_address = f->start_address[row],
		.line = w->columns->frame_line[at],
		.column = w->columns->frame_column[at],
		.start_line = f->start_line[row],
		.inlined = inlined,
	};
}

static size_t len_of_frame(const struct frame *f)
{
	size_t len = len_of_number(f->line) + len_of_number(f->column) + len_of_number(f->inlined) +
		     len_of_number(f->start_line) + len_of_fixed64(f->start_address);

	for (size_t i = 0; i < FRAME_TEXTS; i++)
		if (f->texts[i]->len)
			len += len_of_bytes(f->texts[i]->len);
	return len;
}

static void put_resolved_frame(struct writer *w, const struct frame *f, size_t len)
{
	put_tag(w, ADDRESS_FRAMES, WIRE_BYTES);
	put_varint(w, len);
	if (!w->as_text)
		put_texts(w, f);
	put_number(w, FRAME_LINE, f->line);
	put_number(w, FRAME_COLUMN, f->column);
	put_number(w, FRAME_INLINED, f->inlined);
	put_number(w, FRAME_START_LINE, f->start_line);
	put_fixed64(w, FRAME_START_ADDRESS, f->start_address);
	if (w->as_text)
		put_texts(w, f);
}

/* An address without its frames. */
static size_t len_of_address(uint64_t address, uint32_t status)
{
	return len_of_fixed64(address) + len_of_number(status);
}

static void put_address(struct writer *w, uint64_t address, uint32_t status, size_t len)
{
	put_tag(w, REPLY_ADDRESSES, WIRE_BYTES);
	put_varint(w, len);
	put_fixed64(w, ADDRESS_ADDRESS, address);
	put_number(w, ADDRESS_STATUS, status);
}

/* Measures the addresses one by one, and each frame: lens[i] becomes 0 for what is DEFERRED.
 * Returns the bytes of all. */
static size_t measure_addresses(struct writer *w, const Rawstack__V1__ResolveRequest *request,
				size_t *lens)
{
	const Rawstack__V1__SymbolizedBatch *b = w->columns;
	bool is_full = false;
	size_t total = 0;

	for (size_t i = 0, at = 0; i < request->n_addresses; i++) {
		size_t end = at + b->frame_count[i];

		lens[i] = len_of_address(request->addresses[i], b->status[i]);
		for (; at < end; at++) {
			struct frame f = frame_at(w, at, at + 1 < end);

			w->frame_len[at] = (uint32_t)len_of_frame(&f);
			lens[i] += len_of_bytes(w->frame_len[at]);
		}
		/* Texts repeat here, so that the reply may be full before the columns are. */
		is_full = is_full || total + len_of_bytes(lens[i]) > LIMIT_REPLY_LEN;
		if (is_full)
			lens[i] = 0;
		total += len_of_bytes(
			lens[i] ? lens[i]
				: len_of_address(
					  request->addresses[i],
					  RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED));
	}
	return total;
}

static void put_addresses(struct writer *w, const Rawstack__V1__ResolveRequest *request,
			  const size_t *lens)
{
	const Rawstack__V1__SymbolizedBatch *b = w->columns;
	const uint32_t deferred = RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_DEFERRED;

	for (size_t i = 0, at = 0; i < request->n_addresses; i++) {
		uint64_t address = request->addresses[i];
		size_t end = at + b->frame_count[i];

		if (!lens[i]) {
			put_address(w, address, deferred, len_of_address(address, deferred));
			at = end;
			continue;
		}
		put_address(w, address, b->status[i], lens[i]);
		for (; at < end; at++) {
			struct frame f = frame_at(w, at, at + 1 < end);

			put_resolved_frame(w, &f, w->frame_len[at]);
		}
	}
}

int resolve_reply_fill(Rawstack__V1__ResolveReply *reply,
		       const Rawstack__V1__SymbolizedBatch *columns,
		       const Rawstack__V1__ResolveRequest *request, struct arena *arena,
		       struct err *err)
{
	struct writer w = {.columns = columns, .as_text = request->want_text};
	ProtobufCMessageUnknownField *all = arena_alloc(arena, sizeof(*all));
	size_t *lens = arena_array(arena, request->n_addresses, sizeof(*lens));
	size_t total;
	uint8_t *bytes;

	w.frame_len = arena_array(arena, columns->n_frame_function, sizeof(w.frame_len[0]));
	if (!all || !lens || !w.frame_len)
		return err_no_memory(err);
	if (!request->n_addresses)
		return 0;
	total = measure_addresses(&w, request, lens);
	bytes = arena_take(arena, total);
	if (!bytes)
		return err_no_memory(err);
	w.p = bytes;
	put_addresses(&w, request, lens);
	/* protobuf-c writes an unknown field as a tag and bytes, and asks not what is in the bytes:
	 * all addresses, but for the tag of the first. */
	*all = (ProtobufCMessageUnknownField){
		.tag = REPLY_ADDRESSES,
		.wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
		.len = total - 1,
		.data = bytes + 1,
	};
	reply->base.unknown_fields = all;
	reply->base.n_unknown_fields = 1;
	return 0;
}
