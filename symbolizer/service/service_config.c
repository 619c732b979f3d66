/* SPDX-License-Identifier: Apache-2.0 */
/* Applies what an operator can change in a running service, and tells clients its limits. */
#include "binary_meta.h"
#include "limits.h"
#include "rsym_format.h"
#include "service_priv.h"
#include "worker_class.h"

struct build_limits service_build_limits(const struct service_config *c)
{
	return (struct build_limits){
		.memory = c->build_memory ? c->build_memory : LIMIT_WORKER_MEMORY,
		.cpu_seconds =
			c->build_cpu_seconds ? c->build_cpu_seconds : LIMIT_WORKER_CPU_SECONDS,
		.wall_ms = c->build_wall_ms ? c->build_wall_ms : LIMIT_WORKER_WALL_MS,
	};
}

uint64_t service_kept_bytes(const struct service_config *c)
{
	return c->kept_bytes ? c->kept_bytes : LIMIT_KEPT_LEN;
}

void service_configure(struct service *s, const struct service_config *config)
{
	const struct build_limits limits = service_build_limits(config);

	pthread_mutex_lock(&s->lock);
	s->limits = limits;
	pthread_mutex_unlock(&s->lock);
	build_queue_configure(s->queue, &limits, config->keep_debug, config->keep_failed);
	kept_files_set_max(s->kept, service_kept_bytes(config));
	retention_set(s->retention, &config->retain);
}

void service_limits(struct service *s, Rawstack__V1__LimitsReply *reply)
{
	struct build_limits build;
	struct uploads_stat uploads;
	struct store_stat stat;

	pthread_mutex_lock(&s->lock);
	build = s->limits;
	pthread_mutex_unlock(&s->lock);
	store_stat(s->store, &stat);
	reply->message_bytes = LIMIT_MESSAGE_LEN;
	reply->reply_bytes = LIMIT_REPLY_LEN;
	reply->batch_locations = LIMIT_BATCH_LOCATIONS;
	reply->batch_modules = LIMIT_BATCH_MODULES;
	reply->batch_strings = LIMIT_BATCH_STRINGS;
	reply->string_bytes = LIMIT_STRING_LEN;
	reply->resolve_addresses = LIMIT_RESOLVE_ADDRESSES;
	reply->upload_bytes = LIMIT_UPLOAD_LEN;
	reply->upload_chunk_bytes = LIMIT_UPLOAD_CHUNK;
	reply->labels = LIMIT_LABELS;
	reply->label_bytes = LIMIT_LABEL_LEN;
	reply->page_rows = LIMIT_PAGE;
	reply->missing_ids = LIMIT_MISSING_IDS;
	reply->worker_memory_bytes = build.memory;
	reply->worker_cpu_seconds = build.cpu_seconds;
	reply->worker_wall_ms = build.wall_ms;
	reply->worker_starved_ms =
		worker_class_background() == WORKER_CLASS_IDLE ? LIMIT_WORKER_STARVED_MS : 0;
	reply->workers = s->builders;
	reply->store_bytes = stat.max_bytes;
	reply->store_used_bytes = stat.table_bytes + stat.other_bytes;
	reply->table_bytes = LIMIT_TABLE_LEN;
	reply->table_major = RSYM_MAJOR;
	reply->table_minor = RSYM_MINOR;
	uploads_stat(s->uploads, &uploads);
	reply->tables = stat.ready_count;
	reply->missing = stat.missing_count;
	reply->uploads = uploads.count;
	reply->uploads_building = uploads.building;
	reply->started_unix_ns = s->started_unix_ns;
	if (s->version)
		reply->version = binary_meta_text(s->version);
}
