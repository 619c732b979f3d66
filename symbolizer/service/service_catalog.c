/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries.Get, List, Delete, Pin and Missing. */
#include <endian.h>
#include <string.h>

#include "binary_meta.h"
#include "crc32c.h"
#include "limits.h"
#include "service_priv.h"

enum {
	PAGE_DEFAULT = 100,
	ROW_COST = 64 /* bytes of a reply's row without its variable parts */
};

static size_t page_size(uint32_t asked)
{
	return asked == 0 ? PAGE_DEFAULT : asked < LIMIT_PAGE ? asked : LIMIT_PAGE;
}

static int no_such_binary(const struct build_id *id, struct err *err)
{
	char hex[BUILD_ID_HEX_MAX];

	build_id_hex(id, hex);
	if (build_id_is_text(id))
		return err_set(err, ERR_NOT_FOUND, "no binary %s: " BUILD_ID_TEXT_HINT, hex,
			       id->len, id->len / 2);
	return err_set(err, ERR_NOT_FOUND, "no binary %s", hex);
}

int service_get(struct service *s, const Rawstack__V1__GetRequest *request, struct arena *arena,
		Rawstack__V1__Binary **ret, struct err *err)
{
	_cleanup_(service_read_endp) struct store_read *r = NULL;
	bool building;
	char hex[BUILD_ID_HEX_MAX];
	struct store_binary b = {0};
	struct build_id id;
	int rc;

	TRY(service_id(&id, &request->build_id, err));
	TRY(service_store_error(store_read_begin(s->store, &r, err), err));
	id = store_resolve_alias(r, &id);
	building = service_is_building(s, &id);
	rc = store_binary(r, &id, &b, err);
	if (rc < 0)
		return service_store_error(rc, err);
	if (rc == 0 && !building && store_is_damaged(s->store))
		return err_set(err, ERR_DAMAGED,
			       "no binary %s is found, but the store is damaged and may have it: "
			       "its operator has to act",
			       build_id_hex(&id, hex));
	if (rc == 0 && !building)
		return no_such_binary(&id, err);
	b.id = id;
	*ret = binary_meta_message(&b, arena);
	if (!*ret)
		return err_no_memory(err);
	if (b.status == STORE_PURGED && store_was_lost(s->store, &id))
		(*ret)->reason = binary_meta_text("its table was damaged and is taken away");
	if (building && b.status != STORE_READY)
		(*ret)->status = RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_BUILDING;
	return 0;
}

static bool has_label(const Rawstack__V1__Binary *m, const Rawstack__V1__Label *want)
{
	for (size_t i = 0; i < m->n_labels; i++) {
		const Rawstack__V1__Label *l = m->labels[i];

		if (l->key.len == want->key.len && l->value.len == want->value.len &&
		    !memcmp(l->key.data, want->key.data, want->key.len) &&
		    !memcmp(l->value.data, want->value.data, want->value.len))
			return true;
	}
	return false;
}

static bool matches_list(const Rawstack__V1__Binary *m, const Rawstack__V1__ListRequest *request)
{
	if (request->name.len && (request->name.len != m->name.len ||
				  memcmp(request->name.data, m->name.data, m->name.len) != 0))
		return false;
	for (size_t i = 0; i < request->n_labels; i++)
		if (!has_label(m, request->labels[i]))
			return false;
	return true;
}

/* Returns 1 with the message in the reply's arena, or 0 if it does not match. Binaries that do not
 * match are unpacked in the scratch arena; otherwise a search among many would fill the reply's
 * memory. */
static int take_match(const struct store_binary *b, const Rawstack__V1__ListRequest *request,
		      struct arena *scratch, struct arena *arena, Rawstack__V1__Binary **ret,
		      struct err *err)
{
	const Rawstack__V1__Binary *m = binary_meta_message(b, scratch);
	bool is_match = m && matches_list(m, request);

	arena_reset(scratch);
	if (!m)
		return err_no_memory(err);
	if (!is_match)
		return 0;
	*ret = binary_meta_message(b, arena);
	return *ret ? 1 : err_no_memory(err);
}

/* --- page tokens: a checksum, then a place in an order --------------------------------------- */

enum token_kind {
	TOKEN_LIST = 1,
	TOKEN_MISSING = 2,
};

static uint32_t token_sum(enum token_kind kind, const void *p, size_t len)
{
	return htole32(crc32c((uint32_t)kind, p, len));
}

/* Returns whether the token is one that token_make() makes for the method. A client may make one,
 * too: the place in it says only where a page begins. */
static bool token_open(const ProtobufCBinaryData *token, enum token_kind kind, struct kv_bytes *ret)
{
	uint32_t sum;

	if (token->len < sizeof(sum))
		return false;
	memcpy(&sum, token->data, sizeof(sum));
	*ret = (struct kv_bytes){token->data + sizeof(sum), token->len - sizeof(sum)};
	return sum == token_sum(kind, ret->p, ret->len);
}

static int token_make(const struct kv_bytes *place, enum token_kind kind, struct arena *arena,
		      ProtobufCBinaryData *token, struct err *err)
{
	uint32_t sum = token_sum(kind, place->p, place->len);

	token->data = arena_alloc(arena, sizeof(sum) + place->len);
	if (!token->data)
		return err_no_memory(err);
	memcpy(token->data, &sum, sizeof(sum));
	memcpy(token->data + sizeof(sum), place->p, place->len);
	token->len = sizeof(sum) + place->len;
	return 0;
}

/* Lists tables, also of other formats, and failed builds. Purged ones are reported by Get and
 * Missing. */
int service_list(struct service *s, const Rawstack__V1__ListRequest *request,
		 const struct service_caller *caller, struct arena *arena,
		 Rawstack__V1__ListReply *reply, struct err *err)
{
	_cleanup_(arena_done) struct arena scratch = ARENA_INIT(LIMIT_REPLY_MEMORY);
	_cleanup_(service_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	size_t max = page_size(request->page_size), size = 0;
	struct store_binary b;
	struct build_id at;
	int rc = 0;

	if (request->n_labels > LIMIT_LABELS)
		return err_set(err, ERR_DATA, "labels: %zu, at most %llu", request->n_labels,
			       (unsigned long long)LIMIT_LABELS);
	if (request->page_token.len) {
		struct kv_bytes place;

		if (!token_open(&request->page_token, TOKEN_LIST, &place) ||
		    build_id_set(&at, BUILD_ID_GNU, place.p, place.len, err))
			return err_set(err, ERR_DATA, "page_token: not one of ours");
		after = &at;
	}
	reply->binaries = arena_array(arena, max, sizeof(reply->binaries[0]));
	if (!reply->binaries)
		return err_no_memory(err);
	TRY(service_store_error(store_read_begin(s->store, &r, err), err));
	while ((rc = store_binary_next(r, after, &b, err)) == 1) {
		Rawstack__V1__Binary *m;

		if (after &&
		    (reply->n_binaries == max || size + b.meta_len + ROW_COST > LIMIT_REPLY_LEN)) {
			/* More may follow; the token names the last one that was looked at. */
			return token_make(&(struct kv_bytes){after->bytes, after->len}, TOKEN_LIST,
					  arena, &reply->next_page_token, err);
		}
		TRY(service_check_caller(caller, err));
		at = b.id;
		after = &at;
		if (b.status == STORE_PURGED)
			continue;
		rc = take_match(&b, request, &scratch, arena, &m, err);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		reply->binaries[reply->n_binaries++] = m;
		size += b.meta_len + b.id.len + ROW_COST;
	}
	return service_store_error(rc, err);
}

int service_delete(struct service *s, const Rawstack__V1__DeleteRequest *request,
		   Rawstack__V1__DeleteReply *reply, struct err *err)
{
	struct build_id id;
	int rc = service_find_id(s, &id, &request->build_id, err);

	if (!rc)
		rc = service_store_error(build_queue_delete(s->queue, &id, err), err);
	reply->deleted = rc == 1;
	return rc < 0 ? rc : 0;
}

int service_pin(struct service *s, const Rawstack__V1__PinRequest *request, struct err *err)
{
	struct build_id id;
	int rc;

	TRY(service_find_id(s, &id, &request->build_id, err));
	rc = service_store_error(store_pin(s->store, &id, request->pinned, err), err);
	return rc == 0 ? no_such_binary(&id, err) : rc < 0 ? rc : 0;
}

/* --- Missing --------------------------------------------------------------------------------- */

/* A place in the order of Missing. In a page token it is the weight (big-endian) and the id. */
struct rank {
	uint64_t weight;
	struct build_id id;
};

static int compare_ids(const struct build_id *a, const struct build_id *b)
{
	int c = memcmp(a->bytes, b->bytes, BUILD_ID_MAX);

	return c ? c : (int)a->len - (int)b->len;
}

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return compare_ids(&x->id, &y->id);
}

static int read_token(const ProtobufCBinaryData *token, struct rank *ret, struct err *err)
{
	struct kv_bytes place;
	uint64_t weight;

	if (!token_open(token, TOKEN_MISSING, &place) || place.len < sizeof(weight) ||
	    build_id_set(&ret->id, BUILD_ID_GNU, (const uint8_t *)place.p + sizeof(weight),
			 place.len - sizeof(weight), err))
		return err_set(err, ERR_DATA, "page_token: not one of ours");
	memcpy(&weight, place.p, sizeof(weight));
	ret->weight = be64toh(weight);
	return 0;
}

static int write_token(const struct rank *rank, struct arena *arena, ProtobufCBinaryData *token,
		       struct err *err)
{
	uint64_t weight = htobe64(rank->weight);
	uint8_t place[sizeof(weight) + BUILD_ID_MAX];

	memcpy(place, &weight, sizeof(weight));
	memcpy(place + sizeof(weight), rank->id.bytes, rank->id.len);
	return token_make(&(struct kv_bytes){place, sizeof(weight) + rank->id.len}, TOKEN_MISSING,
			  arena, token, err);
}

/* Fills the status of a missing id, which may be a file that a binary with a table lacks. Returns
 * false if that binary lacks nothing or the id has come meanwhile. */
static bool missing_status(struct store_read *r, const struct build_id *id, struct arena *arena,
			   Rawstack__V1__MissingBinary *ret)
{
	const struct build_id found = store_resolve_alias(r, id);
	const Rawstack__V1__Binary *m;
	struct store_binary b;
	int rc = store_binary(r, &found, &b, NULL);

	ret->status = rc < 0 ? RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_DAMAGED
			     : RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_MISSING;
	if (rc != 1)
		return true;
	ret->status = binary_meta_status(b.status);
	if (b.status != STORE_READY)
		return true;
	ret->wanted = RAWSTACK__V1__BINARY_KIND__BINARY_KIND_EXECUTABLE;
	m = binary_meta_message(&b, arena);
	return m && m->report && !m->report->has_segments;
}

/* Fills *ret, or sets it to NULL if the id is not missing any more. */
static int fill_missing(struct store_read *r, const struct store_missing *from, struct arena *arena,
			Rawstack__V1__MissingBinary **ret, struct err *err)
{
	Rawstack__V1__MissingBinary *m = arena_alloc(arena, sizeof(*m));

	if (!m)
		return err_no_memory(err);
	rawstack__v1__missing_binary__init(m);
	m->build_id.data = (uint8_t *)arena_copy(arena, from->id.bytes, from->id.len);
	m->build_id.len = from->id.len;
	m->id_kind = from->id.kind;
	m->weight = from->weight;
	m->first_unix_ns = from->first_ns;
	m->last_unix_ns = from->last_ns;
	m->paths = arena_array(arena, from->path_count, sizeof(m->paths[0]));
	if (!m->build_id.data || !m->paths)
		return err_no_memory(err);
	for (size_t i = 0; i < from->path_count; i++) {
		m->paths[i].data =
			(uint8_t *)arena_copy(arena, from->paths[i].p, from->paths[i].len);
		m->paths[i].len = from->paths[i].len;
		if (!m->paths[i].data)
			return err_no_memory(err);
	}
	m->n_paths = from->path_count;
	*ret = missing_status(r, &from->id, arena, m) ? m : NULL;
	return 0;
}

/* Lists all missing ids by rank, at most LIMIT_MISSING_IDS. */
static int rank_all(struct store_read *r, const struct service_caller *caller, struct arena *arena,
		    struct rank **ret, size_t *ret_count, struct err *err)
{
	const struct build_id *after = NULL;
	struct store_missing m;
	struct rank *rows = arena_array(arena, LIMIT_MISSING_IDS, sizeof(*rows));
	struct build_id at;
	size_t count = 0;
	int rc;

	if (!rows)
		return err_no_memory(err);
	while (count < LIMIT_MISSING_IDS && (rc = store_missing_next(r, after, &m, err)) != 0) {
		if (rc > 0)
			rc = service_check_caller(caller, err);
		if (rc)
			return rc;
		at = m.id;
		after = &at;
		rows[count++] = (struct rank){m.weight, m.id};
	}
	qsort(rows, count, sizeof(*rows), by_rank);
	*ret = rows;
	*ret_count = count;
	return 0;
}

int service_missing(struct service *s, const Rawstack__V1__MissingRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__MissingReply *reply, struct err *err)
{
	_cleanup_(service_read_endp) struct store_read *r = NULL;
	size_t max = page_size(request->page_size), count, at = 0, size = 0;
	struct rank *rows, last;
	int rc;

	store_flush_missing(s->store, NULL);
	rc = store_read_begin(s->store, &r, err);
	if (!rc)
		rc = rank_all(r, caller, arena, &rows, &count, err);
	if (rc == ERR_DATA)
		return service_store_error(rc, err);
	if (!rc && request->page_token.len)
		rc = read_token(&request->page_token, &last, err);
	if (rc)
		return rc;
	while (request->page_token.len && at < count && by_rank(&rows[at], &last) <= 0)
		at++;
	reply->binaries = arena_array(arena, max, sizeof(reply->binaries[0]));
	if (!reply->binaries)
		return err_no_memory(err);
	for (; at < count && reply->n_binaries < max && size < LIMIT_REPLY_LEN / 2; at++) {
		struct store_missing m;

		if (store_missing_get(r, &rows[at].id, &m, err) != 1)
			continue;
		TRY(fill_missing(r, &m, arena, &reply->binaries[reply->n_binaries], err));
		if (!reply->binaries[reply->n_binaries])
			continue;
		size += protobuf_c_message_get_packed_size(
			&reply->binaries[reply->n_binaries]->base);
		reply->n_binaries++;
	}
	return at < count && at ? write_token(&rows[at - 1], arena, &reply->next_page_token, err)
				: 0;
}
