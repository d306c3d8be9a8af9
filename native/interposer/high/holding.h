// What a high client does to the others of its GPU: while it is busy, or has announced a request, its bit in
// `activity.active` is set and best-effort work is held. A client of which no launch has been seen to end for far
// longer than ever before (it loads, it captures, it waits for somebody) shares the GPU: it holds in every other
// slice of time only, until a launch is seen to end.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;
struct Link;

// Under HighGpu::lock. Makes what others see agree with what is so now.
void update_hold(Gpu& gpu, const Link& link, std::uint64_t now) noexcept;
// What a request found when it began.
void note_launch_ahead(const Link& link) noexcept;

// A request is expected before `until`: best-effort work stands still from now on, as in a burst, but none
// is counted. The next burst takes the announcement over; one made while a burst runs outlasts it. True:
// the helper thread, asleep, does not know yet that there is an end to be watched.
[[nodiscard]] bool high_announce(Gpu& gpu, std::uint64_t until) noexcept;

// Ends an announcement that no request has followed. Returns in how many microseconds there will be one to
// end.
[[nodiscard]] std::uint32_t high_expire(Gpu& gpu, std::uint64_t now) noexcept;
inline constexpr std::uint32_t kNothingAnnounced = ~0u;

// The helper thread's look: begins and ends slices, and holds again where somebody cleared the bit of a client that
// was taken for stopped.
void high_share(Gpu& gpu, std::uint64_t now) noexcept;

// The link was replaced: tell the new region what is true now.
void high_republish(Gpu& gpu) noexcept;

}  // namespace cotenant
