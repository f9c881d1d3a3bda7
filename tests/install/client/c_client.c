/* Logs ten points through the C interface; prints whether they are stored. */
#include <stdio.h>

#include "sender/sideband.h"

int main(void) {
  sideband_options options = SIDEBAND_OPTIONS_INIT;
  options.project = "client";
  char error[256];
  sideband_run* run = sideband_open(&options, error, sizeof error);
  if (run == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  sideband_scalar* loss = sideband_scalar_new(run, "train/loss");
  for (int64_t step = 0; step < 10; ++step) sideband_scalar_log(loss, step, 1.0);
  sideband_report report;
  sideband_finish(run, SIDEBAND_DEFAULT_DEADLINE, SIDEBAND_STATUS_FINISHED, &report);
  printf("%s %s\n", sideband_run_name(run), report.delivered ? "is stored" : "waits");
  sideband_close(run);
  return 0;
}
