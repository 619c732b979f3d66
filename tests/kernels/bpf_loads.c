/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_loads OBJECT...: has the running kernel verify the sampler's BPF program as each compiler
 * made it, in the ways that the sampler loads it, from the fastest to the one that asks least of a
 * kernel. Prints for each object which of them load, with how many instructions the verifier
 * followed and in what time, and of the others the verifier's last words. Exit 1 when an object
 * loads in no way that walks user stacks by itself.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

enum {
	LOG_LEN = (16 << 20) - 1,
	LAST_WORDS = 2000,
};

static const struct way {
	const char *name;
	bool has_loop, find_text;
	uint32_t walk_depth;
} ways[] = {
	{"bpf_loop, find_text, own walk", true, true, 127},
	{"bpf_loop, own walk", true, false, 127},
	{"find_text, own walk", false, true, 127},
	{"own walk", false, false, 127},
	{"kernel's walk", false, false, 0},
};

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

/* Sets a constant of the program, as the skeleton does for the sampler. */
static void constant_set(struct bpf_object *object, const char *name, const void *value, size_t len)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	const struct btf *btf = bpf_object__btf(object);
	const struct btf_type *section;
	size_t map_len;
	char *constants = map ? (char *)(uintptr_t)bpf_map__initial_value(map, &map_len) : NULL;
	int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);

	section = constants && id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *v = btf_var_secinfos(section) + i;
		const struct btf_type *t = btf__type_by_id(btf, v->type);

		if (strcmp(btf__name_by_offset(btf, t->name_off), name) || v->size != len)
			continue;
		memcpy(constants + v->offset, value, len);
		return;
	}
	fprintf(stderr, "the program has no constant %s of %zu bytes\n", name, len);
	exit(2);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t verified(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (!program || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return 0;
	return info.verified_insns;
}

/* 0 when it loads; with a log it also prints what the verifier says last. */
static int way_load(const char *path, const struct way *way, char *log)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	double began = seconds();
	int rc;

	if (!object) {
		perror(path);
		exit(2);
	}
	constant_set(object, "has_loop", &way->has_loop, sizeof(way->has_loop));
	constant_set(object, "walk_depth", &way->walk_depth, sizeof(way->walk_depth));
	program = bpf_object__find_program_by_name(object, "sampler_find_text");
	bpf_program__set_autoload(program, way->find_text);
	bpf_object__for_each_program(program, object)
	{
		if (log && bpf_program__autoload(program)) {
			*log = 0;
			bpf_program__set_log_buf(program, log, LOG_LEN);
			bpf_program__set_log_level(program, 1);
		}
	}
	rc = bpf_object__load(object);
	if (!rc)
		printf("  %-32s loads: %u instructions followed, %.0f ms\n", way->name,
		       verified(object, "sampler_tick"), (seconds() - began) * 1000);
	else
		printf("  %-32s %s\n", way->name, strerror(-rc));
	if (rc && log && *log) {
		size_t len = strlen(log);

		printf("%s\n", len > LAST_WORDS ? log + len - LAST_WORDS : log);
	}
	bpf_object__close(object);
	return rc;
}

int main(int argc, char **argv)
{
	char *log = malloc(LOG_LEN);
	int status = 0;

	libbpf_set_print(quiet);
	for (int i = 1; i < argc; i++) {
		bool walks = false;

		printf("%s\n", argv[i]);
		for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
			if (!way_load(argv[i], &ways[w], NULL))
				walks |= ways[w].walk_depth > 0;
			else if (getenv("BPF_LOADS_LOG"))
				way_load(argv[i], &ways[w], log);
			fflush(stdout);
		}
		if (!walks) {
			printf("  loads in no way that walks user stacks by itself\n");
			status = 1;
		}
	}
	free(log);
	return argc < 2 ? 2 : status;
}
