#include <cmath>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "frame/connect_string.h"
#include "sender/probe.h"
#include "sender/session_codes.h"
#include "sender/session_liveness.h"
#include "tools/doctor.h"
#include "tools/reach.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuick{500};  // a collector that is there has answered by then
constexpr std::int64_t kMaxClockOffsetNs = sender::kNsPerSecond;
constexpr int kTapTries = 2;  // a handshake that is cut off once may be a collector that stops
constexpr const char* kProgram = "sideband " SIDEBAND_VERSION;
constexpr const char* kTakeLine = "take the whole line that the collector prints";

bool is_local(const std::string& endpoint) {
  return endpoint.starts_with("ipc://");
}

sender::UplinkSettings probe_settings(const std::string& connect) {
  sender::UplinkSettings settings;
  settings.endpoint = connect;
  settings.library = "sideband-doctor " SIDEBAND_VERSION;
  settings.sockets = sender::SocketSettings{.reconnect_ms = 100, .reconnect_max_ms = 200};
  return settings;
}

struct Answer {
  sender::ProbeReport report;
  std::string control_trouble, data_trouble;  // why the address cannot be reached; empty: it can
};

bool is_final(const sender::ProbeReport& report) {
  return report.data_linked || report.denied || report.refused;
}

std::string find_trouble(const std::string& endpoint, milliseconds deadline) {
  const auto target = parse_connect_string(endpoint);
  const auto reached = target ? reach(target->endpoint, deadline) : tl::unexpected(target.error());
  return reached ? "" : reached.error().message;
}

// A short try first: where nobody is, the system says so at once, while ZeroMQ would try until the deadline.
Result<Answer> ask(const std::string& connect, const std::string& endpoint, milliseconds deadline) {
  const milliseconds quick = std::min(deadline, kQuick);
  auto report = sender::probe(probe_settings(connect), {.ack = quick, .data = quick});
  if (!report) return tl::unexpected(report.error());
  Answer answer{.report = *report, .control_trouble = {}, .data_trouble = {}};
  if (is_final(*report)) return answer;
  std::string& trouble = report->ack ? answer.data_trouble : answer.control_trouble;
  trouble = find_trouble(report->ack ? report->ack->data_endpoint : endpoint, deadline);
  if (!trouble.empty()) return answer;
  report = sender::probe(probe_settings(connect), {.ack = deadline, .data = deadline});
  if (!report) return tl::unexpected(report.error());
  answer.report = *report;
  if (is_final(*report)) return answer;
  if (report->ack) {
    answer.data_trouble = "something accepts connections and does not subscribe: " + report->ack->data_endpoint;
  } else {
    answer.control_trouble = fmt::format("something accepts connections and does not answer SYN within {} ms: {}",
                                         deadline.count(), endpoint);
  }
  return answer;
}

Finding make_control(const std::string& endpoint, const std::string& trouble) {
  if (trouble.empty()) return {.check = "control", .text = "a collector answers: " + endpoint};
  return {.check = "control",
          .verdict = Verdict::kFail,
          .text = trouble,
          .advice = "see that `sideband collect` runs there, that the line is its, and that its port is open"};
}

Finding make_key(const ConnectString& target, const sender::ProbeReport& report) {
  if (report.denied) return {.check = "key", .verdict = Verdict::kFail, .text = report.trouble};
  if (target.keys) return {.check = "key", .text = "accepted, the link is encrypted"};
  if (is_local(target.endpoint)) return {.check = "key", .text = "none is needed: the kernel says who connects"};
  return {.check = "key",
          .verdict = Verdict::kWarn,
          .text = "the collector uses none (--insecure): whoever reaches its ports can log and listen",
          .advice = "start it without --insecure unless its network is trusted"};
}

Finding make_refused(const sender::ProbeReport& report) {
  return {.check = "collector",
          .verdict = Verdict::kFail,
          .text = "refused: " + report.trouble,
          .advice = "data waits in the spools meanwhile; `sideband sync` delivers it to a collector that takes it"};
}

Finding make_collector(const sender::Ack& ack) {
  std::string store;
  for (const std::byte byte : ack.store_id) store += fmt::format("{:02x}", std::to_integer<int>(byte));
  const std::string program = ack.program.empty() ? "of an unnamed version" : ack.program;
  return {.check = "collector",
          .text = fmt::format("{}, protocol {}, store {}; this is {}, protocol {}", program, ack.version, store,
                              kProgram, sender::kProtocolVersion),
          .facts = {{"program", ack.program},
                    {"protocol", ack.version},
                    {"store_id", store},
                    {"own_program", kProgram},
                    {"own_protocol", sender::kProtocolVersion}}};
}

Finding make_data(const std::string& endpoint, const std::string& trouble) {
  Finding finding{.check = "data", .text = "reached: " + endpoint, .facts = {{"endpoint", endpoint}}};
  if (trouble.empty()) return finding;
  finding.verdict = Verdict::kFail;
  finding.text = trouble;
  finding.advice =
      "the collector names this address to senders: open its port, or name a reachable one with --advertise-data";
  return finding;
}

Finding tap_failure(const std::string& text) {
  return {.check = "tap", .verdict = Verdict::kFail, .text = text, .advice = kTakeLine};
}

// Until the handshake is over, one way or the other.
Finding listen_at(sender::WatchedSocket& tap, const std::string& endpoint, milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  for (int cut_offs = 0; std::chrono::steady_clock::now() < until;) {
    const auto news = sender::take_news(tap);
    if (news.succeeded) return {.check = "tap", .text = "reached: " + endpoint};
    if (news.failure == sender::LinkFailure::kKeyRefused)
      return tap_failure("the collector does not let this key in: it is not in its keys/authorized, or may not read: " +
                         endpoint);
    if (news.failure == sender::LinkFailure::kOtherSecurity)
      return tap_failure("one side uses keys, the other does not: " + endpoint);
    if (news.failure && ++cut_offs >= kTapTries)
      return tap_failure("the collector ends the handshake: it asks for keys, or its server_key is another one: " +
                         endpoint);
    sender::wait_for_events(&tap.monitor, nullptr, -1, false, 20);
  }
  const std::string trouble = find_trouble(endpoint, deadline);
  return {.check = "tap",
          .verdict = Verdict::kFail,
          .text = trouble.empty() ? "something accepts connections and does not greet: " + endpoint : trouble,
          .advice = "see that the collector runs there and that its port is open"};
}

}  // namespace

Finding judge_clock(std::int64_t offset_ns, std::int64_t error_ns) {
  const auto to_ms = [](std::int64_t ns) { return static_cast<double>(ns) / static_cast<double>(sender::kNsPerMs); };
  Finding finding{
      .check = "clock",
      .text = fmt::format("the collector's is {:.1f} ms {} this one (at most {:.1f} ms off)",
                          std::abs(to_ms(offset_ns)), offset_ns < 0 ? "behind" : "ahead of", to_ms(error_ns)),
      .facts = {{"offset_ns", offset_ns}, {"error_ns", error_ns}}};
  if (std::abs(offset_ns) <= kMaxClockOffsetNs + error_ns) return finding;
  finding.verdict = Verdict::kWarn;
  finding.advice = "points keep their sender's time, so runs of two hosts will not line up: set both by NTP";
  return finding;
}

void check_collector(const std::string& connect, const std::string& origin, milliseconds deadline, Findings& findings) {
  const auto target = parse_connect_string(connect);
  const auto addresses = target ? resolve(target->endpoint, deadline) : tl::unexpected(target.error());
  if (!addresses) {
    findings.push_back({.check = "address",
                        .verdict = Verdict::kFail,
                        .text = fmt::format("{} ({})", addresses.error().message, origin),
                        .advice = target ? "correct the host in the line, or this machine's name servers" : kTakeLine});
    return;
  }
  const std::string& endpoint = target->endpoint;
  findings.push_back({.check = "address",
                      .text = is_local(endpoint)
                                  ? fmt::format("a local socket: {} ({})", endpoint, origin)
                                  : fmt::format("{} is {} ({})", endpoint, fmt::join(*addresses, ", "), origin),
                      .facts = {{"endpoint", endpoint}, {"addresses", *addresses}}});
  const auto answer = ask(connect, endpoint, deadline);
  findings.push_back(make_control(endpoint, answer ? answer->control_trouble : answer.error().message));
  if (findings.back().verdict == Verdict::kFail) return;
  const sender::ProbeReport& report = answer->report;
  findings.push_back(make_key(*target, report));
  if (report.denied) return;
  findings.push_back(report.refused ? make_refused(report) : make_collector(*report.ack));
  if (report.refused) return;
  findings.push_back(judge_clock(report.clock_offset_ns, report.clock_error_ns));
  findings.push_back(make_data(report.ack->data_endpoint, answer->data_trouble));
}

void check_tap(const std::string& connect, milliseconds deadline, Findings& findings) {
  const auto context = sender::open_context();
  if (!context) return findings.push_back(tap_failure(context.error().message));
  // A topic that no run has: the collector need not look up what it holds.
  auto tap = sender::connect_tap(**context, connect, "%");
  if (!tap) return findings.push_back(tap_failure(tap.error().message));
  findings.push_back(listen_at(*tap, drop_keys(connect), deadline));
}

}  // namespace sideband::tools
