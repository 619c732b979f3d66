/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_names.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "remote_names_priv.h"

/* Bounds the memory of one request and its reply. */
#define LIMIT_ASKED_LEN (1 * GIB)

static void close_names(struct remote_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->binary_ids.count; i++)
		free(n->binaries[i].reason);
	rpc_client_close(n->client);
	intern_done(&n->binary_ids);
	intern_done(&n->places);
	profile_done(&n->found);
	arena_done(&n->arena);
	free(n->binaries);
	free(n->answers);
	free(n->weights);
	free(n->paths);
	free(n);
}

/* --- what to ask ----------------------------------------------------------------------------- */

/* perf cuts ids to 20 bytes and fills shorter ones (16 of MD5, 8 of a fast hash) up with zeros. */
static void unpad_id(struct build_id *id)
{
	static const uint8_t zeros[12];

	if (id->len == 20 && !memcmp(id->bytes + 8, zeros, 12))
		id->len = 8;
	else if (id->len == 20 && !memcmp(id->bytes + 16, zeros, 4))
		id->len = 16;
}

static uint32_t binary_of(struct remote_names *n, struct profile_text hex)
{
	char text[BUILD_ID_HEX_MAX];
	bool fresh;
	uint32_t row = intern_add(&n->binary_ids, hex.p, hex.len, &fresh);
	struct binary *b;

	if (row == INTERN_FULL ||
	    !GROW(n->binaries, &n->binaries_cap, n->binary_ids.count, UINT32_MAX))
		return PROFILE_NONE;
	b = &n->binaries[row];
	if (!fresh)
		return row;
	*b = (struct binary){.row = PROFILE_NONE};
	if (hex.len >= sizeof(text))
		return row;
	memcpy(text, hex.p, hex.len);
	text[hex.len] = '\0';
	if (build_id_parse(&b->id, text, NULL))
		b->id = (struct build_id){0};
	unpad_id(&b->id);
	return row;
}

/* Returns the section of a kernel module's path: .text for "[kernel:<module>]", or the one that
 * "[kernel:<module>.<section>]" names. */
static uint32_t section_of_path(struct remote_names *n, struct profile_text path)
{
	const char *dot = memchr(path.p, '.', path.len);

	if (!dot)
		return profile_cstr(&n->found, ".text");
	return profile_string(&n->found, dot, (size_t)(path.p + path.len - 1 - dot));
}

/* Turns a location into the service's terms. Returns false if it has a name or no such terms. */
static bool place_of_location(struct remote_names *n, const struct profile *p,
			      const struct profile_location *l, struct place *ret)
{
	const struct profile_module *m;
	struct profile_text path;
	bool own;

	if (!profile_is_unnamed(p, l))
		return false;
	m = &p->modules[l->module];
	*ret = (struct place){.binary = binary_of(n, profile_text(p, m->build_id))};
	if (ret->binary == PROFILE_NONE || n->binaries[ret->binary].id.kind == BUILD_ID_NONE)
		return false;
	path = profile_text(p, m->path);
	own = !m->start && !m->file_off;
	ret->address = l->address - m->start + m->file_off + l->is_return;
	ret->mode = l->is_return ? RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_RETURN
				 : RAWSTACK__V1__ADDRESS_MODE__ADDRESS_MODE_EXACT;
	if (!profile_is_kernel(p, l->module)) {
		ret->kind = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF;
	} else if (own && profile_text_is(path, PROFILE_KERNEL_TEXT)) {
		ret->kind = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_TEXT;
	} else if (own && path.len > strlen(PROFILE_KERNEL_PREFIX) &&
		   path.p[strlen(PROFILE_KERNEL_PREFIX)] == ':') {
		ret->kind = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_MODULE;
		ret->section = section_of_path(n, path);
	} else {
		return false;
	}
	return !n->found.failed;
}

/* The place of a location that is asked for, and the binary that it lies in. */
struct asked_place {
	uint32_t place; /* PROFILE_NONE: it is not asked for */
	uint32_t binary;
};

/* Counts each sample once for each binary in which it has such places, at the innermost of them, so
 * that the weights of a binary's places add up to its samples. */
static int weigh_places(struct remote_names *n, const struct profile *p,
			const struct asked_place *of, struct err *err)
{
	/* For each binary, the number of the last sample that was counted, plus 1. */
	_cleanup_(freep) size_t *counted = calloc(n->binary_ids.count + 1, sizeof(*counted));
	uint32_t row = profile_value_index(p, "samples");

	if (!counted)
		return err_no_memory(err);
	for (uint32_t i = 0; i < p->samples.count; i++) {
		int64_t weight = row == PROFILE_NONE ? 1 : profile_values(p, i)[row];
		const uint32_t *stack;
		size_t count;

		stack = profile_stack(p, profile_sample(p, i).stack, &count);
		for (size_t k = 0; weight > 0 && k < count; k++) {
			const struct asked_place *at = &of[stack[k]];

			if (at->place == PROFILE_NONE || counted[at->binary] == (size_t)i + 1)
				continue;
			counted[at->binary] = (size_t)i + 1;
			add_capped_u64(&n->weights[at->place - n->asked], (uint64_t)weight);
		}
	}
	return 0;
}

/* Notes the segments of a binary, which a table made from its debug file alone lacks. */
static void note_segments(struct binary *b, const struct profile *p, uint32_t module)
{
	const struct file_segment *rows;
	size_t count;

	if (b->segments.count)
		return;
	rows = profile_module_segments(p, module, &count);
	if (!count || count > ARRAY_LEN(b->segments.rows))
		return;
	memcpy(b->segments.rows, rows, count * sizeof(*rows));
	b->segments.count = (uint32_t)count;
}

/* Notes and weighs the places that were not asked for yet. */
static int gather_places(struct remote_names *n, const struct profile *p, struct err *err)
{
	_cleanup_(freep) struct asked_place *of = calloc(p->locations.count + 1, sizeof(*of));

	if (!of)
		return err_no_memory(err);
	for (uint32_t i = 0; i < p->locations.count; i++) {
		struct profile_location l = profile_location(p, i);
		struct place place;
		uint32_t id;
		size_t at;

		of[i].place = PROFILE_NONE;
		if (!place_of_location(n, p, &l, &place))
			continue;
		id = intern_add(&n->places, &place, sizeof(place), NULL);
		if (id == INTERN_FULL)
			return err_no_memory(err);
		if (id < n->asked)
			continue;
		note_segments(&n->binaries[place.binary], p, l.module);
		at = id - n->asked;
		of[i] = (struct asked_place){id, place.binary};
		if (!GROW(n->weights, &n->weights_cap, at + 1, LIMIT_PROFILE_ENTRIES) ||
		    !GROW(n->paths, &n->paths_cap, at + 1, LIMIT_PROFILE_ENTRIES))
			return err_no_memory(err);
		if (id + 1 == n->places.count) {
			struct profile_text path = profile_text(p, p->modules[l.module].path);

			n->paths[at] = profile_string(&n->found, path.p, path.len);
		}
		n->weights[at] = 0;
	}
	return n->found.failed ? err_no_memory(err) : weigh_places(n, p, of, err);
}

static int prepare_names(void *ctx, const struct profile *p, struct err *err)
{
	struct remote_names *n = ctx;
	_cleanup_(freep) uint32_t *list = NULL;
	uint32_t *ids;
	size_t count = 0;
	int rc = 0;

	TRY(gather_places(n, p, err));
	list = malloc((n->places.count - n->asked + 1) * sizeof(*list));
	if (!list || !GROW(n->answers, &n->answers_cap, n->places.count + 1, LIMIT_PROFILE_ENTRIES))
		return err_no_memory(err);
	for (size_t i = n->asked; i < n->places.count; i++)
		list[count++] = (uint32_t)i;
	memset(n->answers + n->asked, 0xff, (n->places.count - n->asked) * sizeof(*n->answers));
	ids = list;
	while (!rc && count) {
		log_progress("asking for %zu names", count);
		rc = remote_names_ask(n, &ids, &count, err);
	}
	log_progress_end();
	n->asked = n->places.count;
	return rc;
}

/* --- the source ------------------------------------------------------------------------------ */

static uint32_t copy_string(struct profile *into, const struct profile *from, uint32_t string)
{
	struct profile_text t = profile_text(from, string);

	return profile_string(into, t.p, t.len);
}

static size_t remote_lines(void *ctx, const struct profile *from, const struct profile_location *l,
			   struct profile *into, struct profile_line *ret, size_t max)
{
	struct remote_names *n = ctx;
	struct profile_location found;
	struct place place;
	uint32_t id;

	if (!place_of_location(n, from, l, &place))
		return 0;
	id = intern_find(&n->places, &place, sizeof(place));
	if (id >= n->asked || n->answers[id] == PROFILE_NONE)
		return 0;
	found = profile_location(&n->found, n->answers[id]);
	if (found.line_count > max)
		return 0;
	for (size_t i = 0; into && i < found.line_count; i++) {
		struct profile_function f = profile_function(&n->found, found.lines[i].function);

		f.name = copy_string(into, &n->found, f.name);
		f.system_name = copy_string(into, &n->found, f.system_name);
		f.file = copy_string(into, &n->found, f.file);
		f.decl_file = copy_string(into, &n->found, f.decl_file);
		ret[i] = (struct profile_line){profile_add_function(into, &f), found.lines[i].line};
	}
	return found.line_count;
}

static struct name_status name_status_of(void *ctx, struct profile_text build_id)
{
	const struct remote_names *n = ctx;
	uint32_t row = intern_find(&n->binary_ids, build_id.p, build_id.len);

	if (row == INTERN_FULL || !n->binaries[row].status)
		return (struct name_status){NULL, ""};
	return (struct name_status){n->binaries[row].status, n->binaries[row].reason};
}

DEFINE_FREEP(struct remote_names, close_names);

static int open_names(struct remote_names **ret, const struct server_options *given,
		      struct err *err)
{
	_cleanup_(close_namesp) struct remote_names *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return err_no_memory(err);
	profile_init(&n->found);
	n->binary_ids = n->places =
		(struct intern)INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	n->arena = (struct arena)ARENA_INIT(LIMIT_ASKED_LEN);
	n->source = (struct name_source){n, prepare_names, remote_lines, name_status_of};
	rc = remote_open(&n->client, given, err);
	if (!rc)
		*ret = TAKE_PTR(n);
	return rc;
}

static const struct name_source *source_of(struct remote_names *n)
{
	return &n->source;
}

const struct remote_names_ops remote_names_service = {open_names, source_of, close_names};
