// Knows whether this process is a forked child of the one that opened something.
//
// A child has a copy of its parent's objects but neither its threads nor its rings (MADV_DONTFORK), and any lock may be
// held for ever. Who owns such things remembers the generation at its birth and leaves everything alone, destructors
// included, in another one.
#pragma once

#include <cstdint>

namespace sideband::sender {

// Counts up in each forked child. Any thread; one relaxed load.
[[nodiscard]] std::uint32_t fork_generation() noexcept;

// From now on forks are noticed. Idempotent.
void watch_forks();
// `in_child` also runs in each child, in the thread that called fork(); only async-signal-safe work. One function for
// all callers.
void watch_forks(void (*in_child)() noexcept);

}  // namespace sideband::sender
