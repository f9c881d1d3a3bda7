// What can be set on the command line of `digits`.
#pragma once

#include <cstdint>
#include <string>

namespace digits {

struct Settings {
  std::uint32_t ranks = 4;  // processes that train together
  std::uint32_t epochs = 200;
  std::uint32_t batch = 64;  // images a step, over all ranks; a multiple of ranks
  std::uint32_t hidden = 64;
  double learning_rate = 0.2;  // at the first step; falls to 0 along a cosine
  std::uint32_t seed = 1;
  std::string data_path = "examples/data/digits.csv";
  std::string run_name;
  std::string collector;    // empty: as Options::collector says
  std::string report_path;  // empty: no report file
};

}  // namespace digits
