// A perceptron with one hidden layer: 64 pixels -> ReLU units -> softmax over 10 digits, trained on the cross-entropy.
//
// All parameters lie in one flat vector, so that a gradient is a vector of the same size and ranks average it with one
// call. Layout: weights [pixel][unit], unit biases, weights [unit][digit], digit biases. Owned by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/digits/digits_data.h"

namespace digits {

// Sums over the images seen, not means, so that results of several batches add up.
struct Score {
  double loss_sum = 0;  // cross-entropy in nats
  std::size_t correct = 0;
  std::size_t count = 0;

  [[nodiscard]] double loss() const { return loss_sum / static_cast<double>(count); }
  [[nodiscard]] double accuracy() const { return static_cast<double>(correct) / static_cast<double>(count); }
};

class Mlp {
 public:
  [[nodiscard]] static std::size_t parameter_count(std::size_t hidden_units);

  // Weights drawn from `seed` (He initialisation), biases 0: equal on all ranks that use the same seed.
  Mlp(std::size_t hidden_units, std::uint32_t seed);

  [[nodiscard]] Score evaluate(const DataSet& data);
  // Loss and accuracy over the images that `batch` names; `gradient` becomes that of the mean loss.
  Score compute_gradient(const DataSet& data, std::span<const std::size_t> batch, std::span<double> gradient);
  // Plain stochastic gradient descent.
  void descend(std::span<const double> gradient, double learning_rate);

  [[nodiscard]] std::span<double> parameters() { return parameters_; }

 private:
  // Fills units_ and probabilities_, adds to `score`.
  void forward(std::span<const double> image, std::uint8_t label, Score& score);
  void backward(std::span<const double> image, std::uint8_t label, double weight, std::span<double> gradient);

  std::size_t hidden_;
  std::vector<double> parameters_;
  std::vector<double> units_;  // hidden activations of the last image
  std::vector<double> unit_gradients_;
  std::vector<double> probabilities_;  // of each digit for the last image
};

}  // namespace digits
