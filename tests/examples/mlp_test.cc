#include "examples/digits/mlp.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace digits {
namespace {

constexpr std::size_t kHidden = 12;

DataSet read_all() {
  auto data = read_digits(DIGITS_CSV);
  EXPECT_TRUE(data) << data.error().message;
  return *data;
}

std::vector<std::size_t> first_images(std::size_t count) {
  std::vector<std::size_t> batch(count);
  std::iota(batch.begin(), batch.end(), 0);
  return batch;
}

std::vector<double> gradient_of(Mlp& model, const DataSet& data, std::span<const std::size_t> batch) {
  std::vector<double> gradient(model.parameters().size());
  model.compute_gradient(data, batch, gradient);
  return gradient;
}

double loss_of(Mlp& model, const DataSet& data, std::span<const std::size_t> batch) {
  std::vector<double> unused(model.parameters().size());
  return model.compute_gradient(data, batch, unused).loss();
}

// (loss(p + h) - loss(p - h)) / 2h
double finite_difference(Mlp& model, std::size_t parameter, const DataSet& data, std::span<const std::size_t> batch) {
  constexpr double kStep = 1e-6;
  double& value = model.parameters()[parameter];
  const double middle = value;
  value = middle + kStep;
  const double above = loss_of(model, data, batch);
  value = middle - kStep;
  const double below = loss_of(model, data, batch);
  value = middle;
  return (above - below) / (2 * kStep);
}

TEST(Mlp, GradientAgreesWithFiniteDifferences) {
  const DataSet data = read_all();
  const auto batch = first_images(20);
  Mlp model(kHidden, 7);
  const auto gradient = gradient_of(model, data, batch);
  double largest_error = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    largest_error = std::max(largest_error, std::abs(gradient[i] - finite_difference(model, i, data, batch)));
  }
  EXPECT_LT(largest_error, 1e-7);
}

TEST(Mlp, GradientOfABatchIsTheMeanOfItsHalves) {
  const DataSet data = read_all();
  const auto batch = first_images(16);
  Mlp model(kHidden, 7);
  const auto whole = gradient_of(model, data, batch);
  const auto first = gradient_of(model, data, std::span(batch).first(8));
  const auto second = gradient_of(model, data, std::span(batch).last(8));
  double largest_error = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    largest_error = std::max(largest_error, std::abs(whole[i] - (first[i] + second[i]) / 2));
  }
  EXPECT_LT(largest_error, 1e-12);
}

TEST(Mlp, LossOfAnUntrainedModelIsNearThatOfGuessing) {
  const DataSet data = read_all();
  Mlp model(kHidden, 7);
  EXPECT_NEAR(model.evaluate(data).loss(), std::log(10.0), 1.0);
}

TEST(Mlp, EqualSeedsGiveEqualWeights) {
  Mlp one(kHidden, 3);
  Mlp other(kHidden, 3);
  EXPECT_TRUE(std::equal(one.parameters().begin(), one.parameters().end(), other.parameters().begin()));
}

TEST(Mlp, DescentLowersTheLossOfItsBatch) {
  const DataSet data = read_all();
  const auto batch = first_images(32);
  Mlp model(kHidden, 7);
  const double before = loss_of(model, data, batch);
  model.descend(gradient_of(model, data, batch), 0.05);
  EXPECT_LT(loss_of(model, data, batch), before);
}

}  // namespace
}  // namespace digits
