/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_request.h"

#include <string.h>

#include "borrowed.h"
#include "intern.h"

/* The _LEN constants are estimates of encoded bytes, on the safe side. A request ends at half of
 * what a message may have, or at a number of locations whose answer is likely to fit into one
 * reply. */
#define MESSAGE_MAX   (LIMIT_MESSAGE_LEN / 2)
#define LOCATIONS_MAX (LIMIT_BATCH_LOCATIONS / 4)
#define LOCATION_LEN  40
#define MODULE_LEN    96
#define STRING_LEN    8
#define SEGMENT_LEN   32

static bool can_be_named(const struct spool_batch *b, uint32_t location)
{
	const struct location *l = &b->locations[location];

	if (l->kind != LOCATION_FILE_OFF && l->kind != LOCATION_KERNEL_TEXT &&
	    l->kind != LOCATION_KERNEL_MODULE)
		return false;
	if (l->kind == LOCATION_KERNEL_MODULE && l->name >= b->string_count)
		return false;
	return l->module < b->module_count && b->modules[l->module].id.kind != BUILD_ID_NONE;
}

/* Numbers the binaries of the modules: modules with one build id are one binary. Returns false if
 * memory is short. */
static bool number_binaries(const struct spool_batch *b, uint32_t *binaries)
{
	struct intern ids = INTERN_INIT(UINT32_MAX, SIZE_MAX);
	bool ok = true;

	for (size_t i = 0; ok && i < b->module_count; i++) {
		binaries[i] = intern_add(&ids, b->modules[i].id.bytes, b->modules[i].id.len, NULL);
		ok = binaries[i] != INTERN_FULL;
	}
	intern_done(&ids);
	return ok;
}

/* Returns the weight of each location of the batch, or NULL if memory is short. */
static const uint64_t *weigh_locations(const struct spool_batch *b, struct arena *a)
{
	uint64_t *locations = arena_array(a, b->location_count + 1, sizeof(*locations));
	uint64_t *stacks = arena_array(a, b->stack_count + 1, sizeof(*stacks));
	uint32_t *binaries = arena_array(a, b->module_count + 1, sizeof(*binaries));
	size_t *counted = arena_array(a, b->module_count + 1, sizeof(*counted));

	if (!locations || !stacks || !binaries || !counted || !number_binaries(b, binaries))
		return NULL;
	for (size_t i = 0; i < b->sample_count; i++)
		if (b->samples[i].stack < b->stack_count)
			stacks[b->samples[i].stack] += b->samples[i].weight;
	for (size_t i = 0; i < b->stack_count; i++)
		for (uint32_t k = 0; k < b->stacks[i].count; k++) {
			const uint32_t at = b->stacks[i].locations[k];
			size_t *last;

			if (at >= b->location_count || !can_be_named(b, at))
				continue;
			/* This is the last stack that was counted for the binary, plus 1. */
			last = &counted[binaries[b->locations[at].module]];
			if (*last == i + 1)
				continue;
			*last = i + 1;
			locations[at] += stacks[i];
		}
	return locations;
}

int ship_wanted_list(struct ship_wanted *w, const struct spool_batch *b, struct arena *a,
		     struct err *err)
{
	*w = (struct ship_wanted){
		.locations = arena_array(a, b->location_count + 1, sizeof(*w->locations)),
		.weights = weigh_locations(b, a),
	};
	if (!w->locations || !w->weights)
		return err_no_memory(err);
	for (uint32_t i = 0; i < b->location_count; i++)
		if (can_be_named(b, i))
			w->locations[w->count++] = i;
	return 0;
}

/* A message that is being built. */
struct maker {
	const struct spool_batch *b;
	struct arena *a;
	Rawstack__V1__StackBatch *message;
	Rawstack__V1__Locations *rows;
	/* For each row of the batch its number in the message, plus 1; 0: not in it. */
	uint32_t *modules, *strings;
	size_t len;
};

/* Adds the segments of a module, which the service needs if its table was made of a debug file
 * alone; only the service knows whether it was. */
static bool add_request_segments(struct maker *m, const struct spool_module *from,
				 Rawstack__V1__Module *to)
{
	const size_t count = from->segment_count;

	if (!count)
		return true;
	to->segment_file_off = arena_array(m->a, count, sizeof(*to->segment_file_off));
	to->segment_vaddr = arena_array(m->a, count, sizeof(*to->segment_vaddr));
	to->segment_len = arena_array(m->a, count, sizeof(*to->segment_len));
	if (!to->segment_file_off || !to->segment_vaddr || !to->segment_len)
		return false;
	for (size_t i = 0; i < count; i++) {
		to->segment_file_off[i] = from->segments[i].file_off;
		to->segment_vaddr[i] = from->segments[i].vaddr;
		to->segment_len[i] = from->segments[i].len;
	}
	to->n_segment_file_off = to->n_segment_vaddr = to->n_segment_len = count;
	m->len += count * SEGMENT_LEN;
	return true;
}

static bool add_request_module(struct maker *m, uint32_t module)
{
	const struct spool_module *from = &m->b->modules[module];
	Rawstack__V1__Module *to;

	if (m->modules[module])
		return true;
	to = arena_alloc(m->a, sizeof(*to));
	if (!to)
		return false;
	rawstack__v1__module__init(to);
	to->build_id = borrow_bytes(from->id.bytes, from->id.len);
	to->id_kind = from->id.kind == BUILD_ID_HTLHASH ? RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH
							: RAWSTACK__V1__ID_KIND__ID_KIND_GNU;
	if (from->path < m->b->string_count)
		to->path = borrow_bytes(m->b->strings[from->path].p, m->b->strings[from->path].len);
	if (!add_request_segments(m, from, to))
		return false;
	m->message->modules[m->message->n_modules++] = to;
	m->modules[module] = (uint32_t)m->message->n_modules;
	m->len += MODULE_LEN + to->path.len;
	return true;
}

static uint32_t add_request_string(struct maker *m, uint32_t string)
{
	if (string >= m->b->string_count)
		return 0;
	if (!m->strings[string]) {
		m->message->strings[m->message->n_strings++] =
			borrow_bytes(m->b->strings[string].p, m->b->strings[string].len);
		m->strings[string] = (uint32_t)m->message->n_strings;
		m->len += STRING_LEN + m->b->strings[string].len;
	}
	return m->strings[string] - 1;
}

static bool new_request_message(struct maker *m, size_t count)
{
	Rawstack__V1__StackBatch *message = arena_alloc(m->a, sizeof(*message));
	Rawstack__V1__Locations *rows = arena_alloc(m->a, sizeof(*rows));

	if (!message || !rows)
		return false;
	rawstack__v1__stack_batch__init(message);
	rawstack__v1__locations__init(rows);
	message->detail = RAWSTACK__V1__DETAIL__DETAIL_INLINES;
	message->demangle = RAWSTACK__V1__DEMANGLE__DEMANGLE_SHORT;
	message->want_function_starts = true;
	message->locations = rows;
	message->modules = arena_array(m->a, m->b->module_count + 1, sizeof(void *));
	message->strings = arena_array(m->a, m->b->string_count + 2, sizeof(*message->strings));
	m->modules = arena_array(m->a, m->b->module_count + 1, sizeof(*m->modules));
	m->strings = arena_array(m->a, m->b->string_count + 1, sizeof(*m->strings));
	rows->kind = arena_array(m->a, count, sizeof(*rows->kind));
	rows->module = arena_array(m->a, count, sizeof(*rows->module));
	rows->address = arena_array(m->a, count, sizeof(*rows->address));
	rows->mode = arena_array(m->a, count, sizeof(*rows->mode));
	rows->string = arena_array(m->a, count, sizeof(*rows->string));
	rows->weight = arena_array(m->a, count, sizeof(*rows->weight));
	m->message = message;
	m->rows = rows;
	/* Rows without a string refer to the first one, because each index must be valid. */
	if (message->strings)
		message->strings[message->n_strings++] = borrow_bytes("", 0);
	return message->modules && message->strings && m->modules && m->strings && rows->kind &&
	       rows->module && rows->address && rows->mode && rows->string && rows->weight;
}

static bool set_request_id(struct maker *m, uint32_t part)
{
	uint8_t *id = arena_alloc(m->a, SPOOL_BATCH_ID_LEN + sizeof(part));

	if (!id)
		return false;
	memcpy(id, m->b->id, SPOOL_BATCH_ID_LEN);
	for (size_t i = 0; i < sizeof(part); i++)
		id[SPOOL_BATCH_ID_LEN + i] = (uint8_t)(part >> (24 - 8 * i));
	m->message->batch_id = borrow_bytes(id, SPOOL_BATCH_ID_LEN + sizeof(part));
	return true;
}

static bool add_request_row(struct maker *m, size_t row, uint32_t location, uint64_t weight)
{
	const struct location *l = &m->b->locations[location];

	if (!add_request_module(m, l->module))
		return false;
	m->rows->kind[row] = (Rawstack__V1__LocationKind)l->kind;
	m->rows->module[row] = m->modules[l->module] - 1;
	m->rows->address[row] = l->address;
	m->rows->mode[row] = l->mode == LOCATION_RETURN
				     ? RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_RETURN
				     : RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_EXACT;
	m->rows->string[row] =
		l->kind == LOCATION_KERNEL_MODULE ? add_request_string(m, l->name) : 0;
	m->rows->weight[row] = weight;
	m->len += LOCATION_LEN;
	return true;
}

int ship_request_make(struct ship_request *r, const struct spool_batch *b, uint32_t part,
		      const struct ship_wanted *wanted, struct arena *a, struct err *err)
{
	const size_t count = wanted->count < LOCATIONS_MAX ? wanted->count : LOCATIONS_MAX;
	struct maker m = {.b = b, .a = a};
	size_t taken = 0;
	bool ok = new_request_message(&m, count) && set_request_id(&m, part);

	while (ok && taken < count && m.len < MESSAGE_MAX &&
	       m.message->n_modules < LIMIT_BATCH_MODULES &&
	       m.message->n_strings < LIMIT_BATCH_STRINGS) {
		const uint32_t location = wanted->locations[taken];

		ok = add_request_row(&m, taken++, location, wanted->weights[location]);
	}
	if (!ok)
		return err_no_memory(err);
	m.rows->n_kind = m.rows->n_module = m.rows->n_address = taken;
	m.rows->n_mode = m.rows->n_string = m.rows->n_weight = taken;
	*r = (struct ship_request){m.message, wanted->locations, taken};
	return 0;
}
