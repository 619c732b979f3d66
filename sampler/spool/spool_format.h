/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_FORMAT_H
#define RAWSTACK_SPOOL_FORMAT_H
/*
 * The bytes of a spool directory; FORMAT.md describes them and gives reasons. All integers are
 * little-endian, and records are 8-byte aligned. A reader passes over files with another major
 * number, and ignores what a later minor number added: unknown header entries, unknown record
 * types, and bytes behind the part of a header entry that it knows.
 *
 *	lock                            empty; flock(2)ed by the writer, who has also marked the
 *	                                directory (dir_lock.h)
 *	segment-<16 hex digits>.spool   spool_header, its directory, then records, then zero bytes;
 *	                                once sealed, header, directory, packed blocks of all that
 *	ack                             spool_ack
 *	dropped                         spool_dropped, twice
 *	account                         spool_disk_account, twice
 *	.<name>...tmp                   not finished; removed by the next writer
 */
#include <stdint.h>

#define SPOOL_MAGIC     "RAWSPOOL"
#define SPOOL_ACK_MAGIC "RAWSPACK"

enum {
	SPOOL_MAJOR = 3,        /* of a segment that is appended to */
	SPOOL_MAJOR_PACKED = 4, /* of a packed segment */
	SPOOL_STATE_MAJOR = 1,  /* of `ack`, `dropped` and `account` */
	SPOOL_MINOR = 0,
	SPOOL_ACCOUNT_MINOR = 1,     /* has struct spool_disk_account_more */
	SPOOL_HEADER_LEN = 512,      /* what this version writes */
	SPOOL_HEADER_MAX = 4096,     /* what this version accepts */
	SPOOL_HEADER_ENTRY_MAX = 64, /* directory entries that this version accepts */
	SPOOL_RECORD_ALIGN = 8,
	SPOOL_BLOCK_LEN = 256 << 10, /* what a block of a packed segment unpacks to, at most */
	SPOOL_BLOCKS_MAX = 256,      /* blocks of a segment, at most: LIMIT_SPOOL_SEGMENT */
};

struct spool_header {
	char magic[8];
	uint16_t major, minor;
	uint32_t header_len;  /* where records begin; a multiple of 8 */
	uint64_t segment;     /* the number in the file's name */
	uint64_t segment_len; /* the length the file was preallocated to */
	uint32_t entry_count; /* number of struct spool_header_entry, which follow */
	uint32_t crc;         /* CRC-32C of all header_len bytes, these four as zero */
};
_Static_assert(sizeof(struct spool_header) == 40, "on disk");

enum spool_header_kind {
	SPOOL_HEADER_ORIGIN = 1, /* struct spool_header_origin; must be there */
	SPOOL_HEADER_BOUNDS = 2, /* struct spool_header_bounds */
	SPOOL_HEADER_BLOCKS = 3, /* struct spool_header_blocks; in a packed segment only */
};

struct spool_header_entry {
	uint32_t kind;     /* enum spool_header_kind */
	uint32_t off, len; /* inside the header */
	uint32_t reserved; /* zero */
};
_Static_assert(sizeof(struct spool_header_entry) == 16, "on disk");

struct spool_header_origin {
	uint8_t host_id[16], boot_id[16];
	char host_name[64], event[32], backend[32]; /* NUL-padded */
	uint64_t period_ns, mono_ns, real_ns;
	uint32_t cpu_count, reserved;
};
_Static_assert(sizeof(struct spool_header_origin) == 192, "on disk");

/* Bounds of what a reader may miss: when the writer was killed, what it added in the last flush_ns;
 * after a power cut, what it added in the last flush_ns + sync_ns. */
struct spool_header_bounds {
	uint64_t flush_ns, sync_ns;
};
_Static_assert(sizeof(struct spool_header_bounds) == 16, "on disk");

/* Block i unpacks to block_len bytes of the original segment, header included, from i * block_len
 * on; the last one to the rest of raw_len. block_count times struct spool_header_block follow. */
struct spool_header_blocks {
	uint64_t raw_len;
	uint32_t block_len, block_count;
	uint32_t records_off; /* where records begin in the unpacked bytes */
	uint32_t late_told;   /* 1 + the number of LATE records; 0: unknown */
};
_Static_assert(sizeof(struct spool_header_blocks) == 24, "on disk");

struct spool_header_block {
	uint32_t off, len; /* in the file; a block as long as its unpacked bytes is a plain copy */
	uint32_t crc;      /* CRC-32C of these bytes */
};
_Static_assert(sizeof(struct spool_header_block) == 12, "on disk");

#define SPOOL_RECORD_MAGIC UINT32_C(0x43455273) /* "sREC" */

struct spool_record_head {
	uint32_t magic;
	uint32_t type; /* enum spool_record_type */
	uint32_t len;  /* of the payload behind it, without the padding to 8; LIMIT_SPOOL_RECORD */
	uint32_t crc;  /* CRC-32C of type, len and payload */
};
_Static_assert(sizeof(struct spool_record_head) == 16, "on disk");

/*
 * Payloads. Dictionary records (STRINGS to THREADS) are u32 first, u32 count, then the entries with
 * the indexes first, first + 1, ...; an entry refers only to entries written before it. `uleb` and
 * `sleb` are LEB128; `ref` is an uleb of index + 1, 0 for none.
 */
enum spool_record_type {
	SPOOL_RECORD_STRINGS = 1,   /* uleb len, bytes */
	SPOOL_RECORD_MODULES = 2,   /* u8 flags, u8 id kind, u8 id len, id, ref path */
	SPOOL_RECORD_LOCATIONS = 3, /* u8 kind, u8 mode, u8 reason, ref module, uleb address,
				       ref name */
	SPOOL_RECORD_STACKS = 4,    /* uleb flags, uleb count, uleb location... leaf first */
	SPOOL_RECORD_THREADS = 5,   /* uleb pid, uleb tid, uleb start_ns, ref comm, ref exe,
				       uleb cgroup id, uleb state, ref cgroup, ref container,
				       ref service, ref labels */
	SPOOL_RECORD_SAMPLES = 6,   /* u64 time in us, u32 count, u32 step in us, then each: u8 enum
				       spool_sample_first, uleb stack, and what that byte does
				       not say: uleb cpu, uleb thread, uleb weight, sleb us late */
	SPOOL_RECORD_LOSSES = 7,    /* u32 count, u32 0, then each: u32 enum spool_loss, u32 0,
				       u64 cumulative */
	SPOOL_RECORD_SEAL = 8,      /* u64 samples in the segment; nothing follows */
	SPOOL_RECORD_LATE = 9,      /* u32 count, u32 pid, u64 start_ns, u64 since_ns, u64 until_ns,
				       then each: uleb pc, uleb len, uleb name len, name */
	SPOOL_RECORD_FILE_SEGMENTS = 10, /* u32 count, u32 0, then each: uleb module, uleb count,
					    then count times uleb file_off, uleb vaddr, uleb len */
};

enum {
	SPOOL_MODULE_KERNEL = 1
}; /* a flag of MODULES */

/* The first byte of a sample. FORMAT.md, "Samples", says which CPU is expected. */
enum spool_sample_first {
	SPOOL_SAMPLE_CPU = 1 << 0,    /* the sample is of the expected CPU */
	SPOOL_SAMPLE_THREAD = 1 << 1, /* the thread is that of the CPU's previous sample */
	SPOOL_SAMPLE_WEIGHT = 1 << 2, /* the weight is 1 */
	SPOOL_SAMPLE_LATE_SHIFT = 3,  /* the upper five bits: 0, or LATE_ZERO + us late */
	SPOOL_SAMPLE_LATE_ZERO = 16,
};

/* A place in a segment: the low half is the offset of a record, the high half how many samples of
 * the SAMPLES record there are before the place. */
struct spool_ack {
	char magic[8];
	uint16_t major, minor;
	uint32_t crc; /* CRC-32C of all bytes, these four as zero */
	uint64_t segment;
	uint64_t place; /* everything before it is at the sink */
};
_Static_assert(sizeof(struct spool_ack) == 32, "on disk");

/* The file holds two of these, at 0 and 4,096; the one with the greater sequence is valid. A
 * segment whose number is not above `segment` is dropped, whether its file is still there or not.
 */
#define SPOOL_DROPPED_MAGIC "RAWSPDRP"

struct spool_dropped {
	char magic[8];
	uint16_t major, minor;
	uint32_t crc; /* CRC-32C of all bytes, these four as zero */
	uint64_t sequence;
	uint64_t samples; /* that limits removed unsent, since the directory was made */
	uint64_t segment;
};
_Static_assert(sizeof(struct spool_dropped) == 40, "on disk");

/* The file holds two of these likewise. `total` counts since the directory was made, `run` in the
 * last run alone. */
#define SPOOL_ACCOUNT_MAGIC "RAWSPACC"
enum {
	SPOOL_DISK_LOSSES = 32 /* losses that there is room for */
};

struct spool_disk_account {
	char magic[8];
	uint16_t major, minor;
	uint32_t crc; /* CRC-32C of all bytes, these four as zero */
	uint64_t sequence;
	uint64_t unix_ns;              /* when it was written */
	uint64_t samples, run_samples; /* that came to the spool, stored or not */
	uint32_t loss_count, reserved; /* entries used, in the order of enum spool_loss */
	struct {
		uint64_t total, run;
	} losses[SPOOL_DISK_LOSSES];
	char why[240]; /* why nothing can be stored now, NUL-padded; empty: storing works */
};
_Static_assert(sizeof(struct spool_disk_account) == 808, "on disk");

/* Follows struct spool_disk_account since minor 1. It is valid when both have the same sequence,
 * because an older version writes the first part alone. */
struct spool_disk_account_more {
	uint32_t crc;      /* CRC-32C of all bytes, these four as zero */
	uint32_t reserved; /* zero */
	uint64_t sequence;
	/* The samples that the account counts as stored end at this offset of this segment; what
	 * follows was stored later. UINT32_MAX: nothing follows in that segment. Segment 0: none.
	 */
	uint64_t segment, end;
	uint64_t run_stored; /* samples stored in the last run up to there */
	/* The number of times that the shipper of the capturer ended by itself in the last run; the
	 * status of the last end, as from waitpid(2), and its Unix time in ns. */
	uint64_t ship_ended, ship_status, ship_ended_ns;
};
_Static_assert(sizeof(struct spool_disk_account_more) == 64, "on disk");

#endif
