/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real program with a build id, found by the hash of its file too: whatever is asked by one name
 * is answered as by the other. The worker program is the example: an executable with debug
 * information, which binutils split as distributions do.
 */
#include "service.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "limits.h"
#include "service_push.h"

#define KIND(name)   RAWSTACK__V1__BINARY_KIND__BINARY_KIND_##name
#define STATUS(name) RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_##name

enum {
	POINTS = 400 /* of the code, asked for */
};

static char worker[LIMIT_PATH_LEN];

/* The program, and its halves: whole, half.stripped, half.debug. */
static int split(void **state _unused_)
{
	const char *bin = getenv("RAWSTACK_BIN");

	if (!bin)
		return 0;
	snprintf(worker, sizeof(worker), "%s/rawstack-table-worker", bin);
	setenv("WORKER", worker, 1);
	return system("cp \"$WORKER\" whole && objcopy --only-keep-debug whole half.debug && "
		      "strip -o half.stripped whole && cp half.stripped signed && "
		      "printf signature >>signed");
}

/* A service in an empty folder. */
static struct service *open_fresh(struct service_config *config)
{
	if (!worker[0])
		skip();
	*config = (struct service_config){
		.data_dir = "data", .store_bytes = 64 << 20, .worker_path = worker};
	assert_int_equal(system("rm -rf data"), 0);
	return open_with(config);
}

/* As a profiler computes it, by nothing but the definition. */
static struct build_id hash_of(const char *path)
{
	_cleanup_(freep) uint8_t *content = NULL;
	uint8_t hashed[4096 + 4096 + 8], sum[DIGEST_LEN];
	struct build_id id;
	uint64_t len;

	assert_int_equal(io_read_file(path, 256 << 20, &content, &len, NULL), 0);
	assert_true(len >= 4096);
	memcpy(hashed, content, 4096);
	memcpy(hashed + 4096, content + len - 4096, 4096);
	for (int i = 0; i < 8; i++)
		hashed[8192 + i] = (uint8_t)(len >> (56 - 8 * i));
	digest_sha256(hashed, sizeof(hashed), sum);
	assert_int_equal(build_id_set(&id, BUILD_ID_HTLHASH, sum, HTLHASH_LEN, NULL), 0);
	return id;
}

static int push(struct service *s, const char *path, Rawstack__V1__BinaryKind kind)
{
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct build_id id = id_of_file(path);

	request.build_id = bytes_of_id(&id);
	request.kind = kind;
	return push_as(s, path, &request, NULL, NULL);
}

/* File offsets spread over the code. */
static void points_of(const char *path, uint64_t points[static POINTS])
{
	_cleanup_(freep) uint8_t *content = NULL;
	Elf64_Ehdr h;
	Elf64_Phdr p = {0};
	uint64_t len;

	assert_int_equal(io_read_file(path, 256 << 20, &content, &len, NULL), 0);
	memcpy(&h, content, sizeof(h));
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		memcpy(&p, content + h.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_flags & PF_X)
			break;
	}
	assert_true(p.p_flags & PF_X);
	for (uint64_t i = 0; i < POINTS; i++)
		points[i] = p.p_offset + i * (p.p_filesz / POINTS);
}

struct answer {
	uint8_t *p;
	size_t len;
	Rawstack__V1__ModuleStatus status;
	size_t resolved;
};

static void assert_same(const struct answer *a, const struct answer *b)
{
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->p, b->p, a->len);
}

static struct answer resolve(struct service *s, struct build_id id)
{
	Rawstack__V1__ResolveRequest request;
	Rawstack__V1__ResolveReply reply, *got;
	struct answer a = {0};
	uint64_t points[POINTS];
	struct err err;

	rawstack__v1__resolve_request__init(&request);
	rawstack__v1__resolve_reply__init(&reply);
	points_of("whole", points);
	request.build_id = bytes_of_id(&id);
	request.kind = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF;
	request.addresses = points;
	request.n_addresses = POINTS;
	if (service_resolve(s, &request, NULL, &arena, &reply, &err))
		fail_msg("%s", err.message);
	a.status = reply.module->status;
	a.len = rawstack__v1__resolve_reply__get_packed_size(&reply);
	a.p = arena_alloc(&arena, a.len);
	rawstack__v1__resolve_reply__pack(&reply, a.p);
	got = rawstack__v1__resolve_reply__unpack(NULL, a.len, a.p);
	for (size_t i = 0; i < got->n_addresses; i++)
		a.resolved += got->addresses[i]->status ==
			      RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_RESOLVED;
	rawstack__v1__resolve_reply__free_unpacked(got, NULL);
	return a;
}

/* A batch of the points, in a stream or not: its modules are `ids`, or those of a batch before. */
static struct answer symbolize(struct service *s, struct service_stream **stream,
			       const struct build_id *ids, size_t count)
{
	Rawstack__V1__StackBatch batch = RAWSTACK__V1__STACK_BATCH__INIT;
	Rawstack__V1__Locations l = RAWSTACK__V1__LOCATIONS__INIT;
	Rawstack__V1__Module modules[2], *list[2] = {&modules[0], &modules[1]};
	Rawstack__V1__LocationKind kinds[POINTS];
	const Rawstack__V1__SymbolizedBatch *reply;
	struct symbolize *work = NULL;
	uint32_t indexes[POINTS];
	uint64_t points[POINTS];
	struct answer a = {0};
	struct err err;
	int rc;

	points_of("whole", points);
	for (size_t i = 0; i < count; i++) {
		rawstack__v1__module__init(&modules[i]);
		modules[i].build_id = bytes_of_id(&ids[i]);
		modules[i].id_kind = ids[i].kind;
		modules[i].path = text("/usr/bin/example");
	}
	for (uint32_t i = 0; i < POINTS; i++) {
		kinds[i] = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_FILE_OFF;
		indexes[i] = count ? i % (uint32_t)count : 0;
	}
	l.kind = kinds;
	l.module = indexes;
	l.address = points;
	l.n_kind = l.n_module = l.n_address = POINTS;
	batch.modules = list;
	batch.n_modules = count;
	batch.locations = &l;
	rc = stream ? service_stream_batch(s, stream, &batch, NULL, &reply, &err)
		    : service_symbolize(s, &batch, NULL, &work, &err);
	if (rc)
		fail_msg("%s", err.message);
	if (!stream)
		reply = symbolize_reply(work);
	assert_true(reply->n_modules > 0);
	a.status = reply->modules[0]->status;
	for (size_t i = 0; i < reply->n_status; i++)
		a.resolved +=
			reply->status[i] == RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_RESOLVED;
	a.len = rawstack__v1__symbolized_batch__get_packed_size(reply);
	a.p = arena_alloc(&arena, a.len);
	rawstack__v1__symbolized_batch__pack(reply, a.p);
	if (!stream)
		service_symbolize_done(s, work);
	return a;
}

/* All that can be asked of both names is answered alike. */
static void assert_alike(struct service *s, struct build_id id, struct build_id hash,
			 Rawstack__V1__ModuleStatus status)
{
	const struct build_id both[] = {hash, id}, twice[] = {id, id};
	const struct answer by_id = resolve(s, id), by_hash = resolve(s, hash);
	const struct answer batch_by_id = symbolize(s, NULL, &id, 1),
			    batch_by_hash = symbolize(s, NULL, &hash, 1),
			    batch_by_both = symbolize(s, NULL, both, 2),
			    batch_by_two = symbolize(s, NULL, twice, 2);
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	Rawstack__V1__Binary *binary;

	assert_int_equal(by_id.status, status);
	assert_same(&by_id, &by_hash);
	assert_same(&batch_by_id, &batch_by_hash);
	assert_same(&batch_by_both, &batch_by_two);
	assert_int_equal(batch_by_id.status, status);
	if (status == STATUS(READY)) {
		assert_true(by_id.resolved > POINTS / 2);
		assert_int_equal(batch_by_hash.resolved, by_id.resolved);
	}
	get.build_id = bytes_of_id(&hash);
	assert_int_equal(service_get(s, &get, &arena, &binary, NULL), 0);
	assert_int_equal(binary->status, status);
	assert_int_equal(binary->build_id.len, id.len);
	assert_memory_equal(binary->build_id.data, id.bytes, id.len);
	assert_int_equal(binary->id_kind, RAWSTACK__V1__ID_KIND__ID_KIND_GNU);
}

static void assert_unknown(struct service *s, struct build_id name)
{
	Rawstack__V1__GetRequest get = RAWSTACK__V1__GET_REQUEST__INIT;
	Rawstack__V1__Binary *binary;

	get.build_id = bytes_of_id(&name);
	assert_int_equal(service_get(s, &get, &arena, &binary, NULL), ERR_NOT_FOUND);
	assert_int_equal(resolve(s, name).status, STATUS(MISSING));
}

static Rawstack__V1__MissingReply *missing(struct service *s)
{
	Rawstack__V1__MissingRequest request = RAWSTACK__V1__MISSING_REQUEST__INIT;
	Rawstack__V1__MissingReply *reply = arena_alloc(&arena, sizeof(*reply));

	rawstack__v1__missing_reply__init(reply);
	assert_int_equal(service_missing(s, &request, NULL, &arena, reply, NULL), 0);
	return reply;
}

/* --- watches --------------------------------------------------------------------------------- */

struct seen {
	atomic_size_t count;
	struct watch_event events[16];
};

static bool see(void *arg, const struct watch_event *event)
{
	struct seen *seen = arg;
	size_t at = atomic_load(&seen->count);

	assert_true(at < 16);
	seen->events[at] = *event;
	atomic_store(&seen->count, at + 1);
	return true;
}

static void end(void *arg _unused_, int code _unused_, const char *message _unused_)
{
}

static struct watch *watch(struct service *s, const struct build_id *id, struct seen *seen)
{
	const struct watch_reader reader = {.arg = seen, .send = see, .end = end};
	Rawstack__V1__WatchRequest request = RAWSTACK__V1__WATCH_REQUEST__INIT;
	ProtobufCBinaryData named;
	struct watch *w;

	if (id)
		named = bytes_of_id(id);
	request.build_ids = &named;
	request.n_build_ids = id != NULL;
	assert_int_equal(service_watch(s, &request, &reader, &w, NULL), 0);
	return w;
}

static void assert_seen(const struct seen *seen, const struct build_id *name, size_t count)
{
	assert_int_equal(atomic_load(&seen->count), count);
	for (size_t i = 0; i < count; i++) {
		assert_true(build_id_equal(&seen->events[i].id, name));
		assert_false(seen->events[i].failed);
		assert_true(seen->events[i].generation != 0);
	}
}

/* --- tests ----------------------------------------------------------------------------------- */

/* A host asked by the hash before anybody sent the file. */
static void test_whole(void **state _unused_)
{
	struct build_id id, hash, other = id_of(3);
	struct seen by_hash = {0}, by_id = {0}, all = {0}, late = {0};
	struct service_stream *stream = NULL;
	struct watch *w[4];
	Rawstack__V1__BeginRequest begin = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	Rawstack__V1__MissingReply *m;
	struct service_config config;
	struct service *s;

	s = open_fresh(&config);
	id = id_of_file("whole");
	hash = hash_of("whole");
	assert_int_equal(id.kind, BUILD_ID_GNU);
	assert_unknown(s, hash);
	symbolize(s, NULL, &hash, 1);
	symbolize(s, NULL, &other, 1);
	assert_int_equal(symbolize(s, &stream, &hash, 1).status, STATUS(MISSING));
	m = missing(s);
	assert_int_equal(m->n_binaries, 2);
	assert_memory_equal(m->binaries[0]->build_id.data, hash.bytes, hash.len);
	assert_int_equal(m->binaries[0]->id_kind, RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH);
	assert_int_equal(m->binaries[0]->weight, 2 * POINTS);
	w[0] = watch(s, &hash, &by_hash);
	w[1] = watch(s, &id, &by_id);
	w[2] = watch(s, NULL, &all);
	symbolize(s, NULL, &hash, 1); /* on its way to the store when the file comes */
	assert_int_equal(push(s, "whole", KIND(UNSPECIFIED)), 0);
	assert_alike(s, id, hash, STATUS(READY));
	assert_seen(&by_hash, &hash, 1);
	assert_seen(&by_id, &id, 1);
	assert_seen(&all, &id, 1);
	w[3] = watch(s, &hash, &late);
	assert_seen(&late, &hash, 1);
	/* Who calls it by the hash need not send it either. */
	begin.build_id = bytes_of_id(&hash);
	begin.id_kind = RAWSTACK__V1__ID_KIND__ID_KIND_HTLHASH;
	assert_int_equal(push_as(s, "whole", &begin, NULL, NULL), 1);
	m = missing(s);
	assert_int_equal(m->n_binaries, 1);
	assert_memory_equal(m->binaries[0]->build_id.data, other.bytes, other.len);
	/* The stream's module is the same one, and there now. */
	assert_int_equal(symbolize(s, &stream, NULL, 0).status, STATUS(READY));
	service_stream_end(s, stream);
	for (size_t i = 0; i < 4; i++)
		watch_close(w[i]);
	assert_int_equal(push(s, "whole", KIND(UNSPECIFIED)), 1);
	assert_true(service_close(s));
	s = open_with(&config);
	assert_alike(s, id, hash, STATUS(READY));
	assert_unknown(s, hash_of("half.stripped"));
	assert_true(service_close(s));
}

/* What was deleted is gone by both names, and there again by both; a delete and a pin take either.
 */
static void test_deleted(void **state _unused_)
{
	Rawstack__V1__DeleteRequest request = RAWSTACK__V1__DELETE_REQUEST__INIT;
	Rawstack__V1__DeleteReply reply = RAWSTACK__V1__DELETE_REPLY__INIT;
	Rawstack__V1__PinRequest pin = RAWSTACK__V1__PIN_REQUEST__INIT;
	Rawstack__V1__MissingReply *m;
	struct service_config config;
	struct build_id id, hash;
	struct service *s;

	s = open_fresh(&config);
	id = id_of_file("whole");
	hash = hash_of("whole");
	assert_int_equal(push(s, "whole", KIND(BOTH)), 0);
	pin.build_id = request.build_id = bytes_of_id(&hash);
	pin.pinned = true;
	assert_int_equal(service_pin(s, &pin, NULL), 0);
	assert_int_equal(service_delete(s, &request, &reply, NULL), 0);
	assert_true(reply.deleted);
	assert_int_equal(service_delete(s, &request, &reply, NULL), 0);
	assert_false(reply.deleted);
	assert_alike(s, id, hash, STATUS(PURGED));
	m = missing(s); /* both names count as one */
	assert_int_equal(m->n_binaries, 1);
	assert_memory_equal(m->binaries[0]->build_id.data, id.bytes, id.len);
	assert_int_equal(m->binaries[0]->weight, 4 * POINTS);
	assert_int_equal(push(s, "whole", KIND(BOTH)), 0);
	assert_alike(s, id, hash, STATUS(READY));
	assert_int_equal(missing(s)->n_binaries, 0);
	assert_true(service_close(s));
}

/* Evicted, and asked for by its hash: it is made again of the file that was kept. */
static void test_made_again(void **state _unused_)
{
	struct service_config config;
	struct build_id id, hash;
	struct service *s;

	s = open_fresh(&config);
	assert_true(service_close(s));
	config.keep_debug = true;
	s = open_with(&config);
	id = id_of_file("whole");
	hash = hash_of("whole");
	assert_int_equal(push(s, "whole", KIND(UNSPECIFIED)), 0);
	assert_int_equal(store_purge(s->store, &id, NULL), 1);
	assert_int_equal(symbolize(s, NULL, &hash, 1).status, STATUS(BUILDING));
	for (int i = 0; i < 6000 && service_is_building(s, &id); i++)
		usleep(10000);
	assert_alike(s, id, hash, STATUS(READY));
	assert_true(service_close(s));
}

/* A debug file has no hash that a host could see; its program, before it or after it, has. */
static void test_halves(void **state _unused_)
{
	struct build_id id, hash;
	struct service_config config;
	struct seen seen = {0};
	struct service *s;
	struct watch *w;

	for (int program_first = 0; program_first < 2; program_first++) {
		s = open_fresh(&config);
		id = id_of_file("half.debug");
		hash = hash_of("half.stripped");
		if (program_first) {
			assert_int_equal(push(s, "half.stripped", KIND(EXECUTABLE)), 0);
			assert_int_equal(resolve(s, hash).status, STATUS(READY));
			assert_int_equal(push(s, "half.debug", KIND(DEBUG)), 0);
		} else {
			w = watch(s, &hash, &seen);
			assert_int_equal(push(s, "half.debug", KIND(UNSPECIFIED)), 0);
			assert_unknown(s, hash);
			assert_unknown(s, hash_of("half.debug"));
			assert_seen(&seen, &hash, 0);
			assert_int_equal(push(s, "half.stripped", KIND(EXECUTABLE)), 0);
			assert_seen(&seen, &hash, 1);
			watch_close(w);
		}
		assert_alike(s, id, hash, STATUS(READY));
		assert_unknown(s, hash_of("half.debug"));
		assert_unknown(s, hash_of("whole"));
		assert_true(service_close(s));
	}
}

/* A stripped copy adds nothing to the table of a whole program, but the hash that hosts see. */
static void test_copies(void **state _unused_)
{
	static const char *const copies[] = {"half.stripped", "signed"};
	struct service_config config;
	struct service *s = open_fresh(&config);
	const struct build_id id = id_of_file("whole");

	assert_int_equal(push(s, "whole", KIND(BOTH)), 0);
	for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
		Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
		struct build_id hash = hash_of(copies[i]);
		struct seen seen = {0};
		struct watch *w = watch(s, &hash, &seen);

		assert_unknown(s, hash);
		assert_int_equal(push(s, copies[i], KIND(EXECUTABLE)), 1); /* nobody asks for it */
		request.build_id = bytes_of_id(&id);
		request.kind = KIND(EXECUTABLE);
		request.replace = true;
		assert_int_equal(push_as(s, copies[i], &request, NULL, NULL), 0);
		assert_alike(s, id, hash, STATUS(READY));
		assert_alike(s, id, hash_of("whole"), STATUS(READY));
		assert_seen(&seen, &hash, 1);
		watch_close(w);
	}
	assert_true(service_close(s));
}

/* A program without symbols makes no table: why, is told by both names, until the rest comes. */
static void test_failed(void **state _unused_)
{
	struct build_id id, hash;
	struct service_config config;
	struct service *s;

	s = open_fresh(&config);
	assert_int_equal(system("objcopy -R .dynsym -R .gnu.version -R .gnu.version_r -R .gnu.hash "
				"half.stripped bare 2>bare.err"),
			 0);
	id = id_of_file("bare");
	hash = hash_of("bare");
	assert_int_equal(push(s, "bare", KIND(EXECUTABLE)), ERR_UNSUPPORTED);
	assert_alike(s, id, hash, STATUS(FAILED));
	assert_int_equal(push(s, "half.debug", KIND(DEBUG)), 0);
	assert_int_equal(resolve(s, hash).status, STATUS(READY));
	assert_true(service_close(s));
}

/* A table that a client made says nothing of a file. */
static void test_table(void **state _unused_)
{
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct service_config config;
	struct service *s;
	struct build_id id;

	s = open_fresh(&config);
	assert_int_equal(system("\"${WORKER%/*}\"/rawstack-gsym-build build whole -o whole.rsym "
				">made.out"),
			 0);
	id = id_of_file("whole");
	request.build_id = bytes_of_id(&id);
	request.kind = KIND(TABLE);
	assert_int_equal(push_as(s, "whole.rsym", &request, NULL, NULL), 0);
	assert_int_equal(resolve(s, id).status, STATUS(READY));
	assert_unknown(s, hash_of("whole"));
	assert_true(service_close(s));
}

/* A file that says that its build id is the hash of another one. */
static void write_liar(struct build_id hash)
{
	static const uint8_t head[16] = {4, 0, 0, 0,   20,  0,   0, 0, NT_GNU_BUILD_ID,
					 0, 0, 0, 'G', 'N', 'U', 0};
	_cleanup_(freep) uint8_t *content = NULL;
	uint8_t *note;
	uint64_t len;
	FILE *f = fopen("liar", "w");

	assert_int_equal(io_read_file("whole", 256 << 20, &content, &len, NULL), 0);
	note = memmem(content, len, head, sizeof(head));
	assert_non_null(note);
	note[4] = HTLHASH_LEN;
	memcpy(note + sizeof(head), hash.bytes, HTLHASH_LEN);
	assert_non_null(f);
	assert_int_equal(fwrite(content, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Whoever comes first keeps what he has, and nobody is answered from the file of somebody else
 * because of a name that was not free any more. */
static void test_liar(void **state _unused_)
{
	Rawstack__V1__DeleteRequest request = RAWSTACK__V1__DELETE_REQUEST__INIT;
	Rawstack__V1__DeleteReply reply = RAWSTACK__V1__DELETE_REPLY__INIT;
	struct build_id id, hash, lie;
	struct service_config config;
	struct service *s;

	s = open_fresh(&config);
	id = id_of_file("half.stripped");
	hash = hash_of("half.stripped");
	write_liar(hash);
	lie = id_of_file("liar");
	assert_true(build_id_equal(&lie, &hash));
	assert_int_equal(push(s, "half.stripped", KIND(EXECUTABLE)), 0);
	assert_int_equal(push(s, "liar", KIND(BOTH)), ERR_DATA);
	assert_int_equal(resolve(s, hash).status, STATUS(READY));
	assert_int_equal(resolve(s, hash).resolved, 0); /* without lines, as it was sent */
	assert_true(service_close(s));

	s = open_fresh(&config);
	assert_int_equal(push(s, "liar", KIND(BOTH)), 0);
	assert_int_equal(push(s, "half.stripped", KIND(EXECUTABLE)), 0);
	assert_true(resolve(s, hash).resolved > POINTS / 2); /* the liar's lines */
	assert_int_equal(resolve(s, id).resolved, 0);
	request.build_id = bytes_of_id(&hash);
	assert_int_equal(service_delete(s, &request, &reply, NULL), 0);
	assert_true(reply.deleted);
	assert_int_equal(resolve(s, id).status, STATUS(READY));
	assert_int_equal(resolve(s, hash).resolved, 0);
	assert_int_equal(resolve(s, hash).status, STATUS(READY));
	assert_true(service_close(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),  cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_halves), cmocka_unit_test(test_made_again),
		cmocka_unit_test(test_failed), cmocka_unit_test(test_table),
		cmocka_unit_test(test_liar),   cmocka_unit_test(test_copies),
	};
	char dir[] = "names-XXXXXX";

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	return cmocka_run_group_tests(tests, split, teardown);
}
