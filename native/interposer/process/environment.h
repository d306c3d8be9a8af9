// Variables that `cotenant run` sets, read once from the environment.
#pragma once

#include <cstdint>
#include <iterator>

#include "generated/protocol.h"

namespace cotenant {

// A part of the objective, for agents that do not read Hello::slo. Later kinds of objectives are in the text alone.
struct SloPart {
  const char* variable;
  std::uint32_t protocol::Hello::* field;
};
inline constexpr SloPart kSloParts[] = {
    {"COTENANT_SLO_P99_US", &protocol::Hello::sloP99Us},
    {"COTENANT_SLO_SLOWDOWN", &protocol::Hello::sloSlowdownPermille},
    {"COTENANT_SLO_TTFT_US", &protocol::Hello::sloTtftUs},
    {"COTENANT_SLO_TPOT_US", &protocol::Hello::sloTpotUs},
    {"COTENANT_SLO_ITL_US", &protocol::Hello::sloItlUs},
    {"COTENANT_SLO_E2E_US", &protocol::Hello::sloE2eUs},
};

// The gang that this process is a rank of, by its launcher's variables.
struct Gang {
  std::uint64_t name;  // the same in all ranks, and in no other gang
  std::uint32_t rank;
  std::uint32_t ranks;
  const char* why_not;  // null: it is one
};

struct Environment {
  protocol::Class client_class;  // kNone: the interposer does nothing
  char socket[108];  // of the agent
  char name[48];
  std::uint64_t memory_quota;  // bytes; 0: none
  bool movable;  // COTENANT_MOVABLE, or park_after_ns: its memory can be parked
  std::uint64_t park_host;  // COTENANT_PARK_HOST: the most host memory for that, in bytes; 0: no limit
  char slo[sizeof protocol::Hello::slo];  // the whole objective
  std::uint32_t slo_parts[std::size(kSloParts)];  // of kSloParts
  char slo_metrics[sizeof protocol::Hello::sloMetrics];
  char kernels[4096];  // COTENANT_KERNELS: a file with the profile of this client's kernels; empty: none
  char record[4096];  // COTENANT_RECORD: of a process without a class, the file to write its recording to
  char chunks[4096];  // COTENANT_CHUNKS: where a best-effort client keeps its diary (chunk_log.h); empty: nowhere
  char ranks[64];  // the variable of a launcher that says that there are several ranks, as NAME=VALUE; empty: none
  Gang gang;  // where `ranks` is not empty
  const char* tool;  // the variable of a tool that inspects this program; null: none
  bool debug;  // COTENANT_DEBUG: report decisions on stderr
  std::uint64_t park_after_ns;  // COTENANT_PARK_AFTER_MS: idle for this long, a high client parks its memory; 0: never
};

[[nodiscard]] Environment read_environment() noexcept;

}  // namespace cotenant
