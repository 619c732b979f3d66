/* SPDX-License-Identifier: Apache-2.0 */
/* libraries TABLE PROFILE SPOOL VADDR: calls every function of librsym and librawstack-profile, as
 * a program that knows nothing but their headers. Functions here have names that the libraries use
 * inside, which must not meet. */
#include <librsym.h>
#include <pthread.h>
#include <rawstack_profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

void buf_append(void);
void err_set(void);
void profile_init(void);
void rsym_open(void);

void buf_append(void)
{
	abort();
}
void err_set(void)
{
	abort();
}
void profile_init(void)
{
	abort();
}
void rsym_open(void)
{
	abort();
}

static void *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	void *p;

	CHECK(f && !fseek(f, 0, SEEK_END));
	*ret_len = (size_t)ftell(f);
	rewind(f);
	p = aligned_alloc(64, (*ret_len + 127) / 64 * 64);
	CHECK(p && fread(p, 1, *ret_len, f) == *ret_len);
	fclose(f);
	return p;
}

/* --- tables ---------------------------------------------------------------------------------- */

static struct rsym_table *table;
static uint64_t known_vaddr;

static void *look_up_often(void *unused)
{
	struct rsym_frame frames[RSYM_TABLE_FRAMES_MAX];
	struct rsym_names *names;
	const char *text;
	size_t len;

	(void)unused;
	CHECK(!rsym_names_new(&names, table, 1 << 16, NULL));
	for (int i = 0; i < 500; i++) {
		CHECK(rsym_table_lookup(table, known_vaddr, frames, RSYM_TABLE_FRAMES_MAX) > 0);
		CHECK(!rsym_names_function(names, frames[0].function, &text, &len, NULL));
		CHECK(len == 4 && !memcmp(text, "leaf", 4));
	}
	rsym_names_free(names);
	return NULL;
}

static void check_names(uint32_t function)
{
	struct rsym_names *names;
	struct rsym_error error;
	const char *text;
	size_t len;

	CHECK(!rsym_names_new(&names, table, 0, &error));
	CHECK(!rsym_names_function(names, function, &text, &len, &error));
	CHECK(len == 4 && !memcmp(text, "leaf", 4));
	CHECK(rsym_names_function(names, UINT32_MAX, &text, &len, &error) == RSYM_ERROR_USAGE);
	CHECK(error.code == RSYM_ERROR_USAGE && error.message[0]);
	CHECK(rsym_names_readable(names, function, RSYM_NAMES_FULL, &text, &len, &error) == 1);
	CHECK(len == 4);
	CHECK(rsym_names_readable(names, UINT32_MAX, RSYM_NAMES_FULL, &text, &len, NULL) ==
	      RSYM_ERROR_USAGE);
	CHECK(rsym_names_type(names, function, &text, &len, &error) == 1);
	CHECK(len > 3 && !memcmp(text, "int", 3));
	CHECK(rsym_names_type(names, UINT32_MAX, &text, &len, &error) == 0 && len == 0);
	CHECK(!rsym_names_file(names, RSYM_TABLE_NONE, &text, &len, &error) && len == 0);
	CHECK(!rsym_names_file(names, 0, &text, &len, &error) && len > 0);
	CHECK(rsym_names_file(names, 1 << 30, &text, &len, &error) == RSYM_ERROR_USAGE);
	rsym_names_free(names);
	rsym_names_free(NULL);
}

static void check_table(void)
{
	struct rsym_frame frames[2 * RSYM_TABLE_FRAMES_MAX];
	const uint64_t vaddrs[] = {known_vaddr, 1, known_vaddr};
	struct rsym_table_function function;
	struct rsym_column columns[1];
	struct rsym_table_info info;
	uint64_t start, end, vaddr;
	uint32_t ends[3];
	int n;

	rsym_table_info(table, &info, sizeof(info));
	CHECK(info.build_id_len == 20 && info.function_count > 1 && info.generation);
	CHECK(info.flags & RSYM_TABLE_HAS_DWARF && info.flags & RSYM_TABLE_HAS_COLUMNS);
	CHECK(info.flags & RSYM_TABLE_HAS_TYPES && info.flags & RSYM_TABLE_HAS_READABLE);
	/* A caller of an older header gets what it knows, and nothing behind it. */
	memset(&info, 0x55, sizeof(info));
	rsym_table_info(table, &info, 64);
	CHECK(info.build_id[0] != 0x55 || info.build_id[1] != 0x55);
	CHECK(info.build_id_len == 0x55555555);

	CHECK(rsym_table_lookup(table, 1, frames, 1) == 0);
	CHECK(rsym_table_lookup(table, known_vaddr, frames, 0) == 0);
	n = rsym_table_lookup(table, known_vaddr, frames, RSYM_TABLE_FRAMES_MAX);
	CHECK(n == 1 && frames[0].line == 1);
	CHECK(rsym_table_lookup_many(table, vaddrs, 3, frames, 2 * RSYM_TABLE_FRAMES_MAX, ends) ==
	      3);
	CHECK(ends[0] == 1 && ends[1] == 1 && ends[2] == 2);
	CHECK(rsym_table_lookup_many(table, vaddrs, 3, frames, 1, ends) == 0);
	CHECK(rsym_table_call_vaddr(table, known_vaddr + 1) == known_vaddr);
	CHECK(rsym_table_range(table, known_vaddr, &start, &end) == 1);
	CHECK(start <= known_vaddr && known_vaddr < end);
	CHECK(rsym_table_vaddr_of_file_offset(table, known_vaddr - 0x400000, &vaddr) == 1);
	CHECK(vaddr == known_vaddr);
	CHECK(rsym_table_vaddr_of_section(table, ".text", 0, &vaddr) == 0);
	CHECK(rsym_table_columns(table, known_vaddr, columns, 1) == 1 && columns[0].column > 0);
	CHECK(!rsym_table_function(table, frames[0].function, &function, sizeof(function), NULL));
	CHECK(function.has_entry && function.vaddr == known_vaddr && !function.is_symbol);
	CHECK(rsym_table_function(table, UINT32_MAX, &function, sizeof(function), NULL) ==
	      RSYM_ERROR_USAGE);
	CHECK(rsym_table_aliases(table, known_vaddr, NULL, 0) == 1);
	check_names(frames[0].function);
}

/* Every damaged table is refused, or answers without harm. */
static void check_damage(const char *path)
{
	struct rsym_frame frames[RSYM_TABLE_FRAMES_MAX];
	struct rsym_table *damaged;
	struct rsym_error error;
	uint8_t *bytes;
	size_t len;

	bytes = read_file(path, &len);
	CHECK(rsym_table_open_bytes(&damaged, bytes + 8, len - 8, &error) == RSYM_ERROR_USAGE);
	for (size_t cut = 0; cut < len; cut += len / 50 + 1)
		CHECK(rsym_table_open_bytes(&damaged, bytes, cut, &error) == RSYM_ERROR_DATA);
	for (size_t i = 0; i < len; i += len / 400 + 1) {
		bytes[i] ^= 0x41;
		memset(&error, 0, sizeof(error));
		if (rsym_table_open_bytes(&damaged, bytes, len, &error)) {
			CHECK(error.code < 0 && error.message[0] && !strchr(error.message, '\n'));
		} else {
			rsym_table_lookup(damaged, known_vaddr, frames, RSYM_TABLE_FRAMES_MAX);
			rsym_table_close(damaged);
		}
		bytes[i] ^= 0x41;
	}
	CHECK(!rsym_table_open_bytes(&damaged, bytes, len, NULL));
	rsym_table_close(damaged);
	rsym_table_close(NULL);
	free(bytes);
	CHECK(rsym_table_open_file(&damaged, "/nowhere", &error) == RSYM_ERROR_NOT_FOUND);
	CHECK(rsym_table_open_file(&damaged, "/", &error) == RSYM_ERROR_DATA);
	CHECK(rsym_table_open_file(&damaged, "/dev/null", NULL) == RSYM_ERROR_DATA);
}

/* --- profiles -------------------------------------------------------------------------------- */

static struct rawstack_profile_text text(const char *s)
{
	return rawstack_profile_text(s, strlen(s));
}

static int is(struct rawstack_profile_text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.p, s, t.len);
}

struct output {
	char bytes[65536];
	size_t len;
};

static int gather(void *ctx, const void *bytes, size_t len)
{
	struct output *o = ctx;

	CHECK(len <= sizeof(o->bytes) - o->len);
	memcpy(o->bytes + o->len, bytes, len);
	o->len += len;
	return 0;
}

static int refuse(void *ctx, const void *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return 1;
}

static struct rawstack_profile *make_profile(void)
{
	struct rawstack_profile *p = rawstack_profile_new();
	const struct rawstack_profile_module module = {
		.file_offset = 0, .path = text("/bin/prog"), .build_id = text("0102")};
	const struct rawstack_profile_frame frames[] = {
		{.function = text("inner"), .file = text("a.c"), .line = 3},
		{.function = text("outer"),
		 .system_name = text("_Z5outer"),
		 .line = 9,
		 .start_line = 7}};
	const struct rawstack_profile_label labels[] = {
		{.key = text("thread"), .text = text("main")}, {.key = text("pid"), .number = 42}};
	const int64_t values[] = {2, 20};
	uint32_t locations[2], m;

	CHECK(p);
	rawstack_profile_add_value(p, text("samples"), text("count"));
	rawstack_profile_add_value(p, text("cpu"), text("nanoseconds"));
	rawstack_profile_set_times(p, 1000, 50, 10, text("cpu"), text("nanoseconds"));
	rawstack_profile_add_comment(p, text("made by hand"));
	m = rawstack_profile_add_module(p, &module);
	CHECK(m == 0);
	locations[0] = rawstack_profile_add_location(p, m, 0x1234, frames, 2);
	locations[1] = rawstack_profile_add_location(p, m, 0x2000, NULL, 0);
	CHECK(rawstack_profile_add_sample(p, locations, 2, labels, 2, values) == 0);
	CHECK(rawstack_profile_add_sample(p, locations, 2, labels, 2, values) == 0);
	CHECK(!rawstack_profile_check(p, NULL));
	return p;
}

static void check_rows(const struct rawstack_profile *p)
{
	struct rawstack_profile_location location;
	struct rawstack_profile_module module;
	struct rawstack_profile_sample sample;
	struct rawstack_profile_frame frame;
	struct rawstack_profile_label label;
	struct rawstack_profile_info info;
	struct rawstack_profile_text a, b;

	rawstack_profile_info(p, &info, sizeof(info));
	CHECK(info.time_ns == 1000 && info.duration_ns == 50 && info.period == 10);
	CHECK(info.value_count == 2 && info.module_count == 1 && info.sample_count == 1);
	CHECK(info.location_count == 2 && info.comment_count == 1 && is(info.period_type, "cpu"));
	CHECK(rawstack_profile_value(p, 1, &a, &b) == 1 && is(a, "cpu") && is(b, "nanoseconds"));
	CHECK(rawstack_profile_value(p, 2, &a, &b) == 0);
	CHECK(rawstack_profile_comment(p, 0, &a) == 1 && is(a, "made by hand"));
	CHECK(rawstack_profile_comment(p, 1, &a) == 0);
	CHECK(rawstack_profile_module(p, 0, &module, sizeof(module)) == 1);
	CHECK(is(module.path, "/bin/prog") && is(module.build_id, "0102") && !module.is_kernel);
	CHECK(rawstack_profile_module(p, 1, &module, sizeof(module)) == 0);
	CHECK(rawstack_profile_sample(p, 0, &sample, sizeof(sample)) == 1);
	CHECK(sample.location_count == 2 && sample.label_count == 2);
	CHECK(sample.values[0] == 4 && sample.values[1] == 40);
	CHECK(rawstack_profile_sample(p, 1, &sample, sizeof(sample)) == 0);
	CHECK(rawstack_profile_location(p, sample.locations[0], &location, sizeof(location)) == 1);
	CHECK(location.address == 0x1234 && location.frame_count == 2 && !location.is_unnamed);
	CHECK(rawstack_profile_location(p, sample.locations[1], &location, sizeof(location)) == 1);
	CHECK(location.is_unnamed && location.frame_count == 0 && location.module == 0);
	CHECK(rawstack_profile_location(p, 2, &location, sizeof(location)) == 0);
	CHECK(rawstack_profile_frame(p, sample.locations[0], 0, &frame, sizeof(frame)) == 1);
	CHECK(is(frame.function, "inner") && is(frame.file, "a.c") && frame.line == 3);
	CHECK(rawstack_profile_frame(p, sample.locations[0], 1, &frame, sizeof(frame)) == 1);
	CHECK(is(frame.system_name, "_Z5outer") && frame.start_line == 7);
	CHECK(rawstack_profile_frame(p, sample.locations[0], 2, &frame, sizeof(frame)) == 0);
	CHECK(rawstack_profile_label(p, 0, 0, &label, sizeof(label)) == 1);
	CHECK(is(label.key, "thread") && is(label.text, "main"));
	CHECK(rawstack_profile_label(p, 0, 1, &label, sizeof(label)) == 1);
	CHECK(is(label.key, "pid") && label.text.len == 0 && label.number == 42);
	CHECK(rawstack_profile_label(p, 0, 2, &label, sizeof(label)) == 0);
}

static void check_formats(struct rawstack_profile *p)
{
	static struct output out;
	struct rawstack_profile *again = rawstack_profile_new();
	struct rawstack_profile_error error;

	CHECK(!rawstack_profile_write(p, RAWSTACK_PROFILE_PPROF, 0, gather, &out, &error));
	CHECK(!rawstack_profile_read_pprof(again, out.bytes, out.len, &error));
	check_rows(again);
	rawstack_profile_free(again);
	again = rawstack_profile_new();
	CHECK(rawstack_profile_read_pprof(again, out.bytes, out.len / 2, &error) ==
	      RAWSTACK_PROFILE_ERROR_DATA);
	CHECK(error.message[0] && !strchr(error.message, '\n'));
	rawstack_profile_free(again);

	out.len = 0;
	CHECK(!rawstack_profile_write(p, RAWSTACK_PROFILE_FOLDED, 1, gather, &out, &error));
	out.bytes[out.len] = '\0';
	CHECK(!strcmp(out.bytes, "main;prog+0x2000;outer;inner 40\n") ||
	      strstr(out.bytes, ";outer;inner 40\n"));
	for (int format = RAWSTACK_PROFILE_SPEEDSCOPE; format <= RAWSTACK_PROFILE_OTLP; format++) {
		out.len = 0;
		CHECK(!rawstack_profile_write(p, (enum rawstack_profile_format)format, 0, gather,
					      &out, &error));
		CHECK(out.len > 20);
	}
	CHECK(rawstack_profile_write(p, (enum rawstack_profile_format)99, 0, gather, &out,
				     &error) == RAWSTACK_PROFILE_ERROR_USAGE);
	CHECK(rawstack_profile_write(p, RAWSTACK_PROFILE_FOLDED, 2, gather, &out, &error) ==
	      RAWSTACK_PROFILE_ERROR_USAGE);
	CHECK(rawstack_profile_write(p, RAWSTACK_PROFILE_PPROF, 0, refuse, NULL, &error) ==
	      RAWSTACK_PROFILE_ERROR_CANCELLED);
}

/* What a caller may not add is refused, sticks, and is told. */
static void check_refusals(void)
{
	const uint32_t none[] = {7};
	const int64_t values[] = {1};
	struct rawstack_profile_error error;
	struct rawstack_profile *p = rawstack_profile_new();
	const struct rawstack_profile_module wrong = {.build_id = text("XYZ")};

	rawstack_profile_add_value(p, text("samples"), text("count"));
	CHECK(rawstack_profile_add_sample(p, none, 1, NULL, 0, values) == RAWSTACK_PROFILE_NONE);
	CHECK(rawstack_profile_check(p, &error) == RAWSTACK_PROFILE_ERROR_USAGE);
	CHECK(rawstack_profile_add_location(p, RAWSTACK_PROFILE_NONE, 1, NULL, 0) ==
	      RAWSTACK_PROFILE_NONE);
	CHECK(rawstack_profile_write(p, RAWSTACK_PROFILE_PPROF, 0, gather, NULL, &error) ==
	      RAWSTACK_PROFILE_ERROR_USAGE);
	rawstack_profile_free(p);

	p = rawstack_profile_new();
	CHECK(rawstack_profile_add_module(p, &wrong) == RAWSTACK_PROFILE_NONE);
	CHECK(rawstack_profile_check(p, NULL) == RAWSTACK_PROFILE_ERROR_USAGE);
	rawstack_profile_free(p);

	p = rawstack_profile_new();
	CHECK(rawstack_profile_add_location(p, 3, 1, NULL, 0) == RAWSTACK_PROFILE_NONE);
	CHECK(rawstack_profile_check(p, NULL) == RAWSTACK_PROFILE_ERROR_USAGE);
	rawstack_profile_free(p);

	p = rawstack_profile_new();
	CHECK(!rawstack_profile_add_sample(p, NULL, 0, NULL, 0, NULL));
	rawstack_profile_add_value(p, text("late"), text("count"));
	CHECK(rawstack_profile_check(p, NULL) == RAWSTACK_PROFILE_ERROR_USAGE);
	rawstack_profile_free(p);
	rawstack_profile_free(NULL);
}

static void check_files(const char *profile, const char *spool)
{
	struct rawstack_profile *p = rawstack_profile_new();
	struct rawstack_profile_error error;
	struct rawstack_profile_info info;

	CHECK(rawstack_profile_read_file(p, "/nowhere", &error) ==
	      RAWSTACK_PROFILE_ERROR_NOT_FOUND);
	CHECK(!rawstack_profile_read_file(p, profile, &error));
	CHECK(!rawstack_profile_read_file(p, spool, &error));
	rawstack_profile_info(p, &info, sizeof(info));
	CHECK(info.sample_count > 1 && info.location_count > 1);
	rawstack_profile_free(p);
}

int main(int argc, char **argv)
{
	struct rawstack_profile *p;
	struct rsym_error error;
	pthread_t threads[4];

	CHECK(argc == 5);
	known_vaddr = strtoull(argv[4], NULL, 16);
	CHECK(!rsym_table_open_file(&table, argv[1], &error));
	check_table();
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, look_up_often, NULL));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	rsym_table_close(table);
	check_damage(argv[1]);

	p = make_profile();
	check_rows(p);
	check_formats(p);
	rawstack_profile_free(p);
	check_refusals();
	check_files(argv[2], argv[3]);
	puts("every function: ok");
	return 0;
}
