/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: applies each record. Layouts: linux/perf_event.h, enum perf_event_type. */
#include <inttypes.h>
#include <linux/perf_event.h>

#include "buf.h"
#include "build_id.h"
#include "perf_data_priv.h"

int perf_reader_full(struct perf_reader *r)
{
	return profile_full(r->p, r->err, "perf.data");
}

static int perf_event_damaged(struct perf_reader *r, const char *what)
{
	return err_set(r->err, ERR_DATA, "perf.data: damaged %s record", what);
}

/* --- objects: what code was mapped from ------------------------------------------------------ */

bool perf_reader_build_id(struct perf_reader *r, const char *path, size_t path_len,
			  const uint8_t *id, uint32_t len)
{
	bool fresh;
	uint32_t row;

	if (!GROW(r->path_ids, &r->path_ids_cap, r->paths.count + 1, LIMIT_PERF_OBJECTS + 1))
		return false;
	row = intern_add(&r->paths, path, path_len, &fresh);
	if (row == INTERN_FULL)
		return false;
	if (fresh) {
		r->path_ids[row] = (struct build_id_row){.len = len};
		memcpy(r->path_ids[row].bytes, id, len);
	}
	return true;
}

#define OBJECT_ID_LEN 20

/* Returns the number of an object, or PROFILE_NONE when there are too many. */
static uint32_t object_of(struct perf_reader *r, const char *path, size_t path_len,
			  const uint8_t *id, uint32_t id_len)
{
	_cleanup_(buf_done) struct buf key = BUF_INIT(LIMIT_PATH_LEN + OBJECT_ID_LEN + 1);
	uint32_t row, known;
	uint8_t *to;
	bool fresh;

	if (!id_len) {
		known = intern_find(&r->paths, path, path_len);
		if (known != INTERN_FULL) {
			id = r->path_ids[known].bytes;
			id_len = r->path_ids[known].len;
		}
	}
	to = buf_extend(&key, OBJECT_ID_LEN + 1);
	if (!to)
		return PROFILE_NONE;
	memset(to, 0, OBJECT_ID_LEN + 1);
	if (id_len)
		memcpy(to, id, id_len);
	to[OBJECT_ID_LEN] = (uint8_t)id_len;
	if (!buf_append(&key, path, path_len) ||
	    !GROW(r->object_rows, &r->object_rows_cap, r->objects.count + 1,
		  LIMIT_PERF_OBJECTS + 1))
		return PROFILE_NONE;
	row = intern_add(&r->objects, key.p, key.len, &fresh);
	if (row == INTERN_FULL)
		return PROFILE_NONE;
	if (fresh)
		r->object_rows[row].module = PROFILE_NONE;
	return row;
}

static uint32_t path_string(struct perf_reader *r, uint32_t kind, const char *path, size_t len)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_PATH_LEN + 32);

	if (kind == PERF_MAP_KERNEL)
		return profile_cstr(r->p, PROFILE_KERNEL_TEXT);
	if (kind == PERF_MAP_KERNEL_MODULE) {
		const char *slash = memrchr(path, '/', len);
		size_t skip = slash ? (size_t)(slash + 1 - path) : 0;

		/* perf writes [name] for a module without a path */
		if (len - skip >= 2 && path[skip] == '[' && path[len - 1] == ']') {
			skip++;
			len--;
		}
		buf_printf(&name, PROFILE_KERNEL_PREFIX ":%.*s]", (int)(len - skip), path + skip);
		return profile_string(r->p, name.p, name.len);
	}
	return profile_string(r->p, path, len);
}

static uint32_t module_of_object(struct perf_reader *r, uint32_t object, uint32_t kind)
{
	struct perf_object *o = &r->object_rows[object];
	struct profile_module m = {0};
	struct build_id id = {.kind = BUILD_ID_GNU};
	char hex[BUILD_ID_HEX_MAX];
	const uint8_t *key;
	size_t len;

	if (o->module != PROFILE_NONE)
		return o->module;
	key = intern_get(&r->objects, object, &len);
	m.path = path_string(r, kind, (const char *)key + OBJECT_ID_LEN + 1,
			     len - OBJECT_ID_LEN - 1);
	id.len = key[OBJECT_ID_LEN];
	memcpy(id.bytes, key, id.len);
	if (id.len)
		m.build_id = profile_cstr(r->p, build_id_hex(&id, hex));
	o->module = profile_add_module(r->p, &m);
	return o->module;
}

/* --- mappings and threads -------------------------------------------------------------------- */

static bool starts_with(const char *s, size_t len, const char *start)
{
	return len >= strlen(start) && memcmp(s, start, strlen(start)) == 0;
}

static uint32_t kind_of_mapping(int32_t pid, const char *path, size_t len)
{
	if (pid == PERF_KERNEL_PID)
		return starts_with(path, len, "[kernel.kallsyms]") ||
				       starts_with(path, len, "[guest.kernel.kallsyms")
			       ? PERF_MAP_KERNEL
			       : PERF_MAP_KERNEL_MODULE;
	/* Memory without a file: "//anon", "/anon_hugepage", "[heap]", "[stack]". */
	if (!len || starts_with(path, len, "//anon") || starts_with(path, len, "/anon_hugepage") ||
	    (path[0] == '[' && !starts_with(path, len, "[vdso]")))
		return PERF_MAP_ANONYMOUS;
	return PERF_MAP_FILE;
}

static int apply_mmap(struct perf_reader *r, uint16_t misc, struct bytes *e, bool second)
{
	static const char kernel[] = "[kernel.kallsyms]";
	int32_t pid = (int32_t)bytes_u32(e);
	uint64_t start, len, file_off;
	const uint8_t *id = NULL;
	struct perf_map map;
	uint32_t id_len = 0;
	const char *path;
	size_t path_len;

	bytes_skip(e, 4); /* tid */
	start = bytes_u64(e);
	len = bytes_u64(e);
	file_off = bytes_u64(e);
	if (second) {
		const uint8_t *inode = bytes_take(e, 24);

		bytes_skip(e, 8); /* protection, flags */
		/* If another event asked for build ids, the kernel sets the bit for this one too,
		 * although it still writes device and inode. */
		if (inode && r->asked_build_ids && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
		    inode[0] <= OBJECT_ID_LEN) {
			id_len = inode[0];
			id = inode + 4;
		}
	}
	path = bytes_cstr(e, &path_len);
	if (!path)
		return perf_event_damaged(r, "mapping");
	if (path_len > LIMIT_PATH_LEN)
		path_len = LIMIT_PATH_LEN;
	if (misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		pid = PERF_KERNEL_PID;
	map = (struct perf_map){
		.start = start,
		.end = start + len < start ? UINT64_MAX : start + len,
		.kind = kind_of_mapping(pid, path, path_len),
	};
	/* If perf could read it, file_off of the kernel's text is the address of _text. */
	if (map.kind == PERF_MAP_KERNEL)
		map.base = file_off ? file_off : start;
	else if (map.kind == PERF_MAP_KERNEL_MODULE)
		map.base = start;
	else
		map.base = start - file_off;
	if (map.kind == PERF_MAP_KERNEL) /* the path is "[kernel.kallsyms]_text" */
		path_len = sizeof(kernel) - 1;
	map.object = object_of(r, path, path_len, id, id_len);
	if (map.object == PROFILE_NONE || !perf_maps_add(&r->maps, pid, &map))
		return perf_reader_full(r);
	return 0;
}

/* Applies code that the kernel made or loaded after the start: BPF programs, trampolines. */
static int apply_ksymbol(struct perf_reader *r, struct bytes *e)
{
	uint64_t addr = bytes_u64(e);
	uint32_t len = bytes_u32(e);
	uint16_t flags;
	struct perf_map map;
	const char *name;
	size_t name_len;

	bytes_skip(e, 2); /* the kind of code */
	flags = bytes_u16(e);
	name = bytes_cstr(e, &name_len);
	if (!name)
		return perf_event_damaged(r, "kernel symbol");
	if (flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) {
		perf_maps_remove(&r->maps, PERF_KERNEL_PID, addr);
		return 0;
	}
	if (name_len > LIMIT_PATH_LEN)
		name_len = LIMIT_PATH_LEN;
	map = (struct perf_map){
		.start = addr,
		.end = addr + len < addr ? UINT64_MAX : addr + len,
		.base = addr,
		.kind = PERF_MAP_NAMED,
		.object = object_of(r, name, name_len, NULL, 0),
	};
	if (map.object == PROFILE_NONE || !perf_maps_add(&r->maps, PERF_KERNEL_PID, &map))
		return perf_reader_full(r);
	return 0;
}

static uint32_t *comm_of_thread(struct perf_reader *r, int32_t tid)
{
	bool fresh;
	uint32_t row;

	if (!GROW(r->comms, &r->comms_cap, r->tids.count + 1, LIMIT_PERF_PIDS + 1))
		return NULL;
	row = intern_add(&r->tids, &tid, sizeof(tid), &fresh);
	if (row == INTERN_FULL)
		return NULL;
	if (fresh)
		r->comms[row] = 0;
	return &r->comms[row];
}

static int apply_comm(struct perf_reader *r, uint16_t misc, struct bytes *e)
{
	int32_t pid = (int32_t)bytes_u32(e), tid = (int32_t)bytes_u32(e);
	size_t len = 0;
	const char *comm = bytes_cstr(e, &len);
	uint32_t *row = comm_of_thread(r, tid);

	if (!comm)
		return perf_event_damaged(r, "thread name");
	if (!row)
		return perf_reader_full(r);
	*row = profile_string(r->p, comm, len);
	if (misc & PERF_RECORD_MISC_COMM_EXEC)
		perf_maps_exec(&r->maps, pid);
	return 0;
}

static int apply_fork(struct perf_reader *r, struct bytes *e)
{
	int32_t pid = (int32_t)bytes_u32(e), parent = (int32_t)bytes_u32(e);
	int32_t tid = (int32_t)bytes_u32(e), parent_tid = (int32_t)bytes_u32(e);
	uint32_t known = intern_find(&r->tids, &parent_tid, sizeof(parent_tid));
	uint32_t comm = known == INTERN_FULL ? 0 : r->comms[known];
	uint32_t *row = comm_of_thread(r, tid);

	if (e->failed)
		return perf_event_damaged(r, "fork");
	if (!row || (pid != parent && !perf_maps_fork(&r->maps, parent, pid)))
		return perf_reader_full(r);
	*row = comm;
	return 0;
}

/* --- samples --------------------------------------------------------------------------------- */

struct sample {
	uint64_t ip, time, period;
	int32_t pid, tid;
	struct bytes chain; /* of uint64_t */
};

/* Skips what a read of counters left (PERF_FORMAT_*). */
static void skip_read(struct bytes *e, uint64_t format)
{
	uint64_t count = 1, each = 1;

	if (format & PERF_FORMAT_ID)
		each++;
	if (format & PERF_FORMAT_LOST)
		each++;
	if (format & PERF_FORMAT_GROUP)
		count = bytes_u64(e);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		bytes_skip(e, 8);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		bytes_skip(e, 8);
	if (count > e->left / 8 / each)
		bytes_fail(e);
	else
		bytes_skip(e, count * each * 8);
}

/* Parses a sample, whose fields come in this order. Those behind the call chain are not needed. */
static bool parse_sample(struct bytes *e, const struct perf_attr *a, struct sample *s)
{
	uint64_t t = a->sample_type, count;

	*s = (struct sample){.period = a->fixed_period ? a->period : 1};
	if (t & PERF_SAMPLE_IDENTIFIER)
		bytes_skip(e, 8);
	if (t & PERF_SAMPLE_IP)
		s->ip = bytes_u64(e);
	if (t & PERF_SAMPLE_TID) {
		s->pid = (int32_t)bytes_u32(e);
		s->tid = (int32_t)bytes_u32(e);
	}
	if (t & PERF_SAMPLE_TIME)
		s->time = bytes_u64(e);
	if (t & PERF_SAMPLE_ADDR)
		bytes_skip(e, 8);
	if (t & PERF_SAMPLE_ID)
		bytes_skip(e, 8);
	if (t & PERF_SAMPLE_STREAM_ID)
		bytes_skip(e, 8);
	if (t & PERF_SAMPLE_CPU)
		bytes_skip(e, 8);
	if (t & PERF_SAMPLE_PERIOD)
		s->period = bytes_u64(e);
	if (t & PERF_SAMPLE_READ)
		skip_read(e, a->read_format);
	if (t & PERF_SAMPLE_CALLCHAIN) {
		const uint8_t *chain;

		count = bytes_u64(e);
		if (count > e->left / 8)
			return false;
		chain = bytes_take(e, count * 8);
		s->chain = bytes_of(chain, count * 8);
	}
	return !e->failed;
}

static uint32_t named_location(struct perf_reader *r, uint32_t module, uint32_t name, bool is_name)
{
	struct profile_function f = {.name = name, .system_name = is_name ? name : 0};
	struct profile_line line = {profile_add_function(r->p, &f), 0};

	return profile_add_location(
		r->p,
		&(struct profile_location){.module = module, .lines = &line, .line_count = 1});
}

static uint32_t reason_location(struct perf_reader *r, const char *reason)
{
	return named_location(r, PROFILE_NONE, profile_cstr(r->p, reason), false);
}

/* Returns the location of a pc. `back` is 1 for callers, whose location is that of the call. */
static uint32_t location_of(struct perf_reader *r, int32_t pid, uint64_t pc, unsigned int back)
{
	const struct perf_map *map = perf_maps_find(&r->maps, pid, pc - back);
	const uint8_t *key;
	size_t len;

	if (!map)
		return reason_location(r, pid == PERF_KERNEL_PID ? "[unknown kernel address]"
								 : "[no mapping]");
	switch (map->kind) {
	case PERF_MAP_ANONYMOUS:
		return reason_location(r, "[anonymous memory]");
	case PERF_MAP_NAMED: {
		struct profile_module m = {
			.path = profile_cstr(r->p, PROFILE_KERNEL_PREFIX ":bpf]"),
			.flags = PROFILE_HAS_FUNCTIONS,
		};

		key = intern_get(&r->objects, map->object, &len);
		return named_location(
			r, profile_add_module(r->p, &m),
			profile_string(r->p, key + OBJECT_ID_LEN + 1, len - OBJECT_ID_LEN - 1),
			true);
	}
	}
	return profile_add_location(r->p,
				    &(struct profile_location){
					    .address = pc - back - map->base,
					    .module = module_of_object(r, map->object, map->kind),
				    });
}

/* Fills r->stack, leaf first, and returns the number of locations. */
static size_t unfold_stack(struct perf_reader *r, struct sample *s, uint16_t misc)
{
	bool kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	bool leaf = true, skip = false;
	size_t count = 0;

	while (s->chain.left && count < LIMIT_PROFILE_STACK) {
		uint64_t pc = bytes_u64(&s->chain);

		if (pc >= PERF_CONTEXT_MAX) { /* a mark: the rest is of another context */
			kernel = pc == PERF_CONTEXT_KERNEL;
			skip = !kernel && pc != PERF_CONTEXT_USER;
			leaf = true;
			continue;
		}
		if (skip)
			continue;
		r->stack[count++] =
			location_of(r, kernel ? PERF_KERNEL_PID : s->pid, pc, !leaf && pc);
		leaf = false;
	}
	if (!count)
		r->stack[count++] = location_of(r, kernel ? PERF_KERNEL_PID : s->pid, s->ip, 0);
	return count;
}

static int apply_sample(struct perf_reader *r, uint16_t misc, struct bytes *e,
			const struct perf_attr *a)
{
	struct profile_label labels[3] = {0};
	uint32_t known, stack;
	int64_t values[2] = {1, 0};
	struct sample s;
	size_t count = 0;

	if (!parse_sample(e, a, &s))
		return perf_event_damaged(r, "sample");
	known = intern_find(&r->tids, &s.tid, sizeof(s.tid));
	if (known != INTERN_FULL && r->comms[known]) {
		labels[count].key = profile_cstr(r->p, "thread");
		labels[count++].text = r->comms[known];
	}
	labels[count].key = profile_cstr(r->p, "pid");
	labels[count++].num = s.pid;
	if (r->attr_count > 1 && a->name) {
		labels[count].key = profile_cstr(r->p, "event");
		labels[count++].text = a->name;
	}
	values[1] = s.period > INT64_MAX ? INT64_MAX : (int64_t)s.period;
	stack = profile_add_stack(r->p, r->stack, unfold_stack(r, &s, misc));
	profile_add_sample(r->p, stack, profile_add_labels(r->p, labels, count), values);
	if (s.time && s.time < r->first_ns)
		r->first_ns = s.time;
	if (s.time > r->last_ns)
		r->last_ns = s.time;
	return r->p->failed ? perf_reader_full(r) : 0;
}

int perf_event_apply(struct perf_reader *r, uint32_t type, uint16_t misc, struct bytes e,
		     const struct perf_attr *attr)
{
	switch (type) {
	case PERF_RECORD_MMAP:
		return apply_mmap(r, misc, &e, false);
	case PERF_RECORD_MMAP2:
		return apply_mmap(r, misc, &e, true);
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol(r, &e);
	case PERF_RECORD_COMM:
		return apply_comm(r, misc, &e);
	case PERF_RECORD_FORK:
		return apply_fork(r, &e);
	case PERF_RECORD_LOST:
		bytes_skip(&e, 8);
		r->lost += bytes_u64(&e);
		return 0;
	case PERF_RECORD_LOST_SAMPLES:
		r->lost += bytes_u64(&e);
		return 0;
	case PERF_RECORD_SAMPLE:
		return apply_sample(r, misc, &e, attr);
	}
	return 0;
}
