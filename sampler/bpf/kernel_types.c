/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_types.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"

/* Most types of the running kernel, which has 130,000 in 6 MB, and more in modules. */
#define LIMIT_KERNEL_TYPES     LIMIT(4194304)
#define LIMIT_KERNEL_TYPES_LEN INT64_C(134217728)

#define BTF_PATH "/sys/kernel/btf/vmlinux"

enum {
	BTF_MAGIC = 0xeb9f,
	HEADER_LEN = 24,
	TYPE_LEN = 12,
	MEMBER_LEN = 12,
	COMM_LEN = 16, /* TASK_COMM_LEN */
};

enum kind {
	KIND_INT = 1,
	KIND_PTR = 2,
	KIND_ARRAY = 3,
	KIND_STRUCT = 4,
	KIND_UNION = 5,
	KIND_ENUM = 6,
	KIND_TYPEDEF = 8,
	KIND_VOLATILE = 9,
	KIND_CONST = 10,
	KIND_RESTRICT = 11,
	KIND_FUNC_PROTO = 13,
	KIND_VAR = 14,
	KIND_DATASEC = 15,
	KIND_DECL_TAG = 17,
	KIND_TYPE_TAG = 18,
	KIND_ENUM64 = 19,
	KIND_MAX = KIND_ENUM64,
};

/* The types written, in order of their ids. */
enum out {
	OUT_U32 = 1,
	OUT_U64,
	OUT_POINTER, /* void * */
	OUT_TASK,
	OUT_TASK_PTR,
	OUT_SIGNAL,
	OUT_SIGNAL_PTR,
	OUT_COUNTER, /* atomic_t */
	OUT_REGS,
	OUT_U8,
	OUT_COMM, /* char[16] */
};

struct field {
	const char *name;
	enum out type;
	bool is_optional; /* only one machine has it */
};

static const struct field task_fields[] = {
	{"flags", OUT_U32, false},         {"__state", OUT_U32, false},
	{"pid", OUT_U32, false},           {"tgid", OUT_U32, false},
	{"start_time", OUT_U64, false},    {"group_leader", OUT_TASK_PTR, false},
	{"signal", OUT_SIGNAL_PTR, false}, {"comm", OUT_COMM, false},
	{"self_exec_id", OUT_U64, false},  {"nsproxy", OUT_POINTER, false},
};
static const struct field signal_fields[] = {{"live", OUT_COUNTER, false}};
static const struct field counter_fields[] = {{"counter", OUT_U32, false}};
static const struct field regs_fields[] = {
	{"orig_ax", OUT_U64, true},
	{"syscallno", OUT_U32, true},
};

/* The structs that are looked for by name. */
enum wanted {
	WANTED_TASK,
	WANTED_SIGNAL,
	WANTED_REGS,
	WANTED_COUNT,
};

static const char *const wanted_names[] = {
	[WANTED_TASK] = "task_struct",
	[WANTED_SIGNAL] = "signal_struct",
	[WANTED_REGS] = "pt_regs",
};
_Static_assert(ARRAY_LEN(wanted_names) == WANTED_COUNT, "each has a name");

#define NOT_FOUND UINT32_MAX

struct btf {
	const uint8_t *types, *strings;
	size_t types_len, strings_len;
	uint32_t *offs; /* offset of each type read so far, by id - 1 */
	size_t count, cap, next_off;
	uint32_t found[WANTED_COUNT]; /* offset of the first struct of each name */
	size_t found_count;
};

struct type {
	uint32_t name, info, size_or_type;
	const uint8_t *rest; /* members and the like */
};

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t type_kind(const struct type *t)
{
	return t->info >> 24 & 0x1f;
}

static uint32_t type_member_count(const struct type *t)
{
	return t->info & 0xffff;
}

static size_t rest_len(const struct type *t)
{
	switch (type_kind(t)) {
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * (size_t)type_member_count(t);
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return 8 * (size_t)type_member_count(t);
	default:
		return 0;
	}
}

static bool read_type(const struct btf *b, size_t off, struct type *ret)
{
	if (off > b->types_len || b->types_len - off < TYPE_LEN)
		return false;
	*ret = (struct type){load_u32(b->types + off), load_u32(b->types + off + 4),
			     load_u32(b->types + off + 8), b->types + off + TYPE_LEN};
	return type_kind(ret) && type_kind(ret) <= KIND_MAX &&
	       b->types_len - off - TYPE_LEN >= rest_len(ret);
}

static bool has_name(const struct btf *b, uint32_t off, const char *name)
{
	size_t len;

	/* The first byte already differs for nearly all names. */
	if (off >= b->strings_len || b->strings[off] != (uint8_t)*name)
		return false;
	len = strlen(name) + 1;
	return b->strings_len - off >= len && !memcmp(b->strings + off, name, len);
}

/* Notes a struct that is looked for. The first one of a name counts, as in the kernel's search. */
static void note_struct(struct btf *b, const struct type *t, size_t off)
{
	for (int i = 0; i < WANTED_COUNT; i++) {
		if (b->found[i] != NOT_FOUND || !has_name(b, t->name, wanted_names[i]))
			continue;
		b->found[i] = (uint32_t)off;
		b->found_count++;
	}
}

/* Indexes the next type. Returns false if there is none, or it is invalid. */
static bool index_next(struct btf *b)
{
	struct type t;

	if (b->next_off >= b->types_len || !read_type(b, b->next_off, &t) ||
	    !GROW(b->offs, &b->cap, b->count + 1, LIMIT_KERNEL_TYPES))
		return false;
	b->offs[b->count++] = (uint32_t)b->next_off;
	if (type_kind(&t) == KIND_STRUCT)
		note_struct(b, &t, b->next_off);
	b->next_off += TYPE_LEN + rest_len(&t);
	return true;
}

/* Indexes types until all wanted ones are found. The types take five megabytes, but the wanted ones
 * are in the first per cent, unless the kernel sorts them by name. */
static bool index_wanted(struct btf *b)
{
	while (b->found_count < WANTED_COUNT)
		if (!index_next(b))
			return false;
	return true;
}

static bool open_btf(struct btf *b, const uint8_t *p, size_t len)
{
	uint64_t header_len, type_off, type_len, str_off, str_len;

	if (len < HEADER_LEN || len > UINT32_MAX || (load_u32(p) & 0xffff) != BTF_MAGIC)
		return false;
	header_len = load_u32(p + 4);
	type_off = load_u32(p + 8);
	type_len = load_u32(p + 12);
	str_off = load_u32(p + 16);
	str_len = load_u32(p + 20);
	if (header_len + type_off + type_len > len || header_len + str_off + str_len > len)
		return false;
	b->types = p + header_len + type_off;
	b->types_len = type_len;
	b->strings = p + header_len + str_off;
	b->strings_len = str_len;
	return index_wanted(b);
}

static bool type_by_id(struct btf *b, uint32_t id, struct type *ret)
{
	while (id > b->count)
		if (!index_next(b))
			return false;
	return id && read_type(b, b->offs[id - 1], ret);
}

/* Reads a type without its typedefs and qualifiers. Returns false if it is invalid. */
static bool resolve_type(struct btf *b, uint32_t id, struct type *ret)
{
	for (int hops = 0; hops < 16; hops++) {
		if (!type_by_id(b, id, ret))
			return false;
		switch (type_kind(ret)) {
		case KIND_TYPEDEF:
		case KIND_VOLATILE:
		case KIND_CONST:
		case KIND_RESTRICT:
		case KIND_TYPE_TAG:
			id = ret->size_or_type;
			continue;
		default:
			return true;
		}
	}
	return false;
}

/* Returns whether a field has the type that is written for it, and reads it to *ret. */
static bool is_type(struct btf *b, uint32_t id, enum out wanted, struct type *ret)
{
	struct type target;

	if (!resolve_type(b, id, ret))
		return false;
	switch (wanted) {
	case OUT_U32:
	case OUT_U64:
		return type_kind(ret) == KIND_INT &&
		       ret->size_or_type == (wanted == OUT_U32 ? 4 : 8);
	case OUT_COMM:
		return type_kind(ret) == KIND_ARRAY && load_u32(ret->rest + 8) == COMM_LEN &&
		       is_type(b, load_u32(ret->rest), OUT_U8, &target);
	case OUT_U8:
		return type_kind(ret) == KIND_INT && ret->size_or_type == 1;
	case OUT_POINTER:
		return type_kind(ret) == KIND_PTR;
	case OUT_TASK_PTR:
	case OUT_SIGNAL_PTR:
		return type_kind(ret) == KIND_PTR && resolve_type(b, ret->size_or_type, &target) &&
		       type_kind(&target) == KIND_STRUCT &&
		       has_name(b, target.name,
				wanted == OUT_TASK_PTR ? "task_struct" : "signal_struct");
	default:
		return type_kind(ret) == KIND_STRUCT;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

struct cut {
	struct btf *from;
	struct buf types, strings;
};

static uint32_t add_kept_string(struct cut *c, const char *text)
{
	uint32_t off = (uint32_t)c->strings.len;

	buf_append(&c->strings, text, strlen(text) + 1);
	return off;
}

static void add_type(struct cut *c, const char *name, uint32_t kind, uint32_t count, uint32_t size)
{
	buf_u32(&c->types, *name ? add_kept_string(c, name) : 0);
	buf_u32(&c->types, kind << 24 | count);
	buf_u32(&c->types, size);
}

static void add_int(struct cut *c, const char *name, uint32_t len)
{
	add_type(c, name, KIND_INT, 0, len);
	buf_u32(&c->types, len * 8);
}

/* Finds a member by name, its offset in bits, and its type without typedefs and qualifiers. Returns
 * false if there is no such member, or it has another type. */
static bool find_field(struct btf *b, const struct type *t, const struct field *f,
		       uint32_t *ret_bits, struct type *ret_type)
{
	const bool has_bitfields = t->info >> 31;

	for (uint32_t i = 0; i < type_member_count(t); i++) {
		const uint8_t *m = t->rest + (size_t)i * MEMBER_LEN;

		if (!has_name(b, load_u32(m), f->name))
			continue;
		*ret_bits = load_u32(m + 8);
		/* The upper eight bits hold the length of a bit field. */
		return !(has_bitfields && *ret_bits >> 24) &&
		       is_type(b, load_u32(m + 4), f->type, ret_type);
	}
	return false;
}

static bool add_struct(struct cut *c, const char *name, const struct type *t,
		       const struct field *fields, size_t count, struct type *ret_last)
{
	uint32_t bits[ARRAY_LEN(task_fields)], found = 0;
	const struct field *present[ARRAY_LEN(task_fields)];

	for (size_t i = 0; i < count; i++) {
		if (find_field(c->from, t, &fields[i], &bits[found], ret_last))
			present[found++] = &fields[i];
		else if (!fields[i].is_optional)
			return false;
	}
	add_type(c, name, KIND_STRUCT, found, t->size_or_type);
	for (uint32_t i = 0; i < found; i++) {
		buf_u32(&c->types, add_kept_string(c, present[i]->name));
		buf_u32(&c->types, present[i]->type);
		buf_u32(&c->types, bits[i]);
	}
	return found > 0;
}

static bool find_struct(const struct btf *b, enum wanted wanted, struct type *ret)
{
	return read_type(b, b->found[wanted], ret);
}

static bool write_types(struct cut *c)
{
	struct type task, signal, regs, last;

	if (!find_struct(c->from, WANTED_TASK, &task) ||
	    !find_struct(c->from, WANTED_SIGNAL, &signal) ||
	    !find_struct(c->from, WANTED_REGS, &regs))
		return false;
	buf_u8(&c->strings, 0);
	/* The order is that of enum out. */
	add_int(c, "u32", 4);
	add_int(c, "u64", 8);
	add_type(c, "", KIND_PTR, 0, 0);
	if (!add_struct(c, "task_struct", &task, task_fields, ARRAY_LEN(task_fields), &last))
		return false;
	add_type(c, "", KIND_PTR, 0, OUT_TASK);
	if (!add_struct(c, "signal_struct", &signal, signal_fields, ARRAY_LEN(signal_fields),
			&last))
		return false;
	add_type(c, "", KIND_PTR, 0, OUT_SIGNAL);
	if (!add_struct(c, "", &last, counter_fields, ARRAY_LEN(counter_fields), &task) ||
	    !add_struct(c, "pt_regs", &regs, regs_fields, ARRAY_LEN(regs_fields), &last))
		return false;
	add_int(c, "u8", 1);
	add_type(c, "", KIND_ARRAY, 0, 0);
	buf_u32(&c->types, OUT_U8);
	buf_u32(&c->types, OUT_U32); /* type of the index */
	buf_u32(&c->types, COMM_LEN);
	return true;
}

int kernel_types_cut_from(const uint8_t *p, size_t len, struct buf *ret)
{
	struct btf b = {.found = {NOT_FOUND, NOT_FOUND, NOT_FOUND}};
	struct cut c = {.from = &b, .types = BUF_INIT(65536), .strings = BUF_INIT(65536)};
	int rc = -EINVAL;

	if (open_btf(&b, p, len) && write_types(&c) && !c.types.failed && !c.strings.failed) {
		buf_u16(ret, BTF_MAGIC);
		buf_u16(ret, 1); /* version 1, no flags */
		buf_u32(ret, HEADER_LEN);
		buf_u32(ret, 0);
		buf_u32(ret, (uint32_t)c.types.len);
		buf_u32(ret, (uint32_t)c.types.len);
		buf_u32(ret, (uint32_t)c.strings.len);
		buf_append(ret, c.types.p, c.types.len);
		buf_append(ret, c.strings.p, c.strings.len);
		rc = ret->failed ? -ENOMEM : 0;
	}
	free(b.offs);
	buf_done(&c.types);
	buf_done(&c.strings);
	return rc;
}

int kernel_types_cut(struct buf *ret)
{
	_cleanup_(closep) int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *p;
	size_t len;
	int rc = -EIO;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0 || st.st_size > LIMIT_KERNEL_TYPES_LEN)
		return -ENOENT;
	len = (size_t)st.st_size;
	/* Linux 6.16 and later can map the file; otherwise it is read, page by page. */
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		rc = kernel_types_cut_from(p, len, ret);
		munmap(p, len);
		return rc;
	}
	p = malloc(len);
	if (!p)
		return -ENOMEM;
	for (size_t have = 0; have < len;) {
		ssize_t n = read(fd, p + have, len - have);

		if (n <= 0)
			break;
		have += (size_t)n;
		if (have == len)
			rc = kernel_types_cut_from(p, len, ret);
	}
	free(p);
	return rc;
}
