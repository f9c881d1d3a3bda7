#include "examples/digits/mlp.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace digits {
namespace {

// The four parts of a flat parameter (or gradient) vector.
struct Parts {
  Parts(std::span<double> flat, std::size_t hidden)
      : input_weights(flat.first(kPixels * hidden)),
        unit_biases(flat.subspan(kPixels * hidden, hidden)),
        output_weights(flat.subspan((kPixels + 1) * hidden, hidden * kClasses)),
        digit_biases(flat.last(kClasses)) {}

  std::span<double> input_weights, unit_biases, output_weights, digit_biases;
};

void fill_normal(std::span<double> weights, std::size_t inputs, std::mt19937& random) {
  std::normal_distribution<double> normal(0.0, std::sqrt(2.0 / static_cast<double>(inputs)));
  for (double& weight : weights) weight = normal(random);
}

// Turns scores into probabilities; returns log(sum(exp(scores))). The largest score is taken off first, or exp
// overflows.
double softmax(std::span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += (score = std::exp(score - largest));
  for (double& score : scores) score /= sum;
  return largest + std::log(sum);
}

}  // namespace

std::size_t Mlp::parameter_count(std::size_t hidden_units) {
  return (kPixels + 1) * hidden_units + (hidden_units + 1) * kClasses;
}

Mlp::Mlp(std::size_t hidden_units, std::uint32_t seed)
    : hidden_(hidden_units),
      parameters_(parameter_count(hidden_units)),
      units_(hidden_units),
      unit_gradients_(hidden_units),
      probabilities_(kClasses) {
  std::mt19937 random(seed);
  Parts parts(parameters_, hidden_);
  fill_normal(parts.input_weights, kPixels, random);
  fill_normal(parts.output_weights, hidden_, random);
}

void Mlp::forward(std::span<const double> image, std::uint8_t label, Score& score) {
  const Parts parts(parameters_, hidden_);
  std::copy(parts.unit_biases.begin(), parts.unit_biases.end(), units_.begin());
  for (std::size_t i = 0; i < kPixels; ++i) {
    if (image[i] == 0) continue;  // half of an image is white
    const auto row = parts.input_weights.subspan(i * hidden_, hidden_);
    for (std::size_t j = 0; j < hidden_; ++j) units_[j] += image[i] * row[j];
  }
  for (double& unit : units_) unit = std::max(unit, 0.0);

  std::copy(parts.digit_biases.begin(), parts.digit_biases.end(), probabilities_.begin());
  for (std::size_t j = 0; j < hidden_; ++j) {
    for (std::size_t k = 0; k < kClasses; ++k) probabilities_[k] += units_[j] * parts.output_weights[j * kClasses + k];
  }
  const auto best = std::max_element(probabilities_.begin(), probabilities_.end()) - probabilities_.begin();
  const double score_of_label = probabilities_[label];
  score.loss_sum += softmax(probabilities_) - score_of_label;
  score.correct += best == label;
  ++score.count;
}

void Mlp::backward(std::span<const double> image, std::uint8_t label, double weight, std::span<double> gradient) {
  const Parts parts(parameters_, hidden_);
  const Parts gradients(gradient, hidden_);
  // Softmax and cross-entropy together have the gradient (probability - 1 for the right digit, probability for the
  // others).
  probabilities_[label] -= 1;
  for (std::size_t k = 0; k < kClasses; ++k) gradients.digit_biases[k] += weight * probabilities_[k];

  for (std::size_t j = 0; j < hidden_; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < kClasses; ++k) {
      gradients.output_weights[j * kClasses + k] += weight * units_[j] * probabilities_[k];
      sum += parts.output_weights[j * kClasses + k] * probabilities_[k];
    }
    unit_gradients_[j] = units_[j] > 0 ? weight * sum : 0;
    gradients.unit_biases[j] += unit_gradients_[j];
  }
  for (std::size_t i = 0; i < kPixels; ++i) {
    if (image[i] == 0) continue;
    const auto row = gradients.input_weights.subspan(i * hidden_, hidden_);
    for (std::size_t j = 0; j < hidden_; ++j) row[j] += image[i] * unit_gradients_[j];
  }
}

Score Mlp::evaluate(const DataSet& data) {
  Score score;
  for (std::size_t i = 0; i < data.size(); ++i) forward(data.image(i), data.labels[i], score);
  return score;
}

Score Mlp::compute_gradient(const DataSet& data, std::span<const std::size_t> batch, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const double weight = 1.0 / static_cast<double>(batch.size());
  Score score;
  for (const std::size_t index : batch) {
    forward(data.image(index), data.labels[index], score);
    backward(data.image(index), data.labels[index], weight, gradient);
  }
  return score;
}

void Mlp::descend(std::span<const double> gradient, double learning_rate) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i] -= learning_rate * gradient[i];
}

}  // namespace digits
