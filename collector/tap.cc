#include "collector/tap.h"

#include <algorithm>
#include <span>
#include <utility>

#include <spdlog/spdlog.h>

namespace sideband::collector {
namespace {

constexpr std::size_t kFramesPerTurn = 256;
constexpr int kPatientBinds = 20;  // 2 s of ticks
constexpr char kUnsubscribe = 0;
constexpr char kSubscribe = 1;

}  // namespace

Tap::Tap(Socket socket, TapOptions options, ReceiverCounters& counters)
    : socket_(std::move(socket)), options_(std::move(options)), counters_(counters) {}

void Tap::receive(std::vector<StoreRequest>& requests) {
  Message message;
  bool more_parts = false;
  if (!takes_subscriptions() || !socket_.receive(message, more_parts)) return;
  // What a client of its own making sends up the tap means nothing here.
  const bool is_rest = std::exchange(in_message_, more_parts);
  const std::string_view text = message.text();
  if (is_rest || more_parts || text.empty()) return;
  const std::string_view prefix = text.substr(1);
  if (text.front() == kSubscribe) {
    // Its link may be older than the list of keys.
    if (!options_.may_read(message.user())) return;
    readers_.emplace(message.user());
    pending_prefix_ = prefix;
    requests.emplace_back(SendDefinitions{*pending_prefix_});
  } else if (text.front() == kUnsubscribe) {
    socket_.revoke_subscription(prefix);
  }
}

void Tap::close_links_of_removed_keys() {
  if (std::ranges::all_of(readers_, options_.may_read)) return;
  spdlog::info("a key of a reader was removed: all readers over TCP have to greet again");
  readers_.clear();
  socket_.unbind(options_.address);
  listening_ = false;
}

void Tap::tick() {
  if (listening_) return;
  const auto bound = socket_.bind(options_.address);
  listening_ = bound.has_value();
  // ZeroMQ ends listening some moments after it was told to.
  if (!listening_ && ++failed_binds_ == kPatientBinds)
    spdlog::error("the tap: {}; trying again", bound.error().message);
  if (listening_) failed_binds_ = 0;
}

void Tap::apply(TapFrame&& frame) {
  const std::size_t bytes = frame.message.bytes().size();
  if (backlog_bytes_ + bytes > options_.max_backlog_bytes) return counters_.tap_dropped.add();
  backlog_bytes_ += bytes;
  backlog_.push_back(std::move(frame));
}

void Tap::apply(const SubscriptionReady& ready) {
  backlog_.emplace_back(ready);
}

void Tap::apply(const DefinitionsSent& portion) {
  backlog_.emplace_back(portion);
}

bool Tap::send_some(std::vector<StoreRequest>& requests) {
  for (std::size_t n = 0; n < kFramesPerTurn && !backlog_.empty(); ++n) {
    auto next = std::move(backlog_.front());
    backlog_.pop_front();
    if (auto* frame = std::get_if<TapFrame>(&next); frame != nullptr) {
      backlog_bytes_ -= frame->message.bytes().size();
      send(*frame);
    } else if (const auto* portion = std::get_if<DefinitionsSent>(&next); portion != nullptr) {
      sends_definitions_ = portion->more;
      if (portion->more) requests.emplace_back(SendMoreDefinitions{});
    } else if (pending_prefix_) {
      socket_.grant_subscription(*std::exchange(pending_prefix_, std::nullopt));
      has_readers_ = sends_definitions_ = true;
    }
  }
  return !backlog_.empty();
}

void Tap::send(TapFrame& frame) {
  Message topic = Message::copy_of(std::as_bytes(std::span(*frame.topic)));
  if (socket_.send(topic, true) != SendStatus::kSent || socket_.send(frame.message, false) != SendStatus::kSent) {
    return counters_.tap_dropped.add();
  }
  counters_.tap_sent.add();
}

}  // namespace sideband::collector
