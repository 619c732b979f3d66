/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bisect.h"
#include "file_notes.h"
#include "limits.h"
#include "number.h"

/* Most symbols of BPF programs and modules that are kept of /proc/kallsyms. */
#define LIMIT_HOST_SYMBOLS LIMIT(262144)

#define KALLSYMS "/proc/kallsyms"

/* Symbols are not read again sooner, because that takes some 50 ms of CPU. */
#define REREAD_NS UINT64_C(30000000000)

enum {
	NAME_MAX_LEN = 96,
	READ_LEN = 64 << 10,
	/* A symbol reaches no further than this, the size of the largest program or function of a
	 * module: nothing says where the last symbol of a region ends. */
	SYMBOL_REACH = 1 << 20,
};

struct kernel_symbol {
	uint64_t pc;
	bool is_bpf;
	char name[NAME_MAX_LEN];
};

static int compare_kernel_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Reads a line "<hex> <type> <name>[ <tab>[<owner>]]". */
static void read_symbol_line(struct kernel_map *k, char *line)
{
	const char *tab = strchr(line, '\t');
	char *type, *name, *owner, *rest = NULL;
	const char *at = line;
	struct kernel_symbol *s;
	uint64_t pc;

	/* Only two of a hundred thousand lines without an owner matter. */
	if (!tab && !strstr(line, " _text\n") && !strstr(line, " _etext\n"))
		return;
	if (!number_take(&at, 16, &pc))
		return;
	type = strtok_r(line + (at - line), " \t\n", &rest);
	name = strtok_r(NULL, " \t\n", &rest);
	owner = strtok_r(NULL, " \t\n", &rest);
	if (!pc || !name)
		return;
	if (!owner) {
		if (!strcmp(name, "_text"))
			k->text = pc;
		else if (!strcmp(name, "_etext"))
			k->etext = pc;
		return;
	}
	if ((*type != 't' && *type != 'T') ||
	    !GROW(k->symbols, &k->cap, k->count + 1, LIMIT_HOST_SYMBOLS))
		return;
	s = &k->symbols[k->count++];
	*s = (struct kernel_symbol){.pc = pc, .is_bpf = !strcmp(owner, "[bpf]")};
	snprintf(s->name, sizeof(s->name), s->is_bpf ? "%s" : "%s %s", name, owner);
}

static int read_kernel_symbols(struct kernel_map *k, uint64_t now_ns, struct err *err)
{
	_cleanup_(freep) char *line = NULL;
	FILE *f = fopen(KALLSYMS, "re");
	size_t cap = 0;

	k->read_ns = now_ns;
	k->count = 0;
	kernel_modules_read(&k->modules, KERNEL_MODULES_PROC, KERNEL_MODULES_SYS);
	if (!f)
		return err_sys(err, errno, KALLSYMS);
	/* The default buffer would read it a kilobyte at a time. */
	setvbuf(f, NULL, _IOFBF, READ_LEN);
	while (getline(&line, &cap, f) >= 0)
		read_symbol_line(k, line);
	fclose(f);
	if (k->count)
		qsort(k->symbols, k->count, sizeof(*k->symbols), compare_kernel_symbols);
	if (!k->text || k->etext <= k->text)
		return err_set(err, ERR_DENIED,
			       "kernel addresses are hidden in " KALLSYMS
			       " (CAP_SYSLOG is missing, or kernel.kptr_restrict is 2): kernel "
			       "frames stay unresolved");
	return 0;
}

int kernel_map_init(struct kernel_map *ret, uint64_t text, uint64_t etext, uint64_t now_ns,
		    struct err *err)
{
	*ret = (struct kernel_map){.reread_ns = REREAD_NS};
	if (file_notes_of_path(FILE_NOTES_KERNEL, &ret->id, NULL))
		return err_set(err, ERR_NOT_FOUND,
			       "the kernel tells no build id in /sys/kernel/notes: its frames stay "
			       "unresolved");
	if (text && text < etext) {
		ret->text = text;
		ret->etext = etext;
		return 0;
	}
	return read_kernel_symbols(ret, now_ns, err);
}

void kernel_map_done(struct kernel_map *k)
{
	kernel_modules_done(&k->modules);
	free(k->symbols);
	*k = (struct kernel_map){0};
}

static const struct kernel_symbol *find_symbol(const struct kernel_map *k, uint64_t pc)
{
	size_t next = BISECT(k->count, i, k->symbols[i].pc <= pc);

	return next && pc - k->symbols[next - 1].pc < SYMBOL_REACH ? &k->symbols[next - 1] : NULL;
}

/* Returns whether to read the symbols outside the text: at once the first time, then less and less
 * often as long as that does not help. */
static bool must_read(const struct kernel_map *k, uint64_t now_ns)
{
	return k->text && (!k->read_ns || now_ns - k->read_ns > k->reread_ns);
}

struct kernel_place kernel_map_find(struct kernel_map *k, uint64_t pc, uint64_t now_ns)
{
	struct kernel_place module = {.kind = KERNEL_PLACE_MODULE};
	const struct kernel_symbol *s;

	if (k->text && pc >= k->text && pc < k->etext)
		return (struct kernel_place){.kind = KERNEL_PLACE_TEXT, .off = pc - k->text};
	s = find_symbol(k, pc);
	if (!s && must_read(k, now_ns)) {
		read_kernel_symbols(k, now_ns, NULL);
		s = find_symbol(k, pc);
		k->reread_ns = s ? REREAD_NS : 2 * k->reread_ns;
	}
	if (kernel_modules_find(&k->modules, pc, &module.module))
		return module;
	if (!s)
		return (struct kernel_place){.kind = KERNEL_PLACE_UNKNOWN};
	return (struct kernel_place){
		.kind = KERNEL_PLACE_NAMED,
		.name = s->name,
		.is_bpf = s->is_bpf,
	};
}
