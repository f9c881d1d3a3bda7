#include "examples/digits/train.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "examples/digits/mlp.h"
#include "examples/digits/progress.h"
#include "sender/sender.h"

namespace digits {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 5> kStepMetrics = {"train/loss", "train/acc", "lr", "grad_norm",
                                                          "samples_per_s"};

sideband::Options make_options(const Settings& settings) {
  return {.project = "digits",
          .run_name = settings.run_name,
          .config = {{"lr", settings.learning_rate},
                     {"batch", std::int64_t{settings.batch}},
                     {"hidden", std::int64_t{settings.hidden}},
                     {"seed", std::int64_t{settings.seed}},
                     {"epochs", std::int64_t{settings.epochs}}},
          .tags = {{"model", "mlp"}, {"data", "uci-digits"}},
          .collector = settings.collector};
}

double norm(std::span<const double> vector) {
  return std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
}

// The images of an epoch, in the same random order on all ranks.
std::vector<std::size_t> shuffle_images(std::size_t count, std::uint32_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

class Trainer {
 public:
  Trainer(const Settings& settings, std::uint32_t rank, SharedMemory& shared, const DataSet& data, sideband::Run& run)
      : settings_(settings),
        rank_(rank),
        shared_(shared),
        data_(data),
        step_row_(run.row(kStepMetrics)),
        model_(settings.hidden, settings.seed),
        gradient_(model_.parameters().size()) {}

  // Returns the loss over this rank's share of the images. The rest that fills no batch is left out.
  double train_epoch(std::uint32_t epoch) {
    const auto order = shuffle_images(data_.size(), settings_.seed + epoch);
    const std::size_t share = settings_.batch / settings_.ranks;
    double loss_sum = 0;
    for (std::size_t batch = 0; batch < steps_per_epoch(); ++batch) {
      loss_sum += train_step(std::span(order).subspan(batch * settings_.batch + rank_ * share, share));
    }
    return loss_sum / static_cast<double>(steps_per_epoch());
  }

  [[nodiscard]] std::int64_t step() const { return step_; }
  [[nodiscard]] Score evaluate(const DataSet& data) { return model_.evaluate(data); }

 private:
  [[nodiscard]] std::size_t steps_per_epoch() const { return data_.size() / settings_.batch; }

  double train_step(std::span<const std::size_t> share) {
    const auto started = Clock::now();
    const Score score = model_.compute_gradient(data_, share, gradient_);
    shared_.average(rank_, gradient_);
    const double learning_rate = current_learning_rate();
    model_.descend(gradient_, learning_rate);
    const double seconds = std::chrono::duration<double>(Clock::now() - started).count();

    const std::array values = {score.loss(), score.accuracy(), learning_rate, norm(gradient_),
                               static_cast<double>(share.size()) / seconds};
    step_row_.log(step_++, values);
    return score.loss();
  }

  [[nodiscard]] double current_learning_rate() const {
    const double done = static_cast<double>(step_) / static_cast<double>(settings_.epochs * steps_per_epoch());
    return settings_.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
  }

  const Settings& settings_;
  std::uint32_t rank_;
  SharedMemory& shared_;
  const DataSet& data_;
  sideband::Row step_row_;
  Mlp model_;
  std::vector<double> gradient_;
  std::int64_t step_ = 0;
};

}  // namespace

sideband::Result<void> train_rank(const Settings& settings, std::uint32_t rank, SharedMemory& shared) {
  const auto all = read_digits(settings.data_path);
  if (!all) return tl::unexpected(all.error());
  const Split data = split_digits(*all, settings.seed);
  auto run = sideband::Run::open(make_options(settings));
  if (!run) return tl::unexpected(run.error());

  Trainer trainer(settings, rank, shared, data.train, *run);
  ProgressLine progress(settings.epochs);
  double best_accuracy = 0;
  for (std::uint32_t epoch = 1; epoch <= settings.epochs; ++epoch) {
    const double train_loss = trainer.train_epoch(epoch);
    if (rank != 0) continue;
    const Score validation = trainer.evaluate(data.validation);
    run->log(trainer.step() - 1, {{"val/loss", validation.loss()}, {"val/acc", validation.accuracy()}});
    progress.show(epoch, train_loss, validation.accuracy());
    best_accuracy = std::max(best_accuracy, validation.accuracy());
    shared.report(0).validation_accuracy = validation.accuracy();
  }
  if (rank == 0) run->set_summary("best/val_acc", best_accuracy);

  const auto finish = run->finish();
  auto& report = shared.report(rank);
  report.points_logged = run->stats().points_logged;
  report.points_dropped = finish.points_dropped;
  report.frames_left = finish.frames_left;
  return {};
}

}  // namespace digits
