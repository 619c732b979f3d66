/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include <pthread.h>

#include "intern.h"

enum {
	/* Open tables that are remembered; when there are more, all are opened anew. */
	LIMIT_OPEN_TABLES = 4096
};

struct tables {
	pthread_mutex_t lock;
	struct intern numbers; /* numbers of the store's writes */
	struct rsym *opened;   /* one for each of numbers */
	size_t opened_cap;
};

struct tables *tables_new(struct err *err)
{
	struct tables *t = calloc(1, sizeof(*t));

	if (!t) {
		err_no_memory(err);
		return NULL;
	}
	t->numbers =
		(struct intern)INTERN_INIT(LIMIT_OPEN_TABLES, LIMIT_OPEN_TABLES * sizeof(uint64_t));
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	intern_done(&t->numbers);
	free(t->opened);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Finds a table that is open. The bytes behind a number never change, but their place in the map
 * may. */
static bool find_open_table(struct tables *t, const struct store_table *table, struct rsym *ret)
{
	bool found = false;
	uint32_t i;

	pthread_mutex_lock(&t->lock);
	i = intern_find(&t->numbers, &table->number, sizeof(table->number));
	if (i != INTERN_FULL && t->opened[i].p == table->p && t->opened[i].len == table->len) {
		*ret = t->opened[i];
		found = true;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

static void keep_open_table(struct tables *t, uint64_t number, const struct rsym *opened)
{
	uint32_t i;

	pthread_mutex_lock(&t->lock);
	if (t->numbers.count == LIMIT_OPEN_TABLES)
		intern_reset(&t->numbers);
	if (GROW(t->opened, &t->opened_cap, t->numbers.count + 1, LIMIT_OPEN_TABLES)) {
		i = intern_add(&t->numbers, &number, sizeof(number), NULL);
		if (i != INTERN_FULL)
			t->opened[i] = *opened;
	}
	pthread_mutex_unlock(&t->lock);
}

int tables_get(struct tables *t, struct store_read *r, const struct build_id *id, struct rsym *ret,
	       uint64_t *ret_number, struct err *err)
{
	struct store_table table;
	int rc = store_table(r, id, &table, err);

	if (rc <= 0)
		return rc;
	*ret_number = table.number;
	if (find_open_table(t, &table, ret))
		return 1;
	rc = rsym_open_trusted(ret, table.p, table.len, err);
	if (rc)
		return err_set(err, ERR_DATA, "the stored table is not readable");
	keep_open_table(t, table.number, ret);
	return 1;
}
