/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_relocs OBJECT BTF [CUT]: relocates the BPF programs of OBJECT against the types of another
 * kernel and prints for each relocation its kind and type, and what it became. Exit 1 when the
 * place of a field has no answer there; one of a flavour ("pt_regs___arm64") may be that of another
 * machine. With CUT it first writes there what the sampler cuts out of BTF, and uses that. The
 * programs are handed to the running kernel then, which may refuse them: they are not for it.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "io.h"
#include "kernel_types.h"
#include "limits.h"

static int resolved, failed;

/* libbpf has no function for it; it tells of each relocation at the level "debug". */
static int listen(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	static bool is_flavour;
	char line[1024];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, ap);
	if (!strstr(line, "relo #"))
		return 0;
	printf("%s", line);
	if (strstr(line, "matching candidate")) /* of the other kernel, without flavours */
		return 0;
	if (strstr(line, "> ["))
		is_flavour = strstr(line, "___");
	else if (strstr(line, "substituting insn"))
		failed += !is_flavour;
	else if (strstr(line, "patched insn"))
		resolved++;
	return 0;
}

static int cut(const char *from, const char *to)
{
	_cleanup_(buf_done) struct buf types = BUF_INIT(65536);
	_cleanup_(freep) uint8_t *p = NULL;
	struct err err;
	size_t len;
	FILE *f;

	if (io_read_file(from, 256 * MIB, &p, &len, &err) ||
	    kernel_types_cut_from(p, len, &types)) {
		fprintf(stderr, "%s: cannot be cut\n", from);
		return 1;
	}
	f = fopen(to, "w");
	if (!f || fwrite(types.p, 1, types.len, f) != types.len || fclose(f))
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct bpf_object *object;

	if (argc != 3 && argc != 4)
		return 2;
	if (argc == 4 && cut(argv[2], argv[3]))
		return 1;
	opts.btf_custom_path = argv[argc - 1];
	libbpf_set_print(listen);
	object = bpf_object__open_file(argv[1], &opts);
	if (!object) {
		perror(argv[1]);
		return 1;
	}
	bpf_object__load(object);
	bpf_object__close(object);
	printf("%d relocated, %d without an answer\n", resolved, failed);
	return failed || !resolved;
}
