/* SPDX-License-Identifier: Apache-2.0 */
/* rsym-frames TABLE ADDRESS...: the functions and lines at link-time addresses, innermost first.
 * Built by: cc rsym-frames.c $(pkg-config --cflags --libs librsym) */
#include <err.h>
#include <librsym.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct rsym_error error;
	struct rsym_table *table;
	struct rsym_names *names;
	struct rsym_frame frames[RSYM_TABLE_FRAMES_MAX];
	const char *text;
	size_t len;

	if (argc < 3)
		errx(2, "usage: rsym-frames TABLE ADDRESS...");
	if (rsym_table_open_file(&table, argv[1], &error) ||
	    rsym_names_new(&names, table, 1 << 20, &error))
		errx(1, "%s", error.message);
	for (int a = 2; a < argc; a++) {
		int n = rsym_table_lookup(table, strtoull(argv[a], NULL, 16), frames,
					  RSYM_TABLE_FRAMES_MAX);

		for (int i = 0; i < n; i++) {
			if (rsym_names_readable(names, frames[i].function, RSYM_NAMES_SHORT, &text,
						&len, &error) < 0)
				errx(1, "%s", error.message);
			printf("%s %.*s ", argv[a], (int)len, text);
			if (rsym_names_file(names, frames[i].file, &text, &len, &error))
				errx(1, "%s", error.message);
			printf("%.*s:%u\n", (int)len, text, frames[i].line);
		}
	}
	rsym_names_free(names);
	rsym_table_close(table);
	return 0;
}
