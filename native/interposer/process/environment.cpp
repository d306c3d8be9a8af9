#include "interposer/process/environment.h"

#include <errno.h>  // program_invocation_short_name
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/base/hash.h"

namespace cotenant {
namespace {

// Tools that replay, patch or count kernels must see a best-effort program without preemption points, gates and variants.
constexpr const char* kTools[] = {
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR",  // ncu
    "NV_NSIGHT_INJECTION_PORT_BASE",  // ncu, nsys
    "NV_TPS_LAUNCH_UUID",  // Nsight tools
    "NV_SANITIZER_INJECTION_PORT_BASE",  // compute-sanitizer
    "CUDBG_APICLIENT_PID",  // cuda-gdb
};

std::uint64_t number(const char* name) noexcept {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

bool is_switched_off() noexcept {
  const char* off = std::getenv("COTENANT_OFF");
  return off && *off && std::strcmp(off, "0") != 0;
}

const char* find_tool() noexcept {
  for (const char* tool : kTools)
    if (std::getenv(tool)) return tool;
  return nullptr;
}

// The same as severalRanks() of src/protocol/ranks.ts.
template <std::size_t N>
void read_ranks(char (&into)[N]) noexcept {
  for (const char* name : protocol::RANK_COUNTS) {
    const char* text = std::getenv(name);
    char* end = nullptr;
    const long count = text ? std::strtol(text, &end, 10) : 0;
    if (count <= 1 || *end != '\0') continue;
    std::snprintf(into, N, "%s=%ld", name, count);
    return;
  }
}

bool read_count(const char* name, long& into) noexcept {
  const char* text = name ? std::getenv(name) : nullptr;
  char* end = nullptr;
  into = text ? std::strtol(text, &end, 10) : 0;
  return text && end != text && *end == '\0';
}

std::uint64_t fold_text(std::uint64_t hash, const char* text) noexcept {
  for (; text && *text; ++text) hash = fnv1a(hash, static_cast<unsigned char>(*text));
  return fnv1a(hash, 0);
}

// The same as gangOf() of src/protocol/ranks.ts.
Gang read_gang() noexcept {
  for (const protocol::Launcher& launcher : protocol::LAUNCHERS) {
    long ranks = 0, rank = 0, here = 0, nodes = 0;
    if (!read_count(launcher.ranks, ranks) || ranks <= 1 || !read_count(launcher.rank, rank)) continue;
    Gang gang{fold_text(kFnvBasis, std::getenv("COTENANT_SOCKET")), static_cast<std::uint32_t>(rank),
              static_cast<std::uint32_t>(ranks), nullptr};
    const bool elsewhere =
        (read_count(launcher.here, here) && here != ranks) || (read_count(launcher.nodes, nodes) && nodes > 1);
    bool named = false;
    for (const char* name : launcher.names) {
      const char* text = name ? std::getenv(name) : nullptr;
      named = named || text;
      gang.name = fold_text(gang.name, text);
    }
    if (ranks > long{protocol::MAX_GANG_RANKS}) gang.why_not = protocol::GANG_TOO_LARGE;
    else if (rank < 0 || rank >= ranks) gang.why_not = protocol::GANG_NO_RANK;
    else if (elsewhere) gang.why_not = protocol::GANG_ELSEWHERE;
    else if (!named) gang.why_not = protocol::GANG_UNNAMED;
    return gang;
  }
  return {0, 0, 0, protocol::GANG_UNNAMED};
}

protocol::Class read_class() noexcept {
  const char* text = std::getenv("COTENANT_CLASS");
  if (text && std::strcmp(text, "high") == 0) return protocol::Class::kHigh;
  if (text && std::strcmp(text, "best-effort") == 0) return protocol::Class::kBestEffort;
  return protocol::Class::kNone;
}

// Makes the path absolute, because the program may change its directory before it ends.
template <std::size_t N>
void read_path(const char* variable, char (&into)[N]) noexcept {
  const char* path = std::getenv(variable);
  char here[N];
  if (!path || !*path) return;
  const bool whole = *path == '/' || !getcwd(here, sizeof here);
  const int length = whole ? std::snprintf(into, N, "%s", path) : std::snprintf(into, N, "%s/%s", here, path);
  if (length < 0 || static_cast<std::size_t>(length) >= N) into[0] = '\0';
}

}  // namespace

Environment read_environment() noexcept {
  Environment e{};
  const bool off = is_switched_off();
  e.client_class = off ? protocol::Class::kNone : read_class();
  e.tool = e.client_class == protocol::Class::kNone ? nullptr : find_tool();
  // A high client's work is only observed, so it may run under a tool.
  const bool aside = off || (find_tool() && e.client_class != protocol::Class::kHigh);
  if (aside) e.client_class = protocol::Class::kNone;
  read_ranks(e.ranks);
  if (e.ranks[0] != '\0') e.gang = read_gang();
  if (!aside && e.client_class == protocol::Class::kNone) read_path("COTENANT_RECORD", e.record);
  if (e.client_class == protocol::Class::kBestEffort) read_path("COTENANT_CHUNKS", e.chunks);
  const char* socket = std::getenv("COTENANT_SOCKET");
  const char* name = std::getenv("COTENANT_NAME");
  if (socket) std::snprintf(e.socket, sizeof e.socket, "%s", socket);
  std::snprintf(e.name, sizeof e.name, "%s", name ? name : program_invocation_short_name);
  const char* kernels = std::getenv("COTENANT_KERNELS");
  if (kernels) std::snprintf(e.kernels, sizeof e.kernels, "%s", kernels);
  e.memory_quota = number("COTENANT_MEMORY");
  if (e.client_class == protocol::Class::kHigh) e.park_after_ns = number("COTENANT_PARK_AFTER_MS") * 1'000'000;
  const bool parks = e.client_class == protocol::Class::kBestEffort && number("COTENANT_MOVABLE") != 0;
  e.movable = parks || e.park_after_ns > 0;
  e.park_host = number("COTENANT_PARK_HOST");
  for (std::size_t i = 0; i < std::size(kSloParts); ++i)
    e.slo_parts[i] = static_cast<std::uint32_t>(number(kSloParts[i].variable));
  const char* metrics = std::getenv("COTENANT_SLO_METRICS");
  if (metrics) std::snprintf(e.slo_metrics, sizeof e.slo_metrics, "%s", metrics);
  const char* slo = std::getenv("COTENANT_SLO");
  if (slo) std::snprintf(e.slo, sizeof e.slo, "%s", slo);
  e.debug = std::getenv("COTENANT_DEBUG") != nullptr;
  return e;
}

}  // namespace cotenant
