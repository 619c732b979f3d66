/* SPDX-License-Identifier: Apache-2.0 */
/* Resolve answers a batch of one module with nested messages. */
#include <string.h>

#include "binary_meta.h"
#include "limits.h"
#include "resolve_reply.h"
#include "service_priv.h"

enum {
	CANDIDATES_MAX = 100
};

/* The newest binaries that match, newest first. */
struct candidates {
	struct build_id ids[CANDIDATES_MAX];
	uint64_t uploaded_ns[CANDIDATES_MAX];
	size_t count;
};

static void add_named_binary(struct candidates *c, const Rawstack__V1__Binary *b)
{
	size_t at = c->count;

	while (at && c->uploaded_ns[at - 1] < b->uploaded_unix_ns)
		at--;
	if (at == CANDIDATES_MAX)
		return;
	if (c->count < CANDIDATES_MAX)
		c->count++;
	memmove(c->ids + at + 1, c->ids + at, (c->count - at - 1) * sizeof(c->ids[0]));
	memmove(c->uploaded_ns + at + 1, c->uploaded_ns + at,
		(c->count - at - 1) * sizeof(c->uploaded_ns[0]));
	c->uploaded_ns[at] = b->uploaded_unix_ns;
	(void)build_id_set(&c->ids[at], BUILD_ID_GNU, b->build_id.data, b->build_id.len, NULL);
}

/* Looks at all binaries that have the name and the labels, page by page. */
static int find_candidates(struct service *s, const Rawstack__V1__ResolveRequest *request,
			   const struct service_caller *caller, struct candidates *c,
			   struct err *err)
{
	_cleanup_(arena_done) struct arena page = ARENA_INIT(LIMIT_REPLY_MEMORY);
	Rawstack__V1__ListRequest list = RAWSTACK__V1__LIST_REQUEST__INIT;
	uint8_t token[BUILD_ID_MAX];

	list.name = request->name_text[0] ? binary_meta_text(request->name_text) : request->name;
	list.labels = request->labels;
	list.n_labels = request->n_labels;
	list.page_size = LIMIT_PAGE;
	list.page_token.data = token;
	do {
		Rawstack__V1__ListReply found = RAWSTACK__V1__LIST_REPLY__INIT;

		TRY(service_list(s, &list, caller, &page, &found, err));
		for (size_t i = 0; i < found.n_binaries; i++)
			if (found.binaries[i]->status ==
			    RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY)
				add_named_binary(c, found.binaries[i]);
		list.page_token.len = found.next_page_token.len;
		if (list.page_token.len)
			memcpy(token, found.next_page_token.data, list.page_token.len);
		arena_reset(&page);
	} while (list.page_token.len);
	return 0;
}

/* Returns the id as bytes, or, for those who want text, as hex. */
static bool tell_id(const struct build_id *id, bool as_text, struct arena *arena,
		    ProtobufCBinaryData *bytes, char **text)
{
	char hex[BUILD_ID_HEX_MAX];

	if (as_text) {
		*text = arena_copy(arena, build_id_hex(id, hex), 2 * (size_t)id->len);
		return *text;
	}
	bytes->data = (uint8_t *)arena_copy(arena, id->bytes, id->len);
	bytes->len = id->len;
	return bytes->data;
}

/*
 * Finds the binaries that match name and labels, for a request without an id. If there is one, it
 * is answered; if there are several, they are the candidates, newest first.
 */
static int resolve_by_name(struct service *s, const Rawstack__V1__ResolveRequest *request,
			   const struct service_caller *caller, struct arena *arena,
			   struct build_id *ret, Rawstack__V1__ResolveReply *reply, struct err *err)
{
	_cleanup_(freep) struct candidates *c = calloc(1, sizeof(*c));

	if (!c)
		return err_no_memory(err);
	TRY(find_candidates(s, request, caller, c, err));
	if (!c->count)
		return err_set(err, ERR_NOT_FOUND, "no binary of that name and these labels");
	*ret = c->ids[0];
	if (c->count == 1)
		return 0;
	reply->candidates = arena_array(arena, c->count, sizeof(reply->candidates[0]));
	reply->candidates_text = arena_array(arena, c->count, sizeof(reply->candidates_text[0]));
	if (!reply->candidates || !reply->candidates_text)
		return err_no_memory(err);
	for (size_t i = 0; i < c->count; i++)
		if (!tell_id(&c->ids[i], request->want_text, arena, &reply->candidates[i],
			     &reply->candidates_text[i]))
			return err_no_memory(err);
	reply->n_candidates = request->want_text ? 0 : c->count;
	reply->n_candidates_text = request->want_text ? c->count : 0;
	return 0;
}

/* Reads the id of the request, and returns 1; or 0 if it has none. */
static int read_resolve_id(const Rawstack__V1__ResolveRequest *request, struct build_id *ret,
			   struct err *err)
{
	struct err why;

	if (request->build_id.len && request->build_id_text[0])
		return err_set(err, ERR_DATA, "build_id, build_id_text: both are there");
	if (request->build_id_text[0] && build_id_parse(ret, request->build_id_text, &why))
		return err_set(err, ERR_DATA, "build_id_text: %s", why.message);
	if (request->build_id.len)
		TRY(service_id(ret, &request->build_id, err));
	return request->build_id.len || request->build_id_text[0];
}

static int check_resolve_request(const Rawstack__V1__ResolveRequest *request, struct err *err)
{
	if (request->n_addresses > LIMIT_RESOLVE_ADDRESSES)
		return err_set(err, ERR_DATA, "addresses: %zu, at most %llu", request->n_addresses,
			       (unsigned long long)LIMIT_RESOLVE_ADDRESSES);
	switch (request->kind) {
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_UNSPECIFIED:
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR:
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF:
	case RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_KERNEL_TEXT:
		break;
	default:
		return err_set(err, ERR_DATA, "kind: must be FILE_OFF, KERNEL_TEXT or VADDR");
	}
	if (request->name.len && request->name_text[0])
		return err_set(err, ERR_DATA, "name, name_text: both are there");
	if (!request->build_id.len && !request->build_id_text[0] && !request->name.len &&
	    !request->name_text[0])
		return err_set(err, ERR_DATA, "build_id, name: both are empty");
	return 0;
}

/* The batch that asks for the addresses of a request, and what it points to. */
struct asked {
	Rawstack__V1__StackBatch batch;
	Rawstack__V1__Locations locations;
	Rawstack__V1__Module module, *modules;
};

/* Fills the batch, with the same kind and mode throughout. It borrows from request and id. */
static int fill_batch(const Rawstack__V1__ResolveRequest *request, struct build_id *id,
		      struct arena *arena, struct asked *a, struct err *err)
{
	Rawstack__V1__Locations *l = &a->locations;
	size_t count = request->n_addresses;

	rawstack__v1__stack_batch__init(&a->batch);
	rawstack__v1__locations__init(l);
	rawstack__v1__module__init(&a->module);
	l->kind = arena_array(arena, count, sizeof(l->kind[0]));
	l->module = arena_array(arena, count, sizeof(l->module[0]));
	l->mode = arena_array(arena, count, sizeof(l->mode[0]));
	if (!l->kind || !l->module || !l->mode)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		l->kind[i] = request->kind ? request->kind
					   : RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR;
		l->mode[i] = request->mode;
	}
	l->address = request->addresses;
	l->n_kind = l->n_module = l->n_mode = l->n_address = count;
	a->module.build_id = (ProtobufCBinaryData){id->len, id->bytes};
	a->modules = &a->module;
	a->batch.modules = &a->modules;
	a->batch.n_modules = 1;
	a->batch.locations = l;
	a->batch.detail = request->detail;
	a->batch.demangle = request->demangle;
	a->batch.want_columns = true;
	a->batch.want_function_details = true;
	return 0;
}

static int nest_module(const Rawstack__V1__ModuleReply *from, bool as_text, struct arena *arena,
		       Rawstack__V1__ResolveReply *reply, struct err *err)
{
	Rawstack__V1__ModuleReply *m = arena_alloc(arena, sizeof(*m));
	char *reason = arena_copy(arena, from->reason.data, from->reason.len);

	if (!m || !reason)
		return err_no_memory(err);
	*m = *from;
	m->reason.data = (uint8_t *)reason;
	if (as_text) {
		m->reason_text = reason;
		m->reason.len = 0;
	}
	reply->module = m;
	return 0;
}

static int nest_reply(const Rawstack__V1__SymbolizedBatch *columns,
		      const Rawstack__V1__ResolveRequest *request, struct arena *arena,
		      Rawstack__V1__ResolveReply *reply, struct err *err)
{
	TRY(nest_module(columns->modules[0], request->want_text, arena, reply, err));
	return resolve_reply_fill(reply, columns, request, arena, err);
}

int service_resolve(struct service *s, const Rawstack__V1__ResolveRequest *request,
		    const struct service_caller *caller, struct arena *arena,
		    Rawstack__V1__ResolveReply *reply, struct err *err)
{
	struct symbolize_env env = service_env(s, caller);
	struct symbolize *work;
	struct asked asked;
	struct build_id id;
	int rc;

	TRY(check_resolve_request(request, err));
	rc = read_resolve_id(request, &id, err);
	if (rc < 0)
		return rc;
	if (rc)
		TRY(service_find_alias(s, &id, err));
	else
		TRY(resolve_by_name(s, request, caller, arena, &id, reply, err));
	if (reply->n_candidates || reply->n_candidates_text)
		return 0;
	if (!tell_id(&id, request->want_text, arena, &reply->build_id, &reply->build_id_text))
		return err_no_memory(err);
	TRY(fill_batch(request, &id, arena, &asked, err));
	work = symbolize_pool_get(s->pool, err);
	if (!work)
		return ERR_MEMORY;
	env.uncounted = true;
	rc = service_look_up(s, work, &env, &asked.batch, err);
	if (!rc)
		rc = nest_reply(symbolize_reply(work), request, arena, reply, err);
	symbolize_pool_put(s->pool, work);
	return rc;
}
