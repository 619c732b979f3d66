/* SPDX-License-Identifier: Apache-2.0 */
/* The formats are described in: System V gABI (ELF headers); GDB manual, "Separate Debug Files"
 * (.gnu_debuglink). dwz writes .gnu_debugaltlink as a name, NUL and a build id. */
#include "image_links.h"

#include <elf.h>
#include <string.h>

#include "bytes.h"
#include "file_headers.h"

/* This many bytes tell apart the names of all sections that matter. */
#define NAME_LEN 24

/* Checks that there are section headers, and finds that of the section names. */
static int read_names_header(int fd, struct file_headers *h, struct file_header *ret_names,
			     struct err *err)
{
	TRY(file_headers_read(fd, h, err));
	if (!h->sections.off || !h->sections.count)
		return err_set(err, ERR_UNSUPPORTED, "no section headers");
	if (h->names_index >= h->sections.count)
		return err_set(err, ERR_DATA, "damaged section headers");
	return file_headers_section(h, h->names_index, ret_names, err);
}

static void take_debug_link(struct file_headers *h, const struct file_header *s,
			    struct image_links *ret)
{
	size_t n = file_headers_content(h, s, ret->debug_name, sizeof(ret->debug_name));

	/* The section must hold a file name, not a path. */
	if (!memchr(ret->debug_name, 0, n) || strchr(ret->debug_name, '/'))
		ret->debug_name[0] = 0;
}

static void take_alt_link(struct file_headers *h, const struct file_header *s,
			  struct image_links *ret)
{
	uint8_t content[sizeof(ret->alt_name) + BUILD_ID_MAX];
	struct bytes b = bytes_of(content, file_headers_content(h, s, content, sizeof(content)));
	size_t len;
	const char *name = bytes_cstr(&b, &len);

	if (!name || !len || len >= sizeof(ret->alt_name) ||
	    build_id_set(&ret->alt_id, BUILD_ID_GNU, b.p, b.left, NULL))
		return;
	memcpy(ret->alt_name, name, len + 1);
}

int image_links_read(int fd, struct image_links *ret, struct err *err)
{
	bool code = false, code_elsewhere = false, dwarf = false, package = false;
	struct file_headers h;
	struct file_header names;

	TRY(read_names_header(fd, &h, &names, err));
	*ret = (struct image_links){0};
	for (uint32_t i = 1; i < h.sections.count; i++) {
		char name[NAME_LEN + 1];
		struct file_header s;

		TRY(file_headers_section(&h, i, &s, err));
		TRY(file_headers_name(&h, &names, &s, name, sizeof(name), err));
		if (s.flags & SHF_EXECINSTR && s.len) {
			code = code || s.type != SHT_NOBITS;
			code_elsewhere = code_elsewhere || s.type == SHT_NOBITS;
		}
		if (s.type == SHT_NOBITS || !s.len)
			continue;
		if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			dwarf = true;
		else if (!strcmp(name, ".debug_cu_index"))
			package = true;
		else if (!strcmp(name, ".gnu_debuglink"))
			take_debug_link(&h, &s, ret);
		else if (!strcmp(name, ".gnu_debugaltlink"))
			take_alt_link(&h, &s, ret);
	}
	ret->kind = package          ? IMAGE_PACKAGE
		    : code           ? (dwarf ? IMAGE_BOTH : IMAGE_EXECUTABLE)
		    : code_elsewhere ? IMAGE_DEBUG
		    : dwarf          ? IMAGE_ALT
				     : IMAGE_OTHER;
	return 0;
}
