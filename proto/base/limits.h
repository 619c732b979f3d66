/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of other libraries that ask for the system's <limits.h> find this file first. */
#include_next <limits.h>
#ifndef RAWSTACK_LIMITS_H
#define RAWSTACK_LIMITS_H
/*
 * Every amount that a file or a peer controls, with the reason of its value. What concerns clients
 * is advertised by Binaries.Limits. 64-bit constants, so that arithmetic with them is. Elsewhere
 * stand ceilings of what we make ourselves, and what a format's fields can hold.
 */
#include <stdint.h>

#define LIMIT(n) UINT64_C(n)
#define MIB      (UINT64_C(1) << 20)
#define GIB      (UINT64_C(1) << 30)

/* --- ELF and DWARF input --------------------------------------------------------------------- */
/* The largest debug files known (browsers, vendor kernels) are 5 to 9 GB. */
#define LIMIT_ELF_FILE_LEN   (16 * GIB)
/* Section counts above 2^16 need the extended numbering of ELF and exist only with
 * -ffunction-sections in relocatable files. */
#define LIMIT_ELF_SECTIONS   LIMIT(262144)
/* One section after decompression: what a worker may have to map. */
#define LIMIT_SECTION_LEN    (8 * GIB)
/* zlib cannot exceed 1:1032 and zstd goes far above; real DWARF stays below 1:20. */
#define LIMIT_INFLATE_RATIO  LIMIT(1100)
/* Symbols only: 1 % of the file they are of. A decoder of `xz -9` takes 65 MiB. */
#define LIMIT_MINI_DEBUG_LEN (256 * MIB)
#define LIMIT_XZ_MEMORY      (128 * MIB)
/* A note section or segment: build ids, ABI tags, the kernel's ELF notes; 1 KiB in practice. */
#define LIMIT_NOTE_LEN       MIB
/* PT_LOAD segments; linkers make 2 to 6, kernels and patched files some more. A lookup by file
 * offset looks at each. */
#define LIMIT_SEGMENTS       LIMIT(128)
/* Executable ones that a host tells of a file: linkers make one. Of 2,510 programs and libraries of
 * a machine two have three. */
#define LIMIT_FILE_SEGMENTS  8
/* Address ranges of the functions and inlined calls of one unit; the largest unit seen has 0.4
 * million. Many entries may share one range list, so the file's length does not bound them. */
#define LIMIT_UNIT_SPANS     LIMIT(16000000)
/* How many times over all range lists, line tables and split units of a file are read, for units
 * and functions may share them: producers refer to each once (1.25 times is the most that was
 * seen); and bytes that may be read so often in any case. */
#define LIMIT_REPEATS        LIMIT(8)
#define LIMIT_REPEATS_FREE   LIMIT(16384)
/* Code sections of a relocatable file whose places a table keeps; kernel modules have some ten. */
#define LIMIT_CODE_SECTIONS  LIMIT(4096)
/* Units with a header that cannot be read, after which the rest is left out: of zeros, every four
 * bytes are one. */
#define LIMIT_UNITS_SKIPPED  LIMIT(100000)
/* A type signature as text; and references from type to type in it, where real ones have 5. */
#define LIMIT_TYPE_LEN       LIMIT(4096)
#define LIMIT_TYPE_HOPS      LIMIT(32)
/* Abbreviations in one table; link-time optimisation and dwz reach some ten thousand. */
#define LIMIT_ABBREVS        LIMIT(1000000)
/* Depth of the DIE tree; template-heavy C++ reaches about 60. */
#define LIMIT_DIE_DEPTH      LIMIT(1024)
/* Inlined calls above one address; the deepest seen in real code is about 110. */
#define LIMIT_INLINE_DEPTH   LIMIT(512)
/* Hops along DW_AT_abstract_origin and DW_AT_specification; real chains have 1 to 4. */
#define LIMIT_ORIGIN_HOPS    LIMIT(16)
/* Rows of one line table; the largest unit seen has about 3 million. */
#define LIMIT_LINE_ROWS      LIMIT(64000000)
/* Files that go with one: .dwo files of its split units, each with a descriptor and a mapping; half
 * of what a process may have open by default. Larger programs come with a .dwp file. */
#define LIMIT_COMPANIONS     LIMIT(256)
/* What a build could not read, as a table keeps it: some 2,000 notes; all are counted. */
#define LIMIT_SKIPPED_LEN    LIMIT(262144)
/* Names of companions that a file asks for, in bytes. */
#define LIMIT_MISSING_LEN    LIMIT(1048576)
/* Addresses of a build that is not to be kept; more are better served by a whole table. */
#define LIMIT_WANTED         LIMIT(65536)
/* A symbol name; the longest mangled names in the wild are about 60 KB. */
#define LIMIT_NAME_LEN       LIMIT(65536)

/* --- demangling ------------------------------------------------------------------------------ */
/* Longer names stay mangled: expansion is up to exponential in their length. */
#define LIMIT_DEMANGLE_IN  LIMIT(4096)
#define LIMIT_DEMANGLE_OUT LIMIT(16384)
/* Texts of a table's names: ten times those of the largest programs. A table of more has none. */
#define LIMIT_SHOWN_LEN    (256 * MIB)

/* --- table worker ---------------------------------------------------------------------------- */
#define LIMIT_WORKER_MEMORY        (8 * GIB) /* RLIMIT_AS, the input's mapping included */
#define LIMIT_WORKER_CPU_SECONDS   LIMIT(600)
/* What one may take of both for the files that it is given: so much, and so much more for each byte
 * or MiB of them. Real debug files, compressed ones included, take 1 to 5 bytes for each of theirs
 * and 15 ms for each MiB; a file of 19 KB can ask for 6 GiB, and one of 3 MB for minutes. */
#define LIMIT_WORKER_MEMORY_LEAST  (512 * MIB)
#define LIMIT_WORKER_MEMORY_FACTOR LIMIT(16)
#define LIMIT_WORKER_CPU_LEAST     LIMIT(20)
#define LIMIT_WORKER_CPU_PER_MIB   LIMIT(1)
/* Looking at the headers of a file, or validating a table that a client built: a table of 1 GiB
 * takes 4 s. */
#define LIMIT_INSPECT_CPU_SECONDS  LIMIT(60)
#define LIMIT_WORKER_WALL_MS       LIMIT(1800000)
/* A worker at idle priority that in so long had less than this part of a processor (one of so many)
 * goes on at nice 10: a build then waits that long for its turn, and not until the night. */
#define LIMIT_WORKER_STARVED_MS    LIMIT(2000)
#define LIMIT_WORKER_STARVED_SHARE LIMIT(10)
/* Differences that a verification spells out; all are counted. */
#define LIMIT_VERIFY_PRINTED       LIMIT(100)
#define LIMIT_TABLE_LEN            (4 * GIB) /* RLIMIT_FSIZE; offsets in a table are 32 bits */

/* --- requests -------------------------------------------------------------------------------- */
/* gRPC's own default for a received message; clients need not be configured. */
#define LIMIT_MESSAGE_LEN       (4 * MIB)
/* A reply stays below it with room for framing; what does not fit is deferred. */
#define LIMIT_REPLY_LEN         (3 * MIB + MIB / 2)
/* One request once unpacked: a message of 2-byte submessages grows forty-fold. */
#define LIMIT_REQUEST_MEMORY    (64 * MIB)
#define LIMIT_REPLY_MEMORY      (64 * MIB) /* of one reply before it is packed */
/* Names and paths that one reply, or all of one stream, may have. */
#define LIMIT_REPLY_NAMES_LEN   (16 * MIB)
/* Bytes of a table's texts that one reply unpacks: first for all of its locations, where 65,536
 * names of real tables take 30 MiB; then for those that are answered one by one, for there was no
 * room in advance. Tables may have texts of 2 MiB in each block of a few packed bytes. */
#define LIMIT_REPLY_UNPACKED    (256 * MIB)
#define LIMIT_REPLY_UNPACKED_1  (64 * MIB)
/* Calls at a time: each may hold one message. Of one connection: a quarter. */
#define LIMIT_CALLS             LIMIT(512)
#define LIMIT_CONNECTION_CALLS  LIMIT(128)
/* Descriptors that connections leave to the store, to uploads (one each, and one for who takes it
 * over), to workers and their companions; a quarter of all stays for connections in any case. */
#define LIMIT_OWN_DESCRIPTORS   LIMIT(640)
/* Connections, if there are descriptors for so many: 21 KB each. */
#define LIMIT_CONNECTIONS       LIMIT(16384)
/* When there is no place for a call, the oldest one goes in which nothing was asked yet, or one in
 * which so long nothing more was. */
#define LIMIT_CALL_IDLE_NS      LIMIT(60000000000)
/* Replies that are queued or on their way to their readers, of all calls: some seventy full ones.
 * Beyond it who has read none of his for 5 s is given up, or the next one is refused; small ones
 * always go. */
#define LIMIT_UNREAD_LEN        (256 * MIB)
#define LIMIT_UNREAD_NS         LIMIT(5000000000)
#define LIMIT_SMALL_REPLY       LIMIT(65536)
/* Calls at a time that wait for the end of a build; the others are told that it is not over. */
#define LIMIT_FINISH_WAITS      LIMIT(64)
#define LIMIT_METADATA_LEN      LIMIT(16384) /* headers of a call; gRPC's own default is 8 KiB */
/* Frames of HTTP/2 that cost the server much more than the client: calls that are taken back,
 * settings, frames without content. So many at once and so many more each second, of one
 * connection; nghttp2 takes a thousand at once, too. A call that was taken back holds 8 KB until a
 * thread has seen it. When all connections together sent so many, one is left LIMIT_RESETS_EACH. */
#define LIMIT_RESETS            LIMIT(1000)
#define LIMIT_RESETS_1S         LIMIT(100)
#define LIMIT_RESETS_ALL        LIMIT(8000)
#define LIMIT_RESETS_ALL_1S     LIMIT(2000)
#define LIMIT_RESETS_EACH       LIMIT(16)
/* Pings: some clients measure the line with them as long as replies come. */
#define LIMIT_PINGS             LIMIT(2000)
#define LIMIT_PINGS_1S          LIMIT(1000)
/* Updates of windows: a client sends one or two for each reply that it has read. */
#define LIMIT_WINDOW_UPDATES    LIMIT(50000)
#define LIMIT_WINDOW_UPDATES_1S LIMIT(20000)
/* What the transport holds of messages that arrive, of all connections together: a quarter of what
 * LIMIT_CALLS could. Beyond it gRPC ends calls, of whomever. */
#define LIMIT_TRANSPORT_MEMORY  (512 * MIB)
/* Requests that wait for a worker: in number, and together in bytes. */
#define LIMIT_QUEUE_JOBS        LIMIT(256)
#define LIMIT_QUEUE_LEN         (64 * MIB)
#define LIMIT_CALL_REPLIES      LIMIT(64) /* of one call, that wait for a slow reader */
/* Names and paths kept from one request for the next; twice those of a large program. */
#define LIMIT_NAME_CACHE        (20 * MIB)
#define LIMIT_IDLE_REPLIES      (24 * MIB) /* memory of replies that waits for the next request */
/* Watches at a time, a quarter of all calls; ids named in them, both shared equally by clients; ids
 * whose event waits for one slow reader. */
#define LIMIT_WATCHES           LIMIT(128)
#define LIMIT_WATCHED_IDS       LIMIT(262144)
#define LIMIT_WATCH_PENDING     LIMIT(8192)
#define LIMIT_STREAMS           LIMIT(256) /* SymbolizeStream calls at a time: half of all calls */
/* Dictionaries of one SymbolizeStream, and of all of them. */
#define LIMIT_STREAM_MEMORY     (32 * MIB)
#define LIMIT_STREAMS_MEMORY    (128 * MIB)
#define LIMIT_BATCH_LOCATIONS   LIMIT(65536)
#define LIMIT_BATCH_MODULES     LIMIT(8192)
#define LIMIT_BATCH_STRINGS     LIMIT(65536)
#define LIMIT_BATCH_FRAMES      LIMIT(524288) /* of stacks: the shipper has each five times over */
#define LIMIT_RESOLVE_ADDRESSES LIMIT(1024)
#define LIMIT_STRING_LEN        LIMIT(65536) /* one string of a request */
#define LIMIT_BATCH_ID_LEN      LIMIT(64)
#define LIMIT_PATH_LEN          LIMIT(4096) /* PATH_MAX */
#define LIMIT_UPLOAD_CHUNK      MIB         /* what our client sends; up to a message is taken */
#define LIMIT_UPLOAD_LEN        LIMIT_ELF_FILE_LEN
#define LIMIT_UPLOADS           LIMIT(256) /* begun and not finished */
/* The uploads of one client: the last quarter of the places is for others. */
#define LIMIT_CLIENT_UPLOADS    LIMIT(192)
/* Tickets that wait for their build. A ticket is kept whoever comes, so the other half of the
 * places can be taken from who has several, for one who has none. */
#define LIMIT_UPLOAD_TICKETS    LIMIT(128)
#define LIMIT_UPLOAD_IDLE_NS    LIMIT(86400000000000) /* a day: then a part is dropped */
/* When there is no room for another upload, what nobody continues goes: first of the client that
 * has the most of them and more than who asks, that of the longest silence, if 2 s brought nothing;
 * then one that was begun and no more after 2 s, any after a minute, in which a client that was cut
 * off is back. */
#define LIMIT_UPLOAD_EMPTY_NS   LIMIT(2000000000)
#define LIMIT_UPLOAD_SPARE_NS   LIMIT(60000000000)
/* An id is one upload's for so long, counted over all that follow each other; then others go on
 * beside it. Less than the minute in which `rawstack push` goes on asking. */
#define LIMIT_UPLOAD_ALONE_NS   LIMIT(30000000000)
/* A stream that brings less than this in a minute holds its upload against nobody. */
#define LIMIT_UPLOAD_STALL_NS   LIMIT(60000000000)
#define LIMIT_UPLOAD_PROGRESS   LIMIT(16384)
/* What uploads are still to bring counts against other clients as far as they go in ten minutes at
 * their pace of the last ten or twenty seconds, and a piece more: one that trickles has no disk. */
#define LIMIT_UPLOAD_AHEAD_NS   LIMIT(600000000000)
#define LIMIT_UPLOAD_PACE_NS    LIMIT(10000000000)
#define LIMIT_UPLOAD_WINDOW     MIB
/* Builds of one upload that began and did not end, for the service was stopped or killed; it is
 * built no more then by itself, or one that ends the service would do so at each start. */
#define LIMIT_UPLOAD_TRIES      LIMIT(3)
/* After which one is built again that found no room, for the store was being copied. */
#define LIMIT_POSTPONED_NS      LIMIT(5000000000)
/* The smallest budget of a store: its own trees, and a table or two. */
#define LIMIT_STORE_MIN         (MIB / 2)
/* Tables whose checksums are compared in one round of maintenance: 10 GB in forty minutes. */
#define LIMIT_SCRUB_LEN         (256 * MIB)
/* Files kept to be used again, in number, and by default in bytes: they wait for the file that goes
 * with them. */
#define LIMIT_KEPT_FILES        LIMIT(100000)
#define LIMIT_KEPT_LEN          (2 * GIB)
#define LIMIT_REBUILDS          LIMIT(100000) /* tables that wait to be made again */
/* What uploads leave free on the disk of the data directory. */
#define LIMIT_DISK_FLOOR        (256 * MIB)
#define LIMIT_PAGE              LIMIT(1000) /* rows of one page of List or Missing */
#define LIMIT_MISSING_IDS       LIMIT(10000)
#define LIMIT_BATCH_IDS         LIMIT(16384)  /* remembered, so that Missing counts each once */
#define LIMIT_TOMBSTONES        LIMIT(100000) /* ids without a table whose fate is remembered */
#define LIMIT_BINARY_META_LEN   LIMIT(65536)  /* name, labels and report of one binary */
#define LIMIT_LABELS            LIMIT(32)     /* of one binary */
#define LIMIT_LABEL_LEN         LIMIT(256)

/* --- spool and samples ----------------------------------------------------------------------- */
#define LIMIT_STACK_FRAMES      LIMIT(256) /* 127 user and 127 kernel frames, and a pseudo frame */
#define LIMIT_SPOOL_RECORD      LIMIT(1048576) /* payload of one record */
/* Offsets in a segment are 32 bits with room to spare, and a reader's tables stay in memory. */
#define LIMIT_SPOOL_SEGMENT     (64 * MIB)
/* Below it the largest single sample would not fit beside a header. */
#define LIMIT_SPOOL_SEGMENT_MIN LIMIT(65536)
/* Entries of one dictionary of a segment, and bytes of their keys in memory: then the segment ends,
 * which a machine that starts a compiler at every moment does after half a minute at 999 Hz. */
#define LIMIT_SPOOL_DICT        LIMIT(32768)
#define LIMIT_SPOOL_DICT_LEN    (2 * MIB)
/* Segments in one directory: 256 GiB of the default length. */
#define LIMIT_SPOOL_FILES       LIMIT(65536)
/* Records that wait for a disk that does not answer: at 999 Hz on 64 CPUs about two seconds. */
#define LIMIT_SPOOL_QUEUE       (4 * MIB)
/* Batches that wait for names to come: at one in ten seconds, a day and a half; what is remembered
 * of them in a file. */
#define LIMIT_REDELIVER         LIMIT(16384)
#define LIMIT_REDELIVER_LEN     (16 * MIB)
/* Batches in one directory of a sink: at one in ten seconds, four months. */
#define LIMIT_SINK_FILES        LIMIT(1048576)
/* Names that became known after their samples were stored, as a reader keeps them: those of five
 * processes with 4,096 functions each, at 500 bytes. */
#define LIMIT_SPOOL_LATE_LEN    (16 * MIB)
/* Bytes checksummed in vain while looking for the next whole record of one damaged segment. */
#define LIMIT_SPOOL_RESYNC      (256 * MIB)

/* --- profiles -------------------------------------------------------------------------------- */
/* A compressed pprof file; those of whole-fleet stores reach some 50 MB. */
#define LIMIT_PPROF_FILE_LEN   (256 * MIB)
/* What one inflates to, absolutely and per compressed byte: real ones stay below 1:30. */
#define LIMIT_PPROF_LEN        (1 * GIB)
#define LIMIT_PPROF_RATIO      LIMIT(256)
/* Entries and bytes of one table (strings, locations, stacks, ...) of a profile in memory. */
#define LIMIT_PROFILE_ENTRIES  LIMIT(33554432)
#define LIMIT_PROFILE_BYTES    (2 * GIB)
#define LIMIT_PROFILE_MODULES  LIMIT(262144)
#define LIMIT_PROFILE_COMMENTS LIMIT(1024)
/* Frames of one stack in a foreign profile: runaway recursion, not only our samplers' 256. */
#define LIMIT_PROFILE_STACK    LIMIT(65536)
#define LIMIT_PROFILE_LABELS   LIMIT(64) /* of one sample */
/* A name in a profile: generated code has some of 100 KB, demangled. Lines of text have no end. */
#define LIMIT_PROFILE_STRING   MIB
#define LIMIT_PROFILE_VALUES   LIMIT(16) /* sample types */
/* Frames, called one from another, that one stack unfolds to with its inlined calls. */
#define LIMIT_PROFILE_FRAMES   LIMIT(131072)
/* What all samples together unfold to: so many frames in any case, and so many for each location
 * that they name. Real profiles have 1 to 4 inlined calls there; a file of 3 KB can ask for
 * hundreds of millions. */
#define LIMIT_UNFOLDED_FREE    LIMIT(16777216)
#define LIMIT_UNFOLDED_FACTOR  LIMIT(32)
/* A perf.data file, the text of perf script, folded stacks: mapped, not held. An hour of two CPUs
 * at 999 Hz with stacks takes some 2 GiB, as text ten times that. */
#define LIMIT_PERF_DATA_LEN    (64 * GIB)
/* What perf compressed (-z) is expanded in memory; samples of an idle machine shrink to a
 * hundredth. */
#define LIMIT_PERF_EXPANDED    (4 * GIB)
#define LIMIT_PERF_RATIO       LIMIT(1024)
/* What it tells of: kinds of events, their ids (one for each CPU), records, processes, mapped
 * files, and mappings of all processes together. */
#define LIMIT_PERF_ATTRS       LIMIT(4096)
#define LIMIT_PERF_IDS         LIMIT(1048576)
#define LIMIT_PERF_RECORDS     LIMIT(134217728)
#define LIMIT_PERF_PIDS        LIMIT(4194304) /* the kernel's own ceiling, PID_MAX_LIMIT */
#define LIMIT_PERF_OBJECTS     LIMIT(1048576)
#define LIMIT_PERF_MAPPINGS    LIMIT(16777216)
/* Records of perf script text that the counts of a profile are unfolded to: some 5 GiB; and so many
 * for each row, or in any case, for 15 bytes can count millions. */
#define LIMIT_SCRIPT_RECORDS   LIMIT(16777216)
#define LIMIT_SCRIPT_PER_ROW   LIMIT(256)
#define LIMIT_SCRIPT_FREE      LIMIT(65536)

/* --- files that commands are given or find --------------------------------------------------- */
/* /proc/PID/maps as text: LIMIT_MAPPINGS lines, few of which are long. */
#define LIMIT_MAPS_LEN       (64 * MIB)
/* A kernel with all its modules has some 20 MB of symbols. */
#define LIMIT_KALLSYMS_LEN   (256 * MIB)
/* A source file whose lines are shown; amalgamated ones reach 10 MB. */
#define LIMIT_SOURCE_LEN     (32 * MIB)
/* A schema of a file format, one field a line; ours have 10 KB. */
#define LIMIT_SCHEMA_LEN     (4 * MIB)
/* Where batches go, one rule a line: some hundred services. */
#define LIMIT_ROUTE_FILE_LEN LIMIT(65536)

/* --- what processes of the host make the sampler hold ---------------------------------------- */
/* Events between two polls: the rings hold fewer. */
#define LIMIT_EVENTS             LIMIT(1048576)
#define LIMIT_EVENTS_LEN         (64 * MIB)
/* /proc/stat: a line for each CPU, and a number for each interrupt; 60 KB on the largest machines.
 */
#define LIMIT_PROC_STAT_LEN      MIB
/* /sys/devices/system/cpu/online: ranges of CPUs; of 8,192 of which every other one is off. */
#define LIMIT_CPU_LIST_LEN       LIMIT(32768)
/* Ten times what kernel.pid_max is by default on small machines. */
#define LIMIT_PROCS              LIMIT(65536)
/* Executable mappings of one process; vm.max_map_count is 65530 by default. */
#define LIMIT_MAPPINGS           LIMIT(65536)
/* Mappings that the sampler keeps for one process, and reads from it at once: 50 are usual, JITs
 * make some thousand. It looks up addresses elsewhere one by one. The second limit is in bytes and
 * for all processes: beyond it the largest tables are forgotten. */
#define LIMIT_PROC_MAPPINGS      LIMIT(4096)
#define LIMIT_PROCS_MAPPINGS_LEN (64 * MIB)
/* Symbols of BPF programs and modules in /proc/kallsyms that are kept. */
#define LIMIT_HOST_SYMBOLS       LIMIT(262144)
/* Bytes of ELF notes read in search of a build id: it stands among the first. */
#define LIMIT_NOTES_LEN          LIMIT(65536)
/* Modules loaded; distributions' kernels have some 200 at a time. */
#define LIMIT_KERNEL_MODULES     LIMIT(4096)
/* Types of the running kernel: 130,000 in 6 MB, and modules beside. */
#define LIMIT_KERNEL_TYPES       LIMIT(4194304)
#define LIMIT_KERNEL_TYPES_LEN   INT64_C(134217728)
/* Program headers looked at for it, and section headers; linkers write a dozen, and some forty. */
#define LIMIT_NOTE_HEADERS       LIMIT(256)
/* Samples that wait for the id of a file: of 2 KiB each at most. */
#define LIMIT_PENDING_SAMPLES    LIMIT(2048)
/* Raw stacks and threads whose place in the spool is remembered: those of a busy minute. */
#define LIMIT_CACHED_STACKS      LIMIT(8192)
#define LIMIT_CACHED_STACKS_LEN  (2 * MIB)
#define LIMIT_CACHED_THREADS     LIMIT(4096)
/* Groups of processes whose paths are kept; kubernetes makes a few for each container. */
#define LIMIT_CGROUPS            LIMIT(16384)
/* Rules that name services, and the file they stand in. */
#define LIMIT_SERVICE_RULES      LIMIT(4096)
#define LIMIT_SERVICE_FILE_LEN   MIB
/* What opening and reading one file may take before it is given up. */
#define LIMIT_FILE_MS            1000
/* A perf map: those of large JITs reach some 50 MB. Addresses asked for at a time, so that an
 * answer is one write to a pipe; ranges kept of one process. */
#define LIMIT_PERF_MAP_LEN       (128 * MIB)
#define LIMIT_PERF_MAP_ROWS      16
#define LIMIT_JIT_RANGES         LIMIT(4096)
/* Addresses asked for at a time when a process ended: the answer is one packet, below what a socket
 * takes by default. Nameless places remembered of one process, and of all; processes whose map is
 * waited for, of each of which the reader of files has two descriptors, of 1,024. */
#define LIMIT_PERF_MAP_LATE_ROWS 512
#define LIMIT_JIT_NAMELESS       LIMIT(4096)
#define LIMIT_JIT_NAMELESS_ALL   LIMIT(131072)
#define LIMIT_PERF_MAPS_KEPT     128
/* Ids that the reader of files remembers. */
#define LIMIT_FILE_CACHE         LIMIT(1024)
/* Build ids whose files' segments are remembered, some 130 bytes each: binaries that a host runs in
 * a while. Modules that wait for theirs, and those that the helper is asked for at a time: the rest
 * of its slots is for what samples wait for. */
#define LIMIT_SEGMENT_CACHE      LIMIT(2048)
#define LIMIT_SEGMENTS_WANTED    LIMIT(256)
#define LIMIT_SEGMENTS_ASKED     LIMIT(32)
/* Its workers that hang in the kernel though they were killed; then no more files are read. */
#define LIMIT_FILE_WORKERS_STUCK LIMIT(8)
/* Processes whose mappings are read from /proc in one poll, 50 us each: in the long run, and at
 * once, as when sampling begins or records were lost. */
#define LIMIT_SCANS              LIMIT(64)
#define LIMIT_SCANS_BURST        LIMIT(2048)
/* CPU time that reading them takes at once, in ns (in the long run it is CPU_BUDGET_SHARE): on a
 * machine with forty times as much to do as it can, samples still fit into their rings meanwhile.
 * Half of it is for processes that take less than a millisecond. When the other half is used up, so
 * many mappings of one are read, and of each process again when so many times what it took has
 * passed. */
#define LIMIT_SCANS_CPU_NS       INT64_C(100000000)
#define LIMIT_SCAN_SMALL_NS      LIMIT(1000000)
#define LIMIT_SCAN_FEW           LIMIT(128)
#define LIMIT_SCAN_DISTANCE      LIMIT(512)
/* Addresses that are asked for in a poll, 2 us each, where a process has more mappings than are
 * kept or they have not been read yet: of one process, and of all. */
#define LIMIT_FINDS              64
#define LIMIT_FINDS_ALL          LIMIT(4096)
/* Files of processes that the kernel is asked to name, 8 us each, likewise. */
#define LIMIT_ID_ASKS            LIMIT(256)
#define LIMIT_ID_ASKS_BURST      LIMIT(4096)
/* Processes whose mappings are checked in a poll, 5 us each; and of each so many. */
#define LIMIT_CHECKS             LIMIT(64)
#define LIMIT_CHECKED_MAPPINGS   LIMIT(32)
/* Targets named with --pid; the size of the kernel's set. */
#define LIMIT_TARGET_PIDS        LIMIT(1024)
/* Targets and the processes they have started already. */
#define LIMIT_CHILDREN           LIMIT(8192)

#endif
