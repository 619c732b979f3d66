/* SPDX-License-Identifier: Apache-2.0 */
#include "missing_shares.h"

#include <stdlib.h>

#include "bisect.h"

/* Orders rows by client, and the rows of one client by which is dropped first. */
static int compare_rows(const void *a, const void *b)
{
	const struct missing_row *x = a, *y = b;

	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	if (x->is_asked != y->is_asked)
		return x->is_asked ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return (x->last_ns > y->last_ns) - (x->last_ns < y->last_ns);
}

/* Returns the end of the rows of the client that has row `at`. */
static size_t end_of_client(const struct missing_row *rows, size_t count, size_t at)
{
	size_t end = at;

	while (end < count && rows[end].client == rows[at].client)
		end++;
	return end;
}

/* Returns how many rows stay if no client has more than `share`. */
static size_t count_within(const struct missing_row *rows, size_t count, size_t share)
{
	size_t sum = 0;

	for (size_t at = 0, end; at < count; at = end) {
		end = end_of_client(rows, count, at);
		sum += end - at < share ? end - at : share;
	}
	return sum;
}

/* Returns the largest share with which at most max rows stay. */
static size_t find_share(const struct missing_row *rows, size_t count, size_t max)
{
	return BISECT(max, i, count_within(rows, count, i + 1) <= max);
}

/* Returns how many of the sorted rows belong to the client. */
static size_t count_client(const struct missing_row *rows, size_t count, uint32_t client)
{
	size_t at = BISECT(count, i, rows[i].client < client);

	return at < count && rows[at].client == client ? end_of_client(rows, count, at) - at : 0;
}

static size_t count_clients(const struct missing_row *rows, size_t count)
{
	size_t clients = 0;

	for (size_t at = 0; at < count; at = end_of_client(rows, count, at))
		clients++;
	return clients;
}

/* Moves rows from clients that have more than an equal share to clients that ask for them and have
 * less. It first notes the new client of each row in `asked_by`, so that the rows stay sorted while
 * they are counted. */
static void move_to_askers(struct missing_row *rows, size_t count, size_t max)
{
	size_t equal = max / count_clients(rows, count);

	for (size_t at = 0, end; at < count; at = end) {
		end = end_of_client(rows, count, at);
		for (size_t i = at; i < end; i++)
			if (!rows[i].is_asked || end - at <= equal ||
			    count_client(rows, count, rows[i].asked_by) >= equal)
				rows[i].asked_by = rows[i].client;
	}
	for (size_t i = 0; i < count; i++)
		rows[i].client = rows[i].asked_by;
}

void missing_shares_cut(struct missing_row *rows, size_t count, size_t max)
{
	size_t share, spare;

	if (!count || count < max)
		return;
	qsort(rows, count, sizeof(*rows), compare_rows);
	move_to_askers(rows, count, max);
	qsort(rows, count, sizeof(*rows), compare_rows);
	share = find_share(rows, count, max);
	spare = max - count_within(rows, count, share);
	for (size_t at = 0, end; at < count; at = end) {
		size_t stay = share;

		end = end_of_client(rows, count, at);
		if (end - at > share && spare) {
			stay++;
			spare--;
		}
		for (size_t i = at; i + stay < end; i++)
			rows[i].gone = true;
	}
}
