#include "tests/sender/c_api_user.h"

#include <string.h>

#include "sender/sideband.h"

#define EXPECT(condition)              \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (0)

static sideband_options make_options(const char* spool_dir) {
  sideband_options options = SIDEBAND_OPTIONS_INIT;
  options.project = "digits";
  options.run_id = "c-run";
  options.spool_dir = spool_dir;
  options.collector = "tcp://127.0.0.1:1"; /* nobody listens: all stays in the spool */
  return options;
}

int log_everything(const char* spool_dir) {
  const sideband_setting config[] = {{"lr", {SIDEBAND_DOUBLE, 0, 0.1, NULL}}, {"layers", {SIDEBAND_INT, 12, 0, NULL}}};
  const char* const tags[] = {"arch", "resnet"};
  const char* const keys[] = {"a", "b", "c"};
  const double values[] = {1.0, 2.0, 3.0};
  const sideband_field fields[] = {{"named/float", 0.5, 0, 0}, {"named/int", 0, 7, 1}};
  const sideband_value best = {SIDEBAND_DOUBLE, 0, 0.99, NULL};
  const sideband_value note = {SIDEBAND_TEXT, 0, 0, "changed"};
  const int64_t step = 3;
  char error[256] = "";
  sideband_options options = make_options(spool_dir);
  options.config = config;
  options.config_count = 2;
  options.tags = tags;
  options.tag_count = 1;

  sideband_run* run = sideband_open(&options, error, sizeof error);
  EXPECT(run != NULL && error[0] == '\0');
  EXPECT(strcmp(sideband_run_id(run), "c-run") == 0 && sideband_run_name(run)[0] != '\0');

  sideband_scalar* loss = sideband_scalar_new(run, "loss");
  sideband_row* row = sideband_row_new(run, keys, 3);
  EXPECT(loss != NULL && row != NULL);
  sideband_scalar_log(loss, 1, 0.25);
  sideband_row_log(row, 1, values, 3);
  sideband_row_log(row, 2, values, 2); /* one too few: dropped and counted */
  sideband_log(run, 2, fields, 2);
  sideband_text(run, "hello", SIDEBAND_LEVEL_WARNING, &step);
  sideband_set_config(run, "note", &note);
  sideband_set_tag(run, "stage", "late");
  sideband_set_summary(run, "best", &best);
  sideband_rewind(run, 1);
  EXPECT(sideband_flush(run, 30000, error, sizeof error) == 0);

  sideband_stats stats;
  sideband_get_stats(run, &stats);
  EXPECT(stats.points_logged == 6 && stats.points_spooled == 6 && stats.points_dropped == 3 && !stats.connected);

  sideband_report report;
  sideband_finish(run, 0, SIDEBAND_STATUS_FINISHED, &report);
  EXPECT(!report.delivered && report.frames_left > 0 && report.points_dropped == 3);
  sideband_close(run);
  return 0;
}

int read_the_error_of_a_wrong_option(const char* spool_dir) {
  char error[24];
  sideband_options options = make_options(spool_dir);
  options.ring_bytes = 1000;
  EXPECT(sideband_open(&options, error, sizeof error) == NULL);
  EXPECT(strlen(error) == sizeof error - 1 && strncmp(error, "open run: expected ring", 23) == 0);
  EXPECT(sideband_open(&options, NULL, 0) == NULL);
  return 0;
}

int use_null_handles(void) {
  sideband_stats stats;
  const sideband_value value = {SIDEBAND_NULL, 0, 0, NULL};
  EXPECT(sideband_scalar_new(NULL, "a") == NULL && sideband_row_new(NULL, NULL, 0) == NULL);
  sideband_scalar_log(NULL, 1, 1);
  sideband_row_log(NULL, 1, NULL, 0);
  sideband_log(NULL, 1, NULL, 0);
  sideband_text(NULL, "x", 0, NULL);
  sideband_set_config(NULL, "x", &value);
  sideband_set_tag(NULL, "x", "y");
  sideband_set_summary(NULL, "x", &value);
  sideband_rewind(NULL, 1);
  sideband_finish(NULL, 0, SIDEBAND_STATUS_FINISHED, NULL);
  sideband_get_stats(NULL, &stats);
  EXPECT(stats.points_logged == 0 && sideband_flush(NULL, 0, NULL, 0) == -1 && sideband_run_id(NULL)[0] == '\0');
  sideband_close(NULL);
  return 0;
}

int open_with_a_shorter_struct(const char* spool_dir) {
  sideband_options options = make_options(spool_dir);
  options.struct_size = offsetof(sideband_options, ring_bytes);
  options.ring_bytes = 1000; /* beyond what this caller claims to know: not read */
  sideband_run* run = sideband_open(&options, NULL, 0);
  EXPECT(run != NULL);
  sideband_finish(run, 0, SIDEBAND_STATUS_FINISHED, NULL);
  sideband_close(run);
  return 0;
}
