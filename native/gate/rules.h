// The rule table as the gate sees it: a plain copy of the shared settings, every value forced into a
// range in which no wait can be endless. Shared memory is never trusted further than this function.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

// Times in microseconds; the meaning of each field is in src/protocol/layout.ts.
struct Rules {
  bool protect;
  bool isolated;
  bool paused;
  protocol::WhenActive when_active;
  std::uint32_t sm_limit;
  std::uint32_t max_kernel_us;
  std::uint32_t chunk_us;
  std::uint32_t chunk_launches;
  std::uint32_t active_ahead_us;
  std::uint32_t submit_us;
  std::uint32_t submit_launches;
  std::uint32_t kernels_out;
  std::uint32_t resume_delay_us;
  std::uint32_t turn_us;
  std::uint32_t trickle_after_us;
  std::uint32_t trickle_every_us;
  std::uint32_t unknown_us;
  protocol::Submission submission;
  std::uint32_t sample_every;
  std::uint32_t copy_piece_bytes;
  std::uint32_t budget_us;
  std::uint32_t launch_every_ns;
  std::uint32_t beside_every_us;
  std::uint32_t preempt_us;
  protocol::GraphGates graph_gates;
  std::uint32_t split_products_us;
};

[[nodiscard]] Rules read_rules(const protocol::Settings& settings) noexcept;

}  // namespace cotenant
