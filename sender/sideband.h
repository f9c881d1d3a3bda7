/* The C interface of the sender: for C, and for every language that can call C. What each call means is in
 * sender/sender.h.
 *
 *   sideband_options options = SIDEBAND_OPTIONS_INIT;
 *   options.project = "digits";
 *   char error[256];
 *   sideband_run* run = sideband_open(&options, error, sizeof error);
 *   if (run == NULL) { fprintf(stderr, "%s\n", error); return 1; }
 *   sideband_scalar* loss = sideband_scalar_new(run, "train/loss");
 *   for (int64_t step = 0; step < steps; ++step) sideband_scalar_log(loss, step, train_step());
 *   sideband_finish(run, SIDEBAND_DEFAULT_DEADLINE, SIDEBAND_STATUS_FINISHED, NULL);
 *   sideband_close(run);
 *
 * Strings are UTF-8 and end with NUL; none is kept after the call. Any thread may call, but sideband_close only once
 * all others are done with the run. A NULL run or handle makes each call a no-op. Nothing throws or aborts.
 */
#ifndef SIDEBAND_H
#define SIDEBAND_H

#include <stddef.h>
#include <stdint.h>

#define SIDEBAND_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sideband_run sideband_run;
typedef struct sideband_scalar sideband_scalar;
typedef struct sideband_row sideband_row;

enum { SIDEBAND_POLICY_DROP_NEWEST = 0, SIDEBAND_POLICY_WAIT = 1 };
enum { SIDEBAND_LEVEL_INFO = 0, SIDEBAND_LEVEL_DEBUG = 1, SIDEBAND_LEVEL_WARNING = 2, SIDEBAND_LEVEL_ERROR = 3 };
enum { SIDEBAND_STATUS_FINISHED = 1, SIDEBAND_STATUS_FAILED = 2 };

/* A setting or a summary value. `type` says which member counts; JSON is in `text`. */
enum {
  SIDEBAND_NULL = 0,
  SIDEBAND_BOOL = 1, /* integer: 0 or 1 */
  SIDEBAND_INT = 2,
  SIDEBAND_DOUBLE = 3,
  SIDEBAND_TEXT = 4,
  SIDEBAND_JSON = 5
};
typedef struct sideband_value {
  int32_t type;
  int64_t integer;
  double number;
  const char* text;
} sideband_value;

typedef struct sideband_setting {
  const char* path;
  sideband_value value;
} sideband_setting;

/* Fields and defaults as in sender/options.h; 0, NULL and -1 stand for "unset". `struct_size` tells which fields the
 * caller knows: later versions only add at the end. */
typedef struct sideband_options {
  size_t struct_size;
  const char* project;
  const char* run_name;
  const char* run_id;
  const char* group;
  const char* notes;
  const char* collector;
  const char* spool_dir;
  const sideband_setting* config;
  size_t config_count;
  const char* const* tags;    /* key, value, key, value, ... */
  size_t tag_count;           /* of pairs */
  int64_t rank;               /* -1: unset */
  int64_t world_size;         /* -1: unset */
  const int64_t* resume_step; /* NULL: none */
  uint64_t spool_quota_bytes;
  uint64_t spool_segment_bytes;
  uint64_t ring_bytes;
  int32_t queue_policy; /* SIDEBAND_POLICY_* */
  int32_t queue_wait_ms;
  int32_t flush_interval_ms;
  int32_t finish_deadline_ms;
  uint32_t heartbeat_ms;
} sideband_options;

#define SIDEBAND_OPTIONS_INIT                                                                                          \
  {                                                                                                                    \
    sizeof(sideband_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, -1, -1, NULL, 0, 0, 0, 0, 0, \
        0, 0, 0                                                                                                        \
  }

/* One number of a row. `is_int` chooses the member. */
typedef struct sideband_field {
  const char* key;
  double number;
  int64_t integer;
  int32_t is_int;
} sideband_field;

typedef struct sideband_stats {
  uint64_t points_logged;
  uint64_t points_dropped;
  uint64_t points_spooled;
  uint64_t head_seq;
  uint64_t committed_seq;
  uint64_t frames_sent;
  uint64_t bytes_sent;
  uint64_t reconnects;
  int32_t connected;
} sideband_stats;

typedef struct sideband_report {
  int32_t delivered;
  uint64_t frames_left;
  uint64_t points_dropped;
} sideband_report;

#define SIDEBAND_DEFAULT_DEADLINE (-1)

/* NULL on failure; then `error`, if not NULL, holds up to error_bytes - 1 bytes of text. */
SIDEBAND_API sideband_run* sideband_open(const sideband_options* options, char* error, size_t error_bytes);
/* Finishes the run if it is not, and frees it and its handles. */
SIDEBAND_API void sideband_close(sideband_run* run);

/* Handles: prepared metrics, the fastest way to log. Freed by sideband_close. NULL when there is no memory. */
SIDEBAND_API sideband_scalar* sideband_scalar_new(sideband_run* run, const char* key);
SIDEBAND_API void sideband_scalar_log(sideband_scalar* scalar, int64_t step, double value);
SIDEBAND_API sideband_row* sideband_row_new(sideband_run* run, const char* const* keys, size_t count);
SIDEBAND_API void sideband_row_log(sideband_row* row, int64_t step, const double* values, size_t count);

/* One row by names. */
SIDEBAND_API void sideband_log(sideband_run* run, int64_t step, const sideband_field* fields, size_t count);

/* step: NULL for none. */
SIDEBAND_API void sideband_text(sideband_run* run, const char* line, int32_t level, const int64_t* step);
SIDEBAND_API void sideband_set_config(sideband_run* run, const char* path, const sideband_value* value);
SIDEBAND_API void sideband_set_tag(sideband_run* run, const char* key, const char* value);
SIDEBAND_API void sideband_set_summary(sideband_run* run, const char* key, const sideband_value* value);
SIDEBAND_API void sideband_rewind(sideband_run* run, int64_t step);

/* 0 when all that was logged before the call is in the spool, else -1 and the error's text. */
SIDEBAND_API int sideband_flush(sideband_run* run, int64_t deadline_ms, char* error, size_t error_bytes);
/* report may be NULL. deadline_ms: SIDEBAND_DEFAULT_DEADLINE for finish_deadline_ms of the options. */
SIDEBAND_API void sideband_finish(sideband_run* run, int64_t deadline_ms, int32_t status, sideband_report* report);
SIDEBAND_API void sideband_get_stats(const sideband_run* run, sideband_stats* stats);
/* Live as long as the run. "" for a NULL run. */
SIDEBAND_API const char* sideband_run_id(const sideband_run* run);
SIDEBAND_API const char* sideband_run_name(const sideband_run* run);

#ifdef __cplusplus
}
#endif

#endif
