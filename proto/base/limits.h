/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of other libraries that ask for the system's <limits.h> find this file first. */
#include_next <limits.h>
#ifndef RAWSTACK_LIMITS_H
#define RAWSTACK_LIMITS_H
/*
 * Amounts that a file or a peer controls and that several modules must agree on, each with the
 * reason of its value. A limit that one module uses is defined in that module; all of them are
 * named LIMIT_. Those that concern clients are advertised by Binaries.Limits. They are 64-bit
 * constants, so that arithmetic with them is 64-bit too.
 */
#include <stdint.h>

#define LIMIT(n) UINT64_C(n)
#define MIB      (UINT64_C(1) << 20)
#define GIB      (UINT64_C(1) << 30)

/* --- ELF and DWARF input --------------------------------------------------------------------- */
/* The largest debug files known (browsers, vendor kernels) are 5 to 9 GB. */
#define LIMIT_ELF_FILE_LEN  (16 * GIB)
/* Section counts above 2^16 need the extended numbering of ELF, and occur only in relocatable files
 * that were compiled with -ffunction-sections. */
#define LIMIT_ELF_SECTIONS  LIMIT(262144)
/* One section after decompression, which a worker has to map. */
#define LIMIT_SECTION_LEN   (8 * GIB)
/* zlib cannot exceed 1:1032 and zstd goes far above; real DWARF stays below 1:20. */
#define LIMIT_INFLATE_RATIO LIMIT(1100)
/* PT_LOAD segments: linkers make 2 to 6, kernels and patched files some more. A lookup by file
 * offset looks at each. */
#define LIMIT_SEGMENTS      LIMIT(128)
/* Executable segments of a file that a host sends. Linkers make one; of 2,510 programs and
 * libraries of a machine two have three. */
#define LIMIT_FILE_SEGMENTS 8
/* Address ranges of the functions and inlined calls of one unit; the largest unit seen has 0.4
 * million. Many entries may share one range list, so the file's length does not bound them. */
#define LIMIT_UNIT_SPANS    LIMIT(16000000)
/* Code sections of a relocatable file whose places a table keeps; kernel modules have some ten. */
#define LIMIT_CODE_SECTIONS LIMIT(4096)
/* Units with an unreadable header, after which the rest of the section is left out: in a section of
 * zeros every four bytes are such a unit. */
#define LIMIT_UNITS_SKIPPED LIMIT(100000)
/* A type signature as text, and the references from type to type in it: real ones have 5. */
#define LIMIT_TYPE_LEN      LIMIT(4096)
#define LIMIT_TYPE_HOPS     LIMIT(32)
/* Depth of the DIE tree; template-heavy C++ reaches about 60. */
#define LIMIT_DIE_DEPTH     LIMIT(1024)
/* Inlined calls above one address; the deepest seen in real code is about 110. */
#define LIMIT_INLINE_DEPTH  LIMIT(512)
/* Hops along DW_AT_abstract_origin and DW_AT_specification; real chains have 1 to 4. */
#define LIMIT_ORIGIN_HOPS   LIMIT(16)
/* Rows of one line table; the largest unit seen has about 3 million. */
#define LIMIT_LINE_ROWS     LIMIT(64000000)
/* Companion files, such as the .dwo files of split units: each takes a descriptor and a mapping,
 * and this is half of what a process may have open by default. Larger programs come with a .dwp
 * file. */
#define LIMIT_COMPANIONS    LIMIT(256)
/* Bytes of notes about what a build could not read, as a table keeps them: some 2,000 notes. All
 * are counted. */
#define LIMIT_SKIPPED_LEN   LIMIT(262144)
/* Names of companions that a file asks for, in bytes. */
#define LIMIT_MISSING_LEN   LIMIT(1048576)
/* Addresses that one build without a stored table answers; a whole table serves more of them
 * better. */
#define LIMIT_WANTED        LIMIT(65536)
/* A symbol name; the longest mangled names in the wild are about 60 KB. */
#define LIMIT_NAME_LEN      LIMIT(65536)
/* A demangled name: a longer one stays mangled. */
#define LIMIT_DEMANGLE_OUT  LIMIT(16384)

/* --- table worker ---------------------------------------------------------------------------- */
#define LIMIT_WORKER_MEMORY      (8 * GIB)      /* RLIMIT_AS, with the mapping of the input */
#define LIMIT_WORKER_CPU_SECONDS LIMIT(600)     /* RLIMIT_CPU */
#define LIMIT_WORKER_WALL_MS     LIMIT(1800000) /* from start to reply */
/* A worker at idle priority may starve this long before it continues at nice 10 (worker_class.h).
 */
#define LIMIT_WORKER_STARVED_MS  LIMIT(2000)
/* Differences that a verification prints; all are counted. */
#define LIMIT_VERIFY_PRINTED     LIMIT(100)
#define LIMIT_TABLE_LEN          (4 * GIB) /* RLIMIT_FSIZE; offsets in a table are 32 bits */

/* --- requests -------------------------------------------------------------------------------- */
/* This is gRPC's own default for a received message, so clients need no configuration. */
#define LIMIT_MESSAGE_LEN       (4 * MIB)
/* A reply stays below LIMIT_MESSAGE_LEN with room for framing; what does not fit is deferred. */
#define LIMIT_REPLY_LEN         (3 * MIB + MIB / 2)
#define LIMIT_REPLY_MEMORY      (64 * MIB) /* one reply before it is packed */
/* Calls of one connection at the same time: a quarter of those of all connections together. */
#define LIMIT_CONNECTION_CALLS  LIMIT(128)
#define LIMIT_METADATA_LEN      LIMIT(16384) /* headers of a call; gRPC's own default is 8 KiB */
/* The dictionaries of one SymbolizeStream call. */
#define LIMIT_STREAM_MEMORY     (32 * MIB)
#define LIMIT_BATCH_LOCATIONS   LIMIT(65536)
#define LIMIT_BATCH_MODULES     LIMIT(8192)
#define LIMIT_BATCH_STRINGS     LIMIT(65536)
#define LIMIT_RESOLVE_ADDRESSES LIMIT(1024)
#define LIMIT_STRING_LEN        LIMIT(65536) /* one string of a request */
#define LIMIT_BATCH_ID_LEN      LIMIT(64)
#define LIMIT_PATH_LEN          LIMIT(4096) /* PATH_MAX */
/* The pieces that our client sends; the service takes pieces of up to LIMIT_MESSAGE_LEN. */
#define LIMIT_UPLOAD_CHUNK      MIB
#define LIMIT_UPLOAD_LEN        LIMIT_ELF_FILE_LEN
/* When there is no room for another upload, one that nobody continues is dropped: after this time
 * the longest silent one of the client that has the most uploads, and more than the client that
 * wants to upload; otherwise one that has received nothing since it was begun. */
#define LIMIT_UPLOAD_EMPTY_NS   LIMIT(2000000000)
/* Builds of one upload that began and did not end, because the service was stopped or killed. After
 * so many the service no longer builds it by itself, because a build that kills the service would
 * do so at each start. */
#define LIMIT_UPLOAD_TRIES      LIMIT(3)
/* Tables whose checksums are compared in one round of maintenance: 10 GB in forty minutes. */
#define LIMIT_SCRUB_LEN         (256 * MIB)
/* Bytes that uploads leave free on the disk of the data directory. */
#define LIMIT_DISK_FLOOR        (256 * MIB)
#define LIMIT_PAGE              LIMIT(1000) /* rows of one page of List or Missing */
#define LIMIT_MISSING_IDS       LIMIT(10000)
#define LIMIT_BINARY_META_LEN   LIMIT(65536) /* name, labels and report of one binary */
#define LIMIT_LABELS            LIMIT(32)    /* labels of one binary */
#define LIMIT_LABEL_LEN         LIMIT(256)

/* --- spool and samples ----------------------------------------------------------------------- */
#define LIMIT_STACK_FRAMES  LIMIT(256)     /* 127 user and 127 kernel frames, and a pseudo frame */
#define LIMIT_SPOOL_RECORD  LIMIT(1048576) /* payload of one record */
/* Offsets in a segment are 32 bits with room to spare, and a reader's tables stay in memory. */
#define LIMIT_SPOOL_SEGMENT (64 * MIB)
/* Segments in one directory: 256 GiB of the default length. */
#define LIMIT_SPOOL_FILES   LIMIT(65536)

/* --- profiles -------------------------------------------------------------------------------- */
/* A compressed pprof file; those of whole-fleet stores reach some 50 MB. */
#define LIMIT_PPROF_FILE_LEN   (256 * MIB)
/* A pprof file after decompression. */
#define LIMIT_PPROF_LEN        (1 * GIB)
/* Entries and bytes of one table (strings, locations, stacks, ...) of a profile in memory. */
#define LIMIT_PROFILE_ENTRIES  LIMIT(33554432)
#define LIMIT_PROFILE_BYTES    (2 * GIB)
#define LIMIT_PROFILE_COMMENTS LIMIT(1024)
/* Frames of one stack in a foreign profile, which may show a runaway recursion; our samplers store
 * LIMIT_STACK_FRAMES. */
#define LIMIT_PROFILE_STACK    LIMIT(65536)
#define LIMIT_PROFILE_LABELS   LIMIT(64) /* labels of one sample */
/* A name in a profile: generated code has demangled names of 100 KB. A line of text has no end. */
#define LIMIT_PROFILE_STRING   MIB
#define LIMIT_PROFILE_VALUES   LIMIT(16) /* sample types */
/* A perf.data file, the text of perf script, or folded stacks: the file is mapped, not held. Two
 * CPUs at 999 Hz with stacks make some 2 GiB in an hour, and ten times that as text. */
#define LIMIT_PERF_DATA_LEN    (64 * GIB)
#define LIMIT_PERF_PIDS        LIMIT(4194304) /* the kernel's own ceiling, PID_MAX_LIMIT */
#define LIMIT_PERF_OBJECTS     LIMIT(1048576) /* mapped files of one recording */

/* --- what processes of the host make the sampler hold ---------------------------------------- */
/* Mappings that the sampler keeps for one process, and reads from it at once: 50 are usual, JITs
 * make some thousand. It looks up addresses in other mappings one by one. */
#define LIMIT_PROC_MAPPINGS      LIMIT(4096)
/* Loaded kernel modules; distributions' kernels have some 200 at a time. */
#define LIMIT_KERNEL_MODULES     LIMIT(4096)
/* Program headers, and section headers, that are searched for a build id: linkers write a dozen and
 * some forty. */
#define LIMIT_NOTE_HEADERS       LIMIT(256)
/* Addresses of a perf map that the helper names at a time, so that an answer is one write to a
 * pipe. */
#define LIMIT_PERF_MAP_ROWS      16
/* The same after a process ended: the answer is one packet, below a socket's default buffer. */
#define LIMIT_PERF_MAP_LATE_ROWS 512
/* Processes whose perf map the helper keeps, with two descriptors for each, of 1,024. */
#define LIMIT_PERF_MAPS_KEPT     128

#endif
