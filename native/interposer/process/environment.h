// Variables that `cotenant run` sets, read once from the environment.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

struct Environment {
  protocol::Class client_class;  // kNone: the interposer does nothing
  char socket[108];              // of the agent
  char name[48];
  std::uint64_t memory_quota;  // bytes; 0: none
  bool movable;  // COTENANT_MOVABLE, or park_after_ns: its memory can be parked
  std::uint64_t park_host;  // COTENANT_PARK_HOST: the most host memory for that, in bytes; 0: no limit
  std::uint32_t slo_p99_us;
  std::uint32_t slo_slowdown_permille;
  std::uint32_t slo_ttft_us;
  std::uint32_t slo_tpot_us;
  std::uint32_t slo_itl_us;
  std::uint32_t slo_e2e_us;
  char slo_metrics[sizeof protocol::Hello::sloMetrics];
  char slo[sizeof protocol::Hello::slo];
  char kernels[4096];  // COTENANT_KERNELS: a file with the profile of this client's kernels; empty: none
  char record[4096];  // COTENANT_RECORD: of a process without a class, the file to write its recording to
  char chunks[4096];  // COTENANT_CHUNKS: where a best-effort client keeps its diary (chunk_log.h); empty: nowhere
  char ranks[64];  // the variable of a launcher that says that there are several ranks, as NAME=VALUE; empty: none
  const char* tool;  // the variable of a tool that inspects this program; null: none
  bool debug;  // COTENANT_DEBUG: report decisions on stderr
  std::uint64_t park_after_ns;  // COTENANT_PARK_AFTER_MS: so long idle, a high client parks its memory; 0: never
};

[[nodiscard]] Environment read_environment() noexcept;

}  // namespace cotenant
