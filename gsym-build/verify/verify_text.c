/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_run.h"

#define TYPE_NONE (DEBUG_NONE - 1) /* in function_type: requested, but there is none */

/* Stores the number of a function's name in *ret. */
int verify_name(struct verify_run *run, uint32_t function, uint32_t *ret, struct err *err)
{
	uint32_t *id = &run->function_name[function];
	const uint8_t *p;
	size_t len;

	if (*id == DEBUG_NONE) {
		TRY(rsym_reader_name(run->texts, function, &p, &len, err));
		*id = debug_string(&run->verify->source.text, p, len);
		if (*id == DEBUG_NONE)
			return err_no_memory(err);
	}
	*ret = *id;
	return 0;
}

int verify_path(struct verify_run *run, uint32_t file, uint32_t *ret, struct err *err)
{
	const uint8_t *p;
	size_t len;

	*ret = DEBUG_NONE;
	if (file == RSYM_NONE)
		return 0;
	if (run->file_path[file] == DEBUG_NONE) {
		TRY(rsym_reader_file(run->texts, file, &p, &len, err));
		run->file_path[file] = debug_string(&run->verify->source.text, p, len);
		if (run->file_path[file] == DEBUG_NONE)
			return err_no_memory(err);
	}
	*ret = run->file_path[file];
	return 0;
}

/* Joins directory and base by a slash, unless the directory ends with one. */
int verify_source_path(struct verify *v, uint32_t file, uint32_t *ret, struct err *err)
{
	struct debug_text *text = &v->source.text;
	struct debug_file f;
	size_t dir_len, base_len;
	const void *p;

	*ret = DEBUG_NONE;
	if (file == DEBUG_NONE)
		return 0;
	if (v->source_path[file] == DEBUG_NONE) {
		memcpy(&f, intern_get(&text->files, file, NULL), sizeof(f));
		buf_reset(&v->text);
		p = intern_get(&text->strings, f.dir, &dir_len);
		buf_append(&v->text, p, dir_len);
		if (dir_len && v->text.p[dir_len - 1] != '/')
			buf_u8(&v->text, '/');
		p = intern_get(&text->strings, f.base, &base_len);
		buf_append(&v->text, p, base_len);
		v->source_path[file] = debug_string(text, v->text.p, v->text.len);
		if (v->source_path[file] == DEBUG_NONE)
			return err_no_memory(err);
	}
	*ret = v->source_path[file];
	return 0;
}

/* Stores the number of a function's signature in *ret, or DEBUG_NONE. */
int verify_signature(struct verify_run *run, uint32_t function, uint32_t *ret, struct err *err)
{
	uint32_t *id = run->function_type ? &run->function_type[function] : NULL;
	const uint8_t *p;
	size_t len;

	*ret = DEBUG_NONE;
	if (!id)
		return 0;
	if (*id == DEBUG_NONE) {
		int rc = rsym_reader_type(run->texts, function, &p, &len, err);

		if (rc < 0)
			return rc;
		*id = rc ? debug_string(&run->verify->source.text, p, len) : TYPE_NONE;
		if (*id == DEBUG_NONE)
			return err_no_memory(err);
	}
	*ret = *id == TYPE_NONE ? DEBUG_NONE : *id;
	return 0;
}

/* The text is untrusted, so its control bytes are replaced. */
void verify_put_text(struct verify_run *run, uint32_t string)
{
	size_t len = 0;
	const uint8_t *p = string == DEBUG_NONE
				   ? NULL
				   : intern_get(&run->verify->source.text.strings, string, &len);

	if (!len)
		buf_str(run->out, "??");
	for (size_t i = 0; i < len; i++)
		buf_u8(run->out, p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i]);
}
