// Key pairs of CURVE, ZeroMQ's encryption. Pure but for the random numbers; any thread.
#pragma once

#include "frame/connect_string.h"

namespace sideband::collector {

[[nodiscard]] Result<CurveKey> make_secret_key();
// kUnsupported: this libzmq was built without CURVE.
[[nodiscard]] Result<CurveKey> public_key_of(const CurveKey& secret);

}  // namespace sideband::collector
