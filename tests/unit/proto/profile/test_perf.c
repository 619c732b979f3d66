/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data files made here, byte by byte, and the text of perf script. */
#include "perf_data.h"
#include "perf_script.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define VIEW(p, len) (&(struct file_view)FILE_VIEW_OF((const void *)(p), len))

/* --- making perf.data ------------------------------------------------------------------------ */

#define SAMPLE_TYPE                                                              \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

struct made {
	struct buf file;
	size_t data_at;
	size_t record_at;
};

static void begin_file(struct made *m)
{
	m->file = (struct buf)BUF_INIT(MIB);
	buf_str(&m->file, "PERFILE2");
	buf_u64(&m->file, 104);
	buf_u64(&m->file, 128 + 16);
	buf_u64(&m->file, 104); /* one attribute behind the header */
	buf_u64(&m->file, 128 + 16);
	buf_u64(&m->file, 104 + 144);
	buf_u64(&m->file, 0); /* length of the data, set by end_file() */
	for (int i = 0; i < 6; i++)
		buf_u64(&m->file, 0);
	buf_u32(&m->file, PERF_TYPE_SOFTWARE);
	buf_u32(&m->file, 128);
	buf_u64(&m->file, PERF_COUNT_SW_CPU_CLOCK);
	buf_u64(&m->file, 99);
	buf_u64(&m->file, SAMPLE_TYPE);
	buf_u64(&m->file, 0);
	buf_u64(&m->file,
		UINT64_C(1) << 34 | 1 << 10 | 1 << 18); /* build_id, freq, sample_id_all */
	for (int i = 0; i < 10 + 2; i++)
		buf_u64(&m->file, 0);
	m->data_at = m->file.len;
}

static void begin_record(struct made *m, uint32_t type, uint16_t misc)
{
	m->record_at = m->file.len;
	buf_u32(&m->file, type);
	buf_u16(&m->file, misc);
	buf_u16(&m->file, 0);
}

static void end_record(struct made *m)
{
	uint16_t len;

	buf_align(&m->file, 8);
	len = (uint16_t)(m->file.len - m->record_at);
	memcpy(m->file.p + m->record_at + 6, &len, sizeof(len));
}

/* The tail of each record that is not a sample. */
static void end_record_at(struct made *m, uint32_t pid, uint64_t time)
{
	buf_align(&m->file, 8);
	buf_u32(&m->file, pid);
	buf_u32(&m->file, pid);
	buf_u64(&m->file, time);
	buf_u64(&m->file, 0); /* cpu */
	end_record(m);
}

static void end_file(struct made *m)
{
	uint64_t len = m->file.len - m->data_at;

	memcpy(m->file.p + 48, &len, sizeof(len));
}

static void add_mmap2(struct made *m, uint32_t pid, uint64_t time, uint64_t start, uint64_t len,
		      uint64_t off, uint8_t id, const char *path)
{
	uint16_t misc = pid == UINT32_MAX ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;

	begin_record(m, PERF_RECORD_MMAP2, (uint16_t)(misc | PERF_RECORD_MISC_MMAP_BUILD_ID));
	buf_u32(&m->file, pid);
	buf_u32(&m->file, pid);
	buf_u64(&m->file, start);
	buf_u64(&m->file, len);
	buf_u64(&m->file, off);
	buf_u8(&m->file, 20);
	for (int i = 0; i < 3; i++)
		buf_u8(&m->file, 0);
	for (int i = 0; i < 20; i++)
		buf_u8(&m->file, id);
	buf_u64(&m->file, 5);
	buf_append(&m->file, path, strlen(path) + 1);
	end_record_at(m, pid, time);
}

static void add_comm(struct made *m, uint32_t pid, uint64_t time, const char *comm, bool exec)
{
	begin_record(m, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	buf_u32(&m->file, pid);
	buf_u32(&m->file, pid);
	buf_append(&m->file, comm, strlen(comm) + 1);
	end_record_at(m, pid, time);
}

static void add_fork(struct made *m, uint32_t pid, uint32_t parent, uint64_t time)
{
	begin_record(m, PERF_RECORD_FORK, 0);
	buf_u32(&m->file, pid);
	buf_u32(&m->file, parent);
	buf_u32(&m->file, pid);
	buf_u32(&m->file, parent);
	buf_u64(&m->file, time);
	end_record_at(m, pid, time);
}

static void add_sample(struct made *m, uint32_t pid, uint64_t time, const uint64_t *chain,
		       size_t count)
{
	begin_record(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	buf_u64(&m->file, chain[count - 1]);
	buf_u32(&m->file, pid);
	buf_u32(&m->file, pid);
	buf_u64(&m->file, time);
	buf_u64(&m->file, 0);
	buf_u64(&m->file, 10101010);
	buf_u64(&m->file, count);
	for (size_t i = 0; i < count; i++)
		buf_u64(&m->file, chain[i]);
	end_record(m);
}

/* A program, its child after a fork and after an exec; one sample comes before its mapping in the
 * file, but not in time. */
static void make(struct made *m)
{
	static const uint64_t before[] = {PERF_CONTEXT_USER, 0x401234, 0x401100};
	static const uint64_t both[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000150, 0xffffffff81000310,
					PERF_CONTEXT_USER, 0x401234};
	static const uint64_t nowhere[] = {PERF_CONTEXT_USER, 0x7fff0000};

	begin_file(m);
	add_mmap2(m, UINT32_MAX, 0, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, 7,
		  "[kernel.kallsyms]_text");
	add_sample(m, 10, 200, before, 3);
	add_mmap2(m, 10, 100, 0x401000, 0x1000, 0x1000, 1, "/bin/prog");
	add_comm(m, 10, 100, "prog", false);
	add_fork(m, 11, 10, 300);
	add_sample(m, 11, 400, both, 5);
	add_comm(m, 11, 500, "other", true);
	add_mmap2(m, 11, 510, 0x401000, 0x1000, 0, 2, "/bin/other");
	add_sample(m, 11, 600, both, 5);
	add_sample(m, 11, 700, nowhere, 2);
	add_sample(m, 10, 800, before, 3);
	end_file(m);
}

static void assert_text(struct profile_text t, const char *want)
{
	assert_int_equal(t.len, strlen(want));
	assert_memory_equal(t.p, want, t.len);
}

/* "thread:path+address;path+address=count", leaf first. */
static const char *sample_text(const struct profile *p, uint32_t sample, struct buf *out)
{
	struct profile_sample s = profile_sample(p, sample);
	const struct profile_label *labels;
	const uint32_t *locations;
	struct profile_text t;
	size_t count;

	buf_reset(out);
	labels = profile_labels(p, s.labels, &count);
	t = profile_text(p, labels[0].text);
	buf_printf(out, "%.*s:", (int)t.len, t.p);
	locations = profile_stack(p, s.stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_location l = profile_location(p, locations[i]);

		if (l.line_count)
			t = profile_text(p, profile_function(p, l.lines[0].function).name);
		else
			t = profile_text(p, p->modules[l.module].path);
		buf_printf(out, "%s%.*s+%jx", i ? ";" : "", (int)t.len, t.p, (uintmax_t)l.address);
	}
	buf_printf(out, "=%jd", (intmax_t)profile_values(p, sample)[0]);
	return buf_cstr(out);
}

static void test_perf_data(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(MIB);
	_cleanup_(profile_done) struct profile p;
	struct made m;
	struct err err;

	(void)state;
	make(&m);
	profile_init(&p);
	assert_int_equal(perf_data_read(VIEW(m.file.p, m.file.len), &p, &err), 0);
	assert_int_equal(p.samples.count, 4);
	/* a caller's address is its call's, one byte before */
	assert_string_equal(sample_text(&p, 0, &text), "prog:/bin/prog+1234;/bin/prog+10ff=2");
	assert_string_equal(sample_text(&p, 1, &text),
			    "prog:[kernel.kallsyms]+150;[kernel.kallsyms]+30f;/bin/prog+1234=1");
	assert_string_equal(sample_text(&p, 2, &text),
			    "other:[kernel.kallsyms]+150;[kernel.kallsyms]+30f;/bin/other+234=1");
	assert_string_equal(sample_text(&p, 3, &text), "other:[no mapping]+0=1");
	assert_text(profile_text(&p, p.value_types[1].unit), "nanoseconds");
	assert_int_equal(profile_values(&p, 0)[1], 2 * 10101010);
	assert_text(profile_text(&p, p.modules[0].build_id),
		    "0101010101010101010101010101010101010101");
	buf_done(&m.file);
}

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Rounds of records of three processes in any order: those of a round are not older than the
 * newest of the round before the last. `ends` says where rounds end; `late` breaks the promise. */
static void make_rounds(struct made *m, bool ends, bool late)
{
	uint32_t seed = 3;

	begin_file(m);
	m->file.max = 16 * MIB;
	for (uint32_t i = 0; i < 2000; i++) {
		uint64_t time = 1 + i / 50 * 1000 + draw(&seed) % 1900;
		uint64_t chain[] = {PERF_CONTEXT_USER, 0x401000 + draw(&seed) % 64, 0x401200};
		uint32_t pid = 10 + draw(&seed) % 3, id = draw(&seed) % 5;
		char name[16];

		snprintf(name, sizeof(name), "/bin/%u", id);
		if (late && i == 1500)
			time = 900;
		if (draw(&seed) % 8)
			add_sample(m, pid, time, chain, 3);
		else if (draw(&seed) % 2)
			add_mmap2(m, pid, time, 0x401000, 0x1000, 0x1000, (uint8_t)id, name);
		else
			add_comm(m, pid, time, name, id == 0);
		if (ends && i % 50 == 49) {
			begin_record(m, 68, 0);
			end_record(m);
		}
	}
	end_file(m);
}

/* What perf says of rounds bounds what waits, and changes nothing. */
static void test_perf_data_rounds(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		_cleanup_(buf_done) struct buf a = BUF_INIT(MIB), b = BUF_INIT(MIB);
		_cleanup_(profile_done) struct profile with, without;
		struct made m;
		struct err err;

		make_rounds(&m, true, late);
		profile_init(&with);
		assert_int_equal(perf_data_read(VIEW(m.file.p, m.file.len), &with, &err), 0);
		buf_done(&m.file);
		make_rounds(&m, false, late);
		profile_init(&without);
		assert_int_equal(perf_data_read(VIEW(m.file.p, m.file.len), &without, &err), 0);
		buf_done(&m.file);
		assert_true(with.samples.count > 500);
		assert_int_equal(with.samples.count, without.samples.count);
		for (uint32_t i = 0; i < with.samples.count; i++)
			assert_string_equal(sample_text(&with, i, &a),
					    sample_text(&without, i, &b));
	}
}

/* Cut anywhere, or with any byte changed, it is refused or read; never more than that. */
static void test_perf_data_damaged(void **state)
{
	struct made m;
	struct err err;

	(void)state;
	make(&m);
	for (size_t i = 0; i < m.file.len; i++) {
		_cleanup_(freep) uint8_t *copy = malloc(m.file.len);
		_cleanup_(profile_done) struct profile cut, changed;

		assert_non_null(copy);
		profile_init(&cut);
		profile_init(&changed);
		memcpy(copy, m.file.p, m.file.len);
		err.code = 0;
		if (perf_data_read(VIEW(copy, i), &cut, &err))
			assert_true(err.code < 0);
		copy[i] ^= 0xff;
		if (perf_data_read(VIEW(copy, m.file.len), &changed, &err))
			assert_true(err.code < 0);
	}
	buf_done(&m.file);
}

static void test_perf_data_refused(void **state)
{
	static const struct {
		uint32_t type;
		int code;
	} cases[] = {{81, ERR_UNSUPPORTED}, {71, ERR_UNSUPPORTED}};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(profile_done) struct profile p;
		struct made m;

		begin_file(&m);
		add_sample(&m, 10, 100, (const uint64_t[]){PERF_CONTEXT_USER, 0x401234}, 2);
		begin_record(&m, cases[i].type, 0);
		end_record(&m);
		end_file(&m);
		profile_init(&p);
		assert_int_equal(perf_data_read(VIEW(m.file.p, m.file.len), &p, &err),
				 cases[i].code);
		buf_done(&m.file);
	}
	assert_true(perf_data_is("2ELIFREP", 8));
	{
		_cleanup_(profile_done) struct profile p;

		profile_init(&p);
		assert_int_equal(perf_data_read(VIEW("2ELIFREP", 8), &p, &err), ERR_UNSUPPORTED);
	}
}

/* --- perf script ----------------------------------------------------------------------------- */

static const char script[] =
	"# a comment\n"
	"prog 10/12 [001] 5.000100:   10101010 cpu-clock:ppp: \n"
	"\t            1234 fold(int (*)(char))+0x14 (inlined)\n"
	"  fold.h:9\n"
	"\t            1234 mix+0x34 (/bin/prog (deleted))\n"
	"  mixer.cpp:12\n"
	"\t            1100 [unknown] (/bin/prog (deleted))\n"
	"\t7f0000001100 [unknown] ([unknown])\n"
	"\n"
	"my thread 2 10/12 5.000200:   10101010 cpu-clock:ppp:     1234 mix+0x34 (/bin/prog)\n"
	"         :77    77 [000]     6.5:   10101010 cpu-clock:ppp: \n"
	"\tffffffff81000150 read+0x1 ([kernel.kallsyms])\n"
	"\tffffffffc0000150 nf+0x1 ([nf_conntrack])\n"
	"\n";

static void assert_frame(const struct profile *p, uint32_t location, size_t line, const char *name,
			 const char *file, uint32_t number)
{
	struct profile_location l = profile_location(p, location);
	struct profile_function f;

	assert_true(line < l.line_count);
	f = profile_function(p, l.lines[line].function);
	assert_text(profile_text(p, f.name), name);
	assert_text(profile_text(p, f.file), file);
	assert_int_equal(l.lines[line].line, number);
}

static void test_perf_script(void **state)
{
	_cleanup_(profile_done) struct profile p;
	const struct profile_label *labels;
	const uint32_t *stack;
	size_t count;
	struct err err;

	(void)state;
	profile_init(&p);
	assert_true(perf_script_is(script, strlen(script)));
	assert_int_equal(perf_script_read(VIEW(script, strlen(script)), &p, &err), 0);
	assert_int_equal(p.samples.count, 3);
	stack = profile_stack(&p, profile_sample(&p, 0).stack, &count);
	assert_int_equal(count, 3);
	assert_frame(&p, stack[0], 0, "fold(int (*)(char))", "fold.h", 9);
	assert_frame(&p, stack[0], 1, "mix", "mixer.cpp", 12);
	assert_frame(&p, stack[1], 0, "/bin/prog (deleted)+0x1100", "", 0);
	assert_frame(&p, stack[2], 0, "[0x7f0000001100]", "", 0);
	assert_text(profile_text(&p, p.modules[profile_location(&p, stack[0]).module].path),
		    "/bin/prog (deleted)");

	labels = profile_labels(&p, profile_sample(&p, 1).labels, &count);
	assert_text(profile_text(&p, labels[0].text), "my thread 2");
	assert_int_equal(labels[1].num, 10);
	labels = profile_labels(&p, profile_sample(&p, 2).labels, &count);
	assert_int_equal(count, 1);
	assert_text(profile_text(&p, labels[0].key), "tid");
	stack = profile_stack(&p, profile_sample(&p, 2).stack, &count);
	assert_text(profile_text(&p, p.modules[profile_location(&p, stack[1]).module].path),
		    "[kernel:nf_conntrack]");
	assert_int_equal(profile_values(&p, 0)[1], 10101010);
}

static void write_script(const struct profile *p, struct buf *out)
{
	struct text_out to = TEXT_OUT_INIT(text_out_to_buf, out);
	struct err err;

	assert_int_equal(perf_script_write(p, &to, NULL, &err), 0);
	text_out_done(&to);
}

/* What was written reads back as the same rows, and is written again as the same text. */
static void test_perf_script_back(void **state)
{
	_cleanup_(buf_done) struct buf once = BUF_INIT(MIB), twice = BUF_INIT(MIB);
	_cleanup_(profile_done) struct profile p, back;
	struct err err;

	(void)state;
	profile_init(&p);
	profile_init(&back);
	assert_int_equal(perf_script_read(VIEW(script, strlen(script)), &p, &err), 0);
	p.values[0] = 3; /* three samples in one row */
	p.values[1] = 30;
	write_script(&p, &once);
	assert_int_equal(perf_script_read(VIEW(once.p, once.len), &back, &err), 0);
	assert_int_equal(back.samples.count, 3);
	assert_int_equal(profile_values(&back, 0)[0], 3);
	assert_int_equal(profile_values(&back, 0)[1], 30);
	write_script(&back, &twice);
	assert_string_equal(buf_cstr(&once), buf_cstr(&twice));
}

static void test_perf_script_bad(void **state)
{
	static const char *const cases[] = {
		"",
		"# only a comment\n",
		"no head at all\n",
		"prog 1 1.0: 5 cpu-clock:\n\tnot an address\n\n",
		"prog 1 [000] 1.0: 5 no event\n",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(profile_done) struct profile p;

		profile_init(&p);
		assert_int_equal(perf_script_read(VIEW(cases[i], strlen(cases[i])), &p, &err),
				 ERR_DATA);
		assert_non_null(strstr(err.message, "perf script: line "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_data),         cmocka_unit_test(test_perf_data_damaged),
		cmocka_unit_test(test_perf_data_refused), cmocka_unit_test(test_perf_data_rounds),
		cmocka_unit_test(test_perf_script),       cmocka_unit_test(test_perf_script_back),
		cmocka_unit_test(test_perf_script_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
