/* SPDX-License-Identifier: Apache-2.0 */
#include "reply_names.h"

#include <string.h>

#include "limits.h"

enum {
	STRING_COST = 5,    /* tag and length of a string */
	FUNCTION_COST = 10, /* two columns of up to 5 bytes */
	DETAIL_COST = 18,
	ROWS_MAX = 1 << 20
};

int reply_names_init(struct reply_names *n, enum demangle_style style, bool details, size_t base,
		     size_t max, struct err *err)
{
	const struct intern pairs = INTERN_INIT(ROWS_MAX, (size_t)ROWS_MAX * 8);

	*n = (struct reply_names){
		.strings = INTERN_INIT(ROWS_MAX, max),
		.functions = INTERN_INIT(ROWS_MAX, ROWS_MAX * sizeof(struct reply_function)),
		.name_keys = pairs,
		.file_keys = pairs,
		.linkage_keys = pairs,
		.raw = BUF_INIT(LIMIT_NAME_LEN + LIMIT_PATH_LEN),
		.text = BUF_INIT(LIMIT_NAME_LEN + LIMIT_DEMANGLE_OUT),
		.style = style,
		.details = details,
		.size = base,
		.max = max,
	};
	if (intern_add(&n->strings, "", 0, NULL) != 0)
		return err_set(err, ERR_MEMORY, "out of memory");
	return 0;
}

void reply_names_done(struct reply_names *n)
{
	intern_done(&n->strings);
	intern_done(&n->functions);
	intern_done(&n->name_keys);
	intern_done(&n->file_keys);
	intern_done(&n->linkage_keys);
	free(n->names);
	free(n->files);
	free(n->linkages);
	buf_done(&n->raw);
	buf_done(&n->text);
}

bool reply_names_weigh(struct reply_names *n, size_t len)
{
	if (len > n->max - n->size)
		return false;
	n->size += len;
	return true;
}

static uint32_t add_string(struct reply_names *n, const void *p, size_t len)
{
	uint32_t id = intern_find(&n->strings, p, len);

	if (id != INTERN_FULL)
		return id;
	if (!reply_names_weigh(n, len + STRING_COST))
		return RSYM_NONE;
	return intern_add(&n->strings, p, len, NULL);
}

/* The string that was stored for (module, id), or RSYM_NONE. */
static uint32_t known(const struct intern *keys, const uint32_t *values, uint32_t module,
		      uint32_t id)
{
	uint32_t key[2] = {module, id};
	uint32_t i = intern_find(keys, key, sizeof(key));

	return i == INTERN_FULL ? RSYM_NONE : values[i];
}

static uint32_t remember(struct intern *keys, uint32_t **values, size_t *cap, uint32_t module,
			 uint32_t id, uint32_t string)
{
	uint32_t key[2] = {module, id};
	uint32_t i;

	if (string == RSYM_NONE ||
	    !grow_array((void **)values, cap, keys->count + 1, sizeof(**values), ROWS_MAX))
		return RSYM_NONE;
	i = intern_add(keys, key, sizeof(key), NULL);
	if (i == INTERN_FULL)
		return RSYM_NONE;
	(*values)[i] = string;
	return string;
}

/* Tables are validated when they are opened: a name that does not decode is empty. */
static void decode_name(struct reply_names *n, const struct rsym *t, uint32_t function)
{
	buf_reset(&n->raw);
	if (rsym_name(t, function, &n->raw, NULL))
		buf_reset(&n->raw);
}

static uint32_t name_of(struct reply_names *n, uint32_t module, const struct rsym *t,
			uint32_t function)
{
	uint32_t string = known(&n->name_keys, n->names, module, function);

	if (string != RSYM_NONE)
		return string;
	decode_name(n, t, function);
	buf_reset(&n->text);
	if (!demangle_append(n->style, n->raw.p, n->raw.len, &n->text))
		buf_reset(&n->text);
	string = add_string(n, n->text.p, n->text.len);
	return remember(&n->name_keys, &n->names, &n->names_cap, module, function, string);
}

static uint32_t linkage_of(struct reply_names *n, uint32_t module, const struct rsym *t,
			   uint32_t function)
{
	uint32_t string = known(&n->linkage_keys, n->linkages, module, function);

	if (string != RSYM_NONE)
		return string;
	decode_name(n, t, function);
	string = add_string(n, n->raw.p, n->raw.len);
	return remember(&n->linkage_keys, &n->linkages, &n->linkages_cap, module, function, string);
}

static uint32_t file_of(struct reply_names *n, uint32_t module, const struct rsym *t, uint32_t file)
{
	uint32_t string;

	if (file == RSYM_NONE)
		return 0;
	string = known(&n->file_keys, n->files, module, file);
	if (string != RSYM_NONE)
		return string;
	buf_reset(&n->raw);
	if (rsym_file(t, file, &n->raw, NULL))
		buf_reset(&n->raw);
	string = add_string(n, n->raw.p, n->raw.len);
	return remember(&n->file_keys, &n->files, &n->files_cap, module, file, string);
}

static uint32_t add_function(struct reply_names *n, const struct reply_function *f)
{
	uint32_t row = intern_find(&n->functions, f, sizeof(*f));

	if (row != INTERN_FULL)
		return row;
	if (!reply_names_weigh(n, FUNCTION_COST + (n->details ? DETAIL_COST : 0)))
		return RSYM_NONE;
	return intern_add(&n->functions, f, sizeof(*f), NULL);
}

uint32_t reply_names_function(struct reply_names *n, uint32_t module, const struct rsym *t,
			      uint32_t function, uint32_t file)
{
	struct rsym_function info;
	struct reply_function f = {0};

	f.name = name_of(n, module, t, function);
	f.file = file_of(n, module, t, file);
	if (f.name == RSYM_NONE || f.file == RSYM_NONE)
		return RSYM_NONE;
	if (n->details) {
		f.linkage_name = linkage_of(n, module, t, function);
		if (f.linkage_name == RSYM_NONE)
			return RSYM_NONE;
		if (!rsym_function(t, function, &info, NULL)) {
			f.start_line = info.start_line;
			f.start_address = info.has_entry ? info.vaddr : 0;
		}
	}
	return add_function(n, &f);
}

uint32_t reply_names_plain(struct reply_names *n, const void *name, size_t len)
{
	struct reply_function f = {.name = add_string(n, name, len)};

	return f.name == RSYM_NONE ? RSYM_NONE : add_function(n, &f);
}
