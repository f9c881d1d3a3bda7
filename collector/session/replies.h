// Control messages of the collector, as frames ready to send. Pure.
#pragma once

#include <string>

#include "collector/session/session.h"

namespace sideband::collector {

struct Reply {
  std::string peer;         // the ROUTER's envelope
  std::string frame;        // header and payload
  std::uint64_t token = 0;  // of the session it is sent for; 0: none
};

[[nodiscard]] Reply make_error(std::string peer, const Refusal& refusal, std::uint64_t token, std::uint64_t syn_nonce,
                               const StoreId& store_id);
// Not fatal: the key may be allowed again.
[[nodiscard]] Refusal make_removed_key_refusal(std::string_view user);
[[nodiscard]] Reply make_credit(const Session& session);
[[nodiscard]] Reply make_commit(const Session& session, const StoreId& store_id);
[[nodiscard]] Reply make_ping(const Session& session, std::uint64_t ping_id, Now now);
[[nodiscard]] Reply make_pong(const Session& session, const v1::Ping& ping, Now received, Now now);
[[nodiscard]] Reply make_bye(const Session& session, v1::Bye::Reason reason, std::uint32_t retry_after_ms);

}  // namespace sideband::collector
