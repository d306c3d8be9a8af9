// Takes gate decisions over a set of inputs, for callgrind to count and for a clock to time. `gate` takes
// each once and prints how many; `gate ROUNDS` also says how long one takes, at best.
#include "gate/gate.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "generated/rules.h"

using namespace cotenant;

namespace {

struct Input {
  const protocol::Settings& settings;
  Rules rules;
  GateView seen;
  Item item;
  Chunk chunk;
};

struct Table {
  bool protect, isolated, paused;
  protocol::WhenActive when_active;
  std::uint32_t resume_delay_us;
};

constexpr Table kTables[] = {
    {true, true, false, protocol::WhenActive::kWait, 0},           // strict, contexts in turns
    {true, false, false, protocol::WhenActive::kWait, 0},          // strict, side by side
    {true, false, false, protocol::WhenActive::kAllowOpposite, 500},
    {true, true, true, protocol::WhenActive::kWait, 0},            // paused by the agent
    {false, false, false, protocol::WhenActive::kAllow, 0},        // off
};

void fill(protocol::Settings& to, const Table& from) {
  protocol::set_strict_rules(to);
  to.protect = from.protect;
  to.isolated = from.isolated;
  to.paused = from.paused;
  to.whenActive = static_cast<std::uint32_t>(from.when_active);
  to.smLimit = 66;
  to.maxKernelUs = 500;
  to.activeAheadUs = 100;
  to.kernelsOut = 8;
  to.resumeDelayUs = from.resume_delay_us;
}

// Every table, with nobody to protect, an idle and an active high client, my turn and not, a pause short
// and long, nothing and something released; for a short, a long and an unknown kernel.
std::vector<Input> inputs() {
  static protocol::Settings settings[std::size(kTables)];
  constexpr Item kItems[] = {{20, true, KernelClass::kMemory, 32},
                             {900, true, KernelClass::kCompute, 132},
                             {5'000, false, KernelClass::kUnknown, 0}};
  std::vector<Input> all;
  for (std::size_t table = 0; table < std::size(kTables); ++table) {
    fill(settings[table], kTables[table]);
    for (const bool registered : {false, true})
      for (const bool active : {false, true})
        for (const bool my_turn : {false, true})
          for (const std::uint64_t held_us : {0, 300'000})
            for (const std::uint64_t ahead_us : {0, 150})
              for (const Item& item : kItems) {
                if (active && !registered) continue;
                const GateView seen{registered, active, KernelClass::kCompute, 1'000, my_turn, held_us, held_us,
                                    ahead_us,   2};
                const auto launches = static_cast<std::uint32_t>(all.size() % 18);
                all.push_back({settings[table], read_rules(settings[table]), seen, item, {launches * 12, launches}});
              }
  }
  return all;
}

}  // namespace

// A measured function: it counts with all that it calls. noipa: it is compiled without knowledge of the others.
#define MEASURED extern "C" __attribute__((noipa))

MEASURED std::uint32_t just_read_rules(const Input& in) { return read_rules(in.settings).chunk_us; }
MEASURED std::uint32_t just_release(const Input& in) { return static_cast<std::uint32_t>(release(in.rules, in.seen)); }
MEASURED std::uint32_t just_admit(const Input& in) {
  return static_cast<std::uint32_t>(admit(in.rules, in.seen, in.item));
}
MEASURED std::uint32_t just_closes(const Input& in) { return closes(in.rules, in.chunk, in.item); }
MEASURED std::uint32_t whole_decision(const Input& in) {
  const Rules rules = read_rules(in.settings);
  return static_cast<std::uint32_t>(release(rules, in.seen)) +
         static_cast<std::uint32_t>(admit(rules, in.seen, in.item)) + closes(rules, in.chunk, in.item);
}

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Input> all = inputs();
  std::uint32_t answers = 0;
  for (const Input& in : all)
    answers += just_read_rules(in) + just_release(in) + just_admit(in) + just_closes(in) + whole_decision(in);
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 0;
  double best_ns = 0;
  for (int round = 0; round < rounds; ++round) {
    constexpr int kPasses = 100;  // long beside a look at the clock
    const auto start = Clock::now();
    for (int pass = 0; pass < kPasses; ++pass)
      for (const Input& in : all) answers += whole_decision(in);
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    const double ns = took.count() / (kPasses * static_cast<double>(all.size()));
    if (round == 0 || ns < best_ns) best_ns = ns;
  }
  std::printf("{\"decisions\": %zu, \"ns\": %.2f, \"sum\": %u}\n", all.size(), best_ns, answers);
}
