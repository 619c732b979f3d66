/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_WIRE_H
#define RAWSTACK_PPROF_WIRE_H
/*
 * Field numbers of pprof's profile.proto (package perftools.profiles), shared by its reader and its
 * writer. Private to them.
 */
#include "protobuf_put.h"

enum pprof_profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum pprof_value_type_field {
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2
};

enum pprof_sample_field {
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3
};

enum pprof_label_field {
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_NUM_UNIT = 4
};

enum pprof_mapping_field {
	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILE_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};

enum pprof_location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LOCATION_IS_FOLDED = 5,
};

enum pprof_line_field {
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2
};

enum pprof_function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
	/* Rawstack's own, far from numbers that profile.proto may get; other readers skip them. */
	FUNCTION_DECL_FILE = 1001, /* string: file of the declaration, if it is another one */
	FUNCTION_START = 1002,     /* link-time address of the entry, if no declaration is known */
};

#endif
