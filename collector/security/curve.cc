#include "collector/security/curve.h"

#include <array>

#include <sys/random.h>
#include <zmq.h>

namespace sideband::collector {
namespace {

constexpr std::size_t kZ85Bytes = 41;  // 40 letters and their end

}  // namespace

Result<CurveKey> make_secret_key() {
  CurveKey secret{};
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    return fail(ErrorCode::kIo, "a key cannot be made: the system gives no random numbers");
  return secret;
}

Result<CurveKey> public_key_of(const CurveKey& secret) {
  std::array<char, kZ85Bytes> secret_text{}, public_text{};
  CurveKey key{};
  zmq_z85_encode(secret_text.data(), secret.data(), secret.size());
  if (zmq_curve_public(public_text.data(), secret_text.data()) != 0 ||
      zmq_z85_decode(key.data(), public_text.data()) == nullptr)
    return fail(ErrorCode::kUnsupported, "this libzmq has no CURVE: install one with libsodium, or pass --insecure");
  return key;
}

}  // namespace sideband::collector
