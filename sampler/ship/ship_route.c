/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_route.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limits.h"

/* The routing file has one rule a line; this is room for some hundred services. */
#define LIMIT_ROUTE_FILE_LEN LIMIT(65536)

/* Replaces the servers by those of a list such as "A:1,B:2". Returns 0, or ERR_USAGE, which leaves
 * them as they are. */
static int set_servers(struct ship_route *r, const char *list, size_t len, struct err *err)
{
	struct ship_route to = {.file = r->file, .cluster = r->cluster};

	TRY(server_list_read(list, len, to.servers, &to.count, err));
	memcpy(to.stamp, r->stamp, sizeof(to.stamp));
	*r = to;
	return 0;
}

static bool same_servers(const struct ship_route *a, const struct ship_route *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->servers[i], b->servers[i]))
			return false;
	return true;
}

/* Returns the list of servers in the line of a cluster, or NULL if there is no such line. */
static const char *find_line(const char *text, const char *cluster, size_t *ret_len)
{
	const size_t want = strlen(cluster);

	while (*text) {
		size_t len = strcspn(text, "\n"), word, rest, n;
		const char *next = text + len + (text[len] == '\n');

		text += strspn(text, " \t");
		word = strcspn(text, " \t\n#");
		rest = word + strspn(text + word, " \t");
		n = strcspn(text + rest, " \t\r\n#");
		if (word == want && !memcmp(text, cluster, want) && n) {
			*ret_len = n;
			return text + rest;
		}
		text = next;
	}
	return NULL;
}

static int read_routes(struct ship_route *r, struct err *err)
{
	_cleanup_(freep) uint8_t *text = NULL;
	const char *list;
	size_t len;
	int rc;

	TRY(io_read_file(r->file, LIMIT_ROUTE_FILE_LEN, &text, &len, err));
	list = find_line((const char *)text, r->cluster, &len);
	if (!list)
		list = find_line((const char *)text, "*", &len);
	if (!list)
		return err_set(err, ERR_NOT_FOUND,
			       "%s: no line for cluster '%.60s', and none for *", r->file,
			       r->cluster);
	rc = set_servers(r, list, len, err);
	return rc ? err_prefix(err, "%s", r->file) : 0;
}

static void stamp_of(const char *file, uint64_t stamp[static 4])
{
	struct stat st;

	memset(stamp, 0, 4 * sizeof(*stamp));
	if (stat(file, &st))
		return;
	stamp[0] = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	stamp[1] = st.st_ino;
	stamp[2] = (uint64_t)st.st_size;
	stamp[3] = 1;
}

int ship_route_init(struct ship_route *r, const char *servers, const char *file,
		    const char *cluster, struct err *err)
{
	*r = (struct ship_route){.file = file, .cluster = cluster ? cluster : "*"};
	if (!file)
		return set_servers(r, servers, strlen(servers), err);
	stamp_of(file, r->stamp);
	return read_routes(r, err);
}

int ship_route_refresh(struct ship_route *r, struct err *err)
{
	struct ship_route before = *r;
	uint64_t stamp[4];

	if (!r->file)
		return 0;
	stamp_of(r->file, stamp);
	if (!memcmp(stamp, r->stamp, sizeof(stamp)))
		return 0;
	memcpy(r->stamp, stamp, sizeof(stamp));
	TRY(read_routes(r, err));
	if (!same_servers(r, &before))
		return 1;
	/* The file names the same servers as before, so the one in use stays. */
	memcpy(before.stamp, stamp, sizeof(stamp));
	*r = before;
	return 0;
}

const char *ship_route_server(struct ship_route *r, uint64_t now_ns)
{
	if (r->at && now_ns - r->left_first_ns >= SHIP_ROUTE_STAY_NS) {
		r->at = 0;
		r->failed_in_row = 0;
	}
	return r->servers[r->at];
}

void ship_route_good(struct ship_route *r)
{
	r->failed_in_row = 0;
}

void ship_route_use(struct ship_route *r, size_t at, uint64_t now_ns)
{
	if (at && !r->at)
		r->left_first_ns = now_ns;
	r->at = at;
	r->failed_in_row = 0;
}

bool ship_route_bad(struct ship_route *r, uint64_t now_ns)
{
	if (r->at == 0)
		r->left_first_ns = now_ns;
	r->at = (r->at + 1) % r->count;
	if (++r->failed_in_row < r->count)
		return true;
	r->failed_in_row = 0;
	return false;
}
