#include <cmath>
#include <iostream>

#include "sender/sender.h"

int main() {
  auto run = sideband::Run::open({.project = "quickstart", .config = {{"lr", 0.1}}, .tags = {{"model", "none"}}});
  if (!run) {
    std::cerr << run.error().message << "\n";
    return 1;
  }
  auto loss = run->scalar("train/loss");  // prepared once: the fastest way to log a number
  for (int step = 0; step < 1'000; ++step) {
    loss.log(step, std::exp(-0.01 * step));
    if (step % 100 == 0) run->log(step, {{"val/acc", 1 - std::exp(-0.02 * step)}, {"epoch", step / 100}});
  }
  const auto report = run->finish();
  std::cout << run->name() << (report.delivered ? " is stored\n" : " waits in " + report.spool_folder + "\n");
}
