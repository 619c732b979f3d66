/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OPTIONS_H
#define RAWSTACK_OPTIONS_H
/*
 * Describes the command line of a program, or of one of its commands, as a table: the row of an
 * option has its name, its argument, its help, and where its value goes. Parsing, --help (and with
 * it the manual page) and completion in shells all use this table, so none of them knows an option
 * that the others do not.
 *
 *	struct dig { const char *where; uint32_t depth; bool fast; };
 *
 *	static const struct option_row rows[] = {
 *		OPTION_NUMBER('n', "depth", "N", struct dig, depth, 1, 100, 1, "how deep (10)"),
 *		OPTION_TEXT(0, "where", "DIR", struct dig, where, "the field"),
 *		OPTION_FLAG(0, "fast", struct dig, fast, "without looking"),
 *		OPTION_END,
 *	};
 *	static const struct option_usage usage = {
 *		.name = "mole dig", .synopsis = "[OPTION]... FIELD...", .rows = rows,
 *		.about = "Digs.", .operands_min = 1, .operands_max = OPERANDS_ANY,
 *		.operands_wanted = "no field given",
 *	};
 *	struct dig d = {.depth = 10};
 *	rc = options_parse(&usage, argc, argv, &d, &operands, err);
 *
 * A command line is read as by getopt_long(3): operands and options come in any order, `--` ends
 * the options, `-` is an operand, `-n5` equals `-n 5`, letters without arguments may stand
 * together, `--depth=5` equals `--depth 5`, and a long name may be cut as long as no other option
 * begins so. --help and -h print the help, unless a row takes that letter; they are in no table.
 *
 * Only programs use it: help goes to standard output. Texts are borrowed from argv. For one thread.
 */
#include <stddef.h>

#include "buf.h"
#include "err.h"

enum option_kind {
	OPTION_KIND_HEADING, /* no option: a line of help above the rows that follow */
	OPTION_KIND_SET,     /* no argument; stores `min` */
	OPTION_KIND_TEXT,    /* stores a pointer to the argument */
	OPTION_KIND_NUMBER,  /* decimal, min to max; stores it times `unit` */
	OPTION_KIND_BYTES,   /* likewise; K, M or G may follow, which multiply by 1024 and so on */
	OPTION_KIND_WORD,    /* one of `words`; stores min plus its index */
	OPTION_KIND_LIST,    /* adds to an array of `max` texts, whose count is at count_offset */
	OPTION_KIND_CALL,    /* hands the argument to set() */
	OPTION_KIND_IGNORE,  /* accepted without effect */
	OPTION_KIND_ROWS,    /* no option: the rows of another table, for a struct in this one */
};

/* Stores an argument, or NULL if it is optional and absent. `at` is the struct, or its member if
 * the row has an .offset. `option` is the row's name or letter, with dashes, for errors. Returns 0
 * or a negative code. */
typedef int option_set_fn(void *at, const char *option, const char *argument, struct err *err);

/* Checks an argument as the setter of the row does, and stores nothing. */
typedef int option_check_fn(const char *option, const char *argument, struct err *err);

struct option_row {
	const char *name;         /* long name without dashes; NULL: none */
	const char *argument;     /* name of the argument in help; NULL: it takes none */
	const char *help;         /* filled into lines; a newline stays; NULL: a hidden option */
	const char *const *words; /* ends in NULL; not WORD: what completion offers */
	const struct option_row *rows; /* of OPTION_KIND_ROWS */
	option_set_fn *set;
	option_check_fn *check; /* of OPTION_KIND_CALL; NULL: only storing checks an argument */
	const char *usual;      /* of OPTION_KIND_CALL: the value if none is given; or NULL */
	uint64_t min, max, unit;
	const char *variable; /* variable that all programs read for it; NULL: see config.h */
	size_t offset, count_offset; /* in the struct that is filled */
	enum option_kind kind;
	char letter;       /* 0: none */
	uint8_t size;      /* of the member, in bytes: 1, 4 or 8 */
	bool is_optional;  /* the argument is optional (SET, CALL, IGNORE) and is given as
			      --name=ARGUMENT only */
	bool may_be_empty; /* TEXT: an empty argument means none, whatever a lower source says */
	bool takes_files;  /* completion offers files besides `words` */
	bool is_live;      /* a daemon takes a new value of it from its file without a restart */
};

/* Macros that write rows. `type` is the struct to fill and `m` its member. Arguments behind the
 * help are more members of the row, such as .words. */
#define OPTION_MEMBER(type, m) .offset = offsetof(type, m), .size = sizeof(((type *)0)->m)
/* The offset of a member; does not compile if the member has another type. */
#define OPTION_OF(type, m, wanted)                                                                 \
	.offset = offsetof(type, m) +                                                              \
		  0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type *)0)->m), wanted) \
					  ? 1                                                      \
					  : -1])

#define OPTION_HEADING(text)                                \
	{                                                   \
		.kind = OPTION_KIND_HEADING, .help = (text) \
	}
#define OPTION_FLAG(c, long_name, type, m, text, ...)                                      \
	{                                                                                  \
		.kind = OPTION_KIND_SET, .letter = (c), .name = (long_name), .help = text, \
		.min = 1, .size = 1, OPTION_OF(type, m, bool), __VA_ARGS__                 \
	}
#define OPTION_SET(c, long_name, type, m, value, text, ...)                                \
	{                                                                                  \
		.kind = OPTION_KIND_SET, .letter = (c), .name = (long_name), .help = text, \
		.min = (value), OPTION_MEMBER(type, m), __VA_ARGS__                        \
	}
#define OPTION_TEXT(c, long_name, what, type, m, text, ...)                                       \
	{                                                                                         \
		.kind = OPTION_KIND_TEXT, .letter = (c), .name = (long_name), .argument = (what), \
		.help = text, OPTION_OF(type, m, const char *), __VA_ARGS__                       \
	}
#define OPTION_NUMBER(c, long_name, what, type, m, least, most, times, text, ...)                 \
	{                                                                                         \
		.kind = OPTION_KIND_NUMBER, .letter = (c), .name = (long_name),                   \
		.argument = (what), .help = text, .min = (least), .max = (most), .unit = (times), \
		OPTION_MEMBER(type, m), __VA_ARGS__                                               \
	}
#define OPTION_BYTES(c, long_name, what, type, m, least, most, text, ...)                          \
	{                                                                                          \
		.kind = OPTION_KIND_BYTES, .letter = (c), .name = (long_name), .argument = (what), \
		.help = text, .min = (least), .max = (most), .unit = 1, OPTION_MEMBER(type, m),    \
		__VA_ARGS__                                                                        \
	}
#define OPTION_WORD(c, long_name, what, type, m, list, text, ...)                                 \
	{                                                                                         \
		.kind = OPTION_KIND_WORD, .letter = (c), .name = (long_name), .argument = (what), \
		.help = text, .words = (list), OPTION_MEMBER(type, m), __VA_ARGS__                \
	}
#define OPTION_LIST(c, long_name, what, type, m, count, most, text, ...)                          \
	{                                                                                         \
		.kind = OPTION_KIND_LIST, .letter = (c), .name = (long_name), .argument = (what), \
		.help = text, .max = (most), .offset = offsetof(type, m[0]),                      \
		.count_offset = offsetof(type, count), __VA_ARGS__                                \
	}
#define OPTION_CALL(c, long_name, what, setter, text, ...)                                        \
	{                                                                                         \
		.kind = OPTION_KIND_CALL, .letter = (c), .name = (long_name), .argument = (what), \
		.help = text, .set = (setter), __VA_ARGS__                                        \
	}
#define OPTION_IGNORE(c, long_name, what, ...)                                  \
	{                                                                       \
		.kind = OPTION_KIND_IGNORE, .letter = (c), .name = (long_name), \
		.argument = (what), __VA_ARGS__                                 \
	}
#define OPTION_ROWS(type, m, table)                                                    \
	{                                                                              \
		.kind = OPTION_KIND_ROWS, .rows = (table), .offset = offsetof(type, m) \
	}
/* Includes another table for this struct. */
#define OPTION_MORE(table)                                \
	{                                                 \
		.kind = OPTION_KIND_ROWS, .rows = (table) \
	}
/* The last row of each table. */
#define OPTION_END                       \
	{                                \
		.kind = OPTION_KIND_ROWS \
	}

#define OPERANDS_ANY UINT32_MAX

/* A program with options in a file and in the environment (config.h). */
struct option_config {
	/* The beginning of the names of variables: "RAWSTACK_MOLE_". NULL: rows name their
	 * variables, and the program has no options --config, --check-config and --print-config. */
	const char *prefix;
};

struct option_usage {
	const char *name;     /* program and command, such as "rawstack top" */
	const char *synopsis; /* what follows the name in the usage line, or in several lines */
	/* Paragraphs above and below the options, separated by an empty line. They are filled; a
	 * line that begins with a blank stays as it is. NULL: none. */
	const char *about, *notes;
	const struct option_row *rows; /* NULL: none */
	uint32_t operands_min, operands_max;
	const char *operands_wanted;      /* the error if their number is wrong */
	const char *const *operand_words; /* offered by completion for the first; NULL: files */
	const char *version; /* what --version prints behind the name; NULL: no --version */
	const struct option_config *config; /* NULL: there is none */
};

/* The operands of a command line, in their order, borrowed from argv. */
struct operands {
	char **list;
	size_t count;
};

/*
 * Reads argv[1] to argv[argc - 1] into the struct that the rows describe. A member whose option is
 * not in argv keeps its value. argv keeps all its words, reordered so that operands come last, so
 * it can be read again or handed to another program. *ret may be NULL if there are no operands.
 *
 * Returns 0; 1 if help, the version or a completion (`--complete WORD...`, of a program with a
 * version) was printed, and nothing is left to do; ERR_USAGE; or the code of a setter.
 */
int options_parse(const struct option_usage *usage, int argc, char **argv, void *into,
		  struct operands *ret, struct err *err) _must_check_;

/* Reports options that do not go together: ERR_USAGE, with the command, what is wrong, and where
 * help is. */
int options_refuse(const struct option_usage *usage, struct err *err, const char *fmt, ...)
	_printf_(3, 4);
#define options_refuse(...) ERR_NEGATIVE(options_refuse(__VA_ARGS__))

/* Looks an argument up among words that end in NULL, as rows of OPTION_KIND_WORD do, for setters.
 * Returns its index, or ERR_USAGE with a list of the words. */
int options_word(const char *option, const char *argument, const char *const *words,
		 struct err *err);

/* Reads a decimal number from min to max, as rows of OPTION_KIND_NUMBER do, or returns ERR_USAGE.
 */
int options_number(const char *option, const char *argument, uint64_t min, uint64_t max,
		   uint64_t *ret, struct err *err) _must_check_;

/* Appends the text of --help. */
void options_help(const struct option_usage *usage, struct buf *out);

/*
 * Appends what may stand in place of the last of `count` words behind the program's name, whose
 * beginning is typed: one word a line, perhaps followed by a tab and its meaning. The line
 * OPTIONS_FILES says that a file may stand there.
 */
#define OPTIONS_FILES ":files"
void options_complete(const struct option_usage *usage, char *const *words, size_t count,
		      struct buf *out);

#endif
