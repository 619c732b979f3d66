/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_profile known|big OUT: writes a pprof file for tests of the tools.
 * make_profile sink DIR FILES ROWS SAMPLES: a directory of them, as shippers fill it.
 *
 * known: 10 samples of 10 ms. hot() at app.cpp:42 is innermost in 6, of which 3 below a kernel
 * entry are do_syscall_64; tiny() exists only inlined (vec.h:7, in 2); 1 has no name; 1 has a
 * hostile one. big: 40,000 distinct stacks, whose tree has more nodes than a page shows. sink:
 * FILES files of ROWS rows, SAMPLES samples in all, from 20,000 stacks of 15 to 34 frames, some
 * much more frequent than others, over 8,000 functions with the long names of C++.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "pprof_write.h"

#define HOSTILE "</script><img src=x onerror=alert(1)>\x1b[31m\"'&\xe2\x80\xae"

static struct profile p;
static uint32_t app, kernel, libx;

static struct profile_line line_of(const char *name, const char *file, uint32_t line)
{
	uint32_t n = profile_cstr(&p, name);

	return (struct profile_line){
		profile_add_function(&p,
				     &(struct profile_function){.name = n,
								.system_name = n,
								.file = profile_cstr(&p, file)}),
		line};
}

static uint32_t location(uint32_t module, uint64_t address, const struct profile_line *lines,
			 size_t count)
{
	return profile_add_location(&p, &(struct profile_location){.address = address,
								   .module = module,
								   .lines = lines,
								   .line_count = count});
}

static uint32_t one(uint32_t module, uint64_t address, const char *name, const char *file,
		    uint32_t line)
{
	struct profile_line l = line_of(name, file, line);

	return location(module, address, &l, 1);
}

static void sample(const char *thread, int64_t pid, const uint32_t *stack, size_t count,
		   int64_t samples)
{
	struct profile_label labels[2] = {
		{.key = profile_cstr(&p, "thread"), .text = profile_cstr(&p, thread)},
		{.key = profile_cstr(&p, "pid"), .num = pid},
	};

	profile_add_sample(&p, profile_add_stack(&p, stack, count),
			   profile_add_labels(&p, labels, 2),
			   (int64_t[]){samples, samples * 10000000});
}

static void fill_known(void)
{
	uint32_t main_at = one(app, 0x10, "main", "/src/app.cpp", 99);
	uint32_t hot = one(app, 0x20, "hot(int)", "/src/app.cpp", 42);
	struct profile_line inlined[2] = {line_of("tiny<int>", "/src/vec.h", 7),
					  line_of("warm()", "/src/app.cpp", 61)};
	uint32_t warm = location(app, 0x30, inlined, 2);
	uint32_t entry = one(kernel, 0x40, "do_syscall_64", "", 0);
	uint32_t hostile = one(app, 0x50, HOSTILE, "/src/\"<&>.cpp", 1);
	struct profile_line nameless = {
		profile_add_function(&p, &(struct profile_function){.name = profile_placeholder(
									    &p, libx, 0x60)}),
		0};
	uint32_t unnamed = location(libx, 0x60, &nameless, 1);

	sample("worker", 7, (uint32_t[]){hot, main_at}, 2, 3);
	sample("worker", 7, (uint32_t[]){entry, hot, main_at}, 3, 3);
	sample("worker", 7, (uint32_t[]){warm, main_at}, 2, 2);
	sample("other", 8, (uint32_t[]){unnamed, main_at}, 2, 1);
	sample("other", 8, (uint32_t[]){hostile, main_at, main_at}, 3, 1); /* recursion */
}

static void fill_big(void)
{
	uint32_t stack[8];
	char name[32];

	for (uint32_t i = 0; i < 40000; i++) {
		uint32_t v = i * 2654435761u;

		for (uint32_t k = 0; k < ARRAY_LEN(stack); k++) {
			uint32_t f = k == 7 ? 0 : (v >> (k * 2)) % (40 + 400 / (k + 1));

			snprintf(name, sizeof(name), "function_%u_%u", 7 - k, f);
			stack[k] = one(app, k * 65536 + f, name, "/src/big.cpp", f + 1);
		}
		sample("worker", 7, stack, ARRAY_LEN(stack), 1 + i % 3);
	}
}

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static uint32_t sink_frame(uint32_t f, const uint32_t modules[8])
{
	struct profile_line lines[2];
	size_t count = 1 + (f % 5 == 0);
	char name[128], file[96];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name),
			 "ns%u::Class%u<int, std::allocator<int> >::method_%u(unsigned long)",
			 f % 17, f % 201, f + i * 10000);
		snprintf(file, sizeof(file), "/build/src/module%u/file_%u.cpp", f % 23, f % 400);
		lines[i] = line_of(name, file, 10 + f % 500);
	}
	return location(modules[f % 8], 0x1000 + f * 64, lines, count);
}

static void fill_sink(uint32_t rows, int64_t samples, uint32_t *state)
{
	uint32_t modules[8], stack[34];
	char path[64];

	for (uint32_t i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/usr/lib/lib%u.so", i);
		modules[i] = profile_add_module(
			&p, &(struct profile_module){.path = profile_cstr(&p, path),
						     .build_id = profile_cstr(&p, "aabbccdd")});
	}
	for (uint32_t row = 0; row < rows; row++) {
		uint32_t seed =
			(draw(state) % 100 < 60 ? draw(state) % 2000 : draw(state) % 20000) *
			2654435761u;
		uint32_t depth = 15 + seed % 20;

		for (uint32_t k = 0; k < depth; k++)
			stack[k] = sink_frame((draw(&seed) >> 2) % (k < depth / 2 ? 4000 : 300),
					      modules);
		sample("worker", 100 + draw(state) % 4, stack, depth, samples / rows);
	}
}

static void begin(void)
{
	profile_init(&p);
	profile_value_type(&p, "samples", "count");
	profile_value_type(&p, "cpu", "nanoseconds");
	p.period_type = p.value_types[1];
	p.period = 10000000;
}

static int finish(const char *path)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_PPROF_FILE_LEN);
	struct err err;
	FILE *f;

	if (pprof_write(&p, &out, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	profile_done(&p);
	f = fopen(path, "w");
	return !f || fwrite(out.p, 1, out.len, f) != out.len || fclose(f);
}

static int make_sink(char **argv)
{
	uint32_t files = (uint32_t)atoi(argv[3]), rows = (uint32_t)atoi(argv[4]), state = 1;
	int64_t samples = atoll(argv[5]);
	char path[256];
	int rc = 0;

	mkdir(argv[2], 0755);
	for (uint32_t i = 0; !rc && files && rows && i < files; i++) {
		begin();
		p.time_ns = 1769860800000000000 + (int64_t)i * 10000000000;
		p.duration_ns = 10000000000;
		fill_sink(rows, samples / files, &state);
		snprintf(path, sizeof(path), "%s/batch%06u.pb.gz", argv[2], i);
		rc = finish(path);
	}
	return rc;
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "sink") == 0)
		return make_sink(argv);
	if (argc != 3)
		return 2;
	begin();
	app = profile_add_module(
		&p, &(struct profile_module){.path = profile_cstr(&p, "/usr/bin/app"),
					     .build_id = profile_cstr(&p, "aabbccdd"),
					     .flags = PROFILE_HAS_FUNCTIONS | PROFILE_HAS_LINES |
						      PROFILE_HAS_FILENAMES | PROFILE_HAS_INLINES});
	kernel = profile_add_module(
		&p, &(struct profile_module){.path = profile_cstr(&p, PROFILE_KERNEL_TEXT),
					     .flags = PROFILE_HAS_FUNCTIONS});
	libx = profile_add_module(
		&p, &(struct profile_module){.path = profile_cstr(&p, "/usr/lib/libx.so.1"),
					     .build_id = profile_cstr(&p, "0102030405")});
	if (strcmp(argv[1], "big") == 0)
		fill_big();
	else
		fill_known();
	return finish(argv[2]);
}
