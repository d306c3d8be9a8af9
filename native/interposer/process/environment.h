// What `cotenant run` tells the process, read once from the environment.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

struct Environment {
  protocol::Class client_class;  // kNone: step aside
  char socket[108];              // of the agent
  char name[48];
  std::uint64_t memory_quota;  // bytes; 0: none
  std::uint32_t slo_p99_us;
  std::uint32_t slo_slowdown_permille;
  char kernels[4096];  // COTENANT_KERNELS: what a profile says of this client's kernels; empty: nothing
  char record[4096];  // COTENANT_RECORD: of a process without a class, the file to write its recording to
  char chunks[4096];  // COTENANT_CHUNKS: where a best-effort client keeps its diary (chunk_log.h); empty: nowhere
  char ranks[64];  // what a launcher says of several ranks, as NAME=VALUE; empty: nothing
  const char* tool;  // a variable of a tool that looks at this program; null: none
  bool debug;  // COTENANT_DEBUG: say on stderr what is decided
};

[[nodiscard]] Environment read_environment() noexcept;

}  // namespace cotenant
