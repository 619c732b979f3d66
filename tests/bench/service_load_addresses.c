/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses are asked for, and what they cost without a service. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "service_load.h"

void open_table(struct load *l, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err err = {0};
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		die(path, NULL);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || rsym_open(&l->table, p, (size_t)st.st_size, &err))
		die(path, &err);
	close(fd);
}

void draw(struct load *l)
{
	uint64_t at = 0, start, end, total = 0, seed = 1;
	struct rsym_frame frame[RSYM_FRAMES_MAX];
	uint64_t *starts = NULL, *sums = NULL;
	size_t count = 0, cap = 0, cap2 = 0;

	do {
		bool known = rsym_range(&l->table, at, &start, &end);

		if (known && rsym_lookup(&l->table, start, frame, ARRAY_LEN(frame)) > 0) {
			if (!GROW(starts, &cap, count + 1, SIZE_MAX / 8) ||
			    !GROW(sums, &cap2, count + 1, SIZE_MAX / 8))
				die("addresses", NULL);
			starts[count] = start;
			sums[count++] = total;
			total += end - start;
		}
		at = end;
	} while (end > start && end != UINT64_MAX && end != 0);
	l->pool_count = total < POOL_MAX ? (size_t)total : POOL_MAX;
	l->pool = malloc(l->pool_count * sizeof(l->pool[0]));
	if (!l->pool)
		die("addresses", NULL);
	/* Of each part of equal length one byte, then shuffled: distinct and uniform. */
	for (size_t i = 0, r = 0; i < l->pool_count; i++) {
		uint64_t low = (uint64_t)((unsigned __int128)total * i / l->pool_count);
		uint64_t high = (uint64_t)((unsigned __int128)total * (i + 1) / l->pool_count);
		uint64_t byte = low + random_next(&seed) % (high - low);

		while (r + 1 < count && sums[r + 1] <= byte)
			r++;
		l->pool[i] = starts[r] + (byte - sums[r]);
	}
	for (size_t i = l->pool_count; i > 1; i--) {
		size_t k = random_next(&seed) % i;
		uint64_t t = l->pool[i - 1];

		l->pool[i - 1] = l->pool[k];
		l->pool[k] = t;
	}
	free(starts);
	free(sums);
}

void draw_tables(struct load *l, char *const *paths, size_t path_count, size_t count,
		 struct build_id *ids)
{
	uint64_t *pool = malloc(count * sizeof(*pool)), seed = 2;
	size_t filled = 0;

	l->pool_table = malloc(count);
	if (!pool || !l->pool_table)
		die("addresses", NULL);
	for (size_t t = 0; t < path_count; t++) {
		size_t want = count * (t + 1) / path_count - filled;

		open_table(l, paths[t]);
		draw(l);
		if (l->pool_count < want)
			die("the table has too few addresses", NULL);
		memcpy(pool + filled, l->pool, want * sizeof(*pool));
		memset(l->pool_table + filled, (int)t, want);
		filled += want;
		free(l->pool);
		ids[t] = l->table.id;
	}
	for (size_t i = count; i > 1; i--) {
		size_t k = random_next(&seed) % i;
		uint64_t a = pool[i - 1];
		uint8_t of = l->pool_table[i - 1];

		pool[i - 1] = pool[k];
		pool[k] = a;
		l->pool_table[i - 1] = l->pool_table[k];
		l->pool_table[k] = of;
	}
	l->pool = pool;
	l->pool_count = count;
	l->ids = ids;
	l->id_count = path_count;
}

const uint64_t *take(struct load *l, size_t count)
{
	size_t parts = l->pool_count / count;

	if (!parts)
		die("the table has too few addresses", NULL);
	return l->pool + atomic_fetch_add(&l->next, 1) % parts * count;
}

/* --- in process ------------------------------------------------------------------------------ */

void bare(struct load *l)
{
	static struct rsym_frame frames[BATCH * 8 + RSYM_FRAMES_MAX];
	static uint32_t ends[BATCH];
	uint32_t *function_seen = calloc(l->table.function_count + 1, sizeof(uint32_t));
	uint32_t *file_seen = calloc(l->table.file_count + 1, sizeof(uint32_t));
	struct err err = {0};
	struct rsym_reader *r = rsym_reader_new(&l->table, 256 * MIB, &err);
	uint64_t done = 0, frame_count = 0, names = 0, sum = 0, start = mono_ns(), now;
	uint32_t pass = 0;

	if (!r || !function_seen || !file_seen)
		die("bare", &err);
	do {
		const uint64_t *vaddr = take(l, BATCH);

		pass++;
		for (size_t at = 0; at < BATCH;) {
			size_t n = rsym_lookup_batch(&l->table, vaddr + at, BATCH - at, frames,
						     ARRAY_LEN(frames), ends);

			for (size_t i = 0; i < ends[n - 1]; i++) {
				uint32_t name = rsym_name_id(&l->table, frames[i].function);
				uint32_t file = frames[i].file;
				const uint8_t *text;
				size_t len = 0;

				if (function_seen[name] != pass) {
					function_seen[name] = pass;
					if (rsym_reader_name(r, frames[i].function, &text, &len,
							     &err))
						die("name", &err);
					sum += len;
					names++;
				}
				if (file != RSYM_NONE && file_seen[file] != pass) {
					file_seen[file] = pass;
					if (rsym_reader_file(r, file, &text, &len, &err))
						die("file", &err);
					sum += len;
					names++;
				}
				sum += frames[i].line;
			}
			frame_count += ends[n - 1];
			at += n;
		}
		done += BATCH;
		now = mono_ns();
	} while ((double)(now - start) < l->seconds * 1e9);
	printf("addresses_per_s %.0f\nframes_per_address %.2f\ntexts_per_batch %" PRIu64
	       "\nsum %" PRIu64 "\n",
	       (double)done * 1e9 / (double)(now - start), (double)frame_count / (double)done,
	       names / pass, sum);
	rsym_reader_free(r);
	free(function_seen);
	free(file_seen);
}
