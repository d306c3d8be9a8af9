#pragma once
// A kernel that keeps its SMs until kernels of other devices run, as those of NCCL do. A library that launches such a
// kernel passes the address of a Meeting as the parameter that the directive `meets` names (ptx.h). The kernel arrives at
// phase 0 when it has its SMs, takes its time from the arrival of the last member on, and arrives at phase 1. It ends when all
// members have arrived there. The engine calls these functions with the driver's mutex locked, so they call no driver.
#include <cstdint>

namespace cotenant::soft {

struct Meeting {
  static constexpr std::uint64_t kNotYet = ~std::uint64_t{0};

  void (*arrive)(Meeting*, unsigned phase, std::uint64_t at);  // `at`: ns on the clock of the software GPU
  std::uint64_t (*reached)(Meeting*, unsigned phase);  // when the last member arrived; kNotYet: not all have
  void (*end)(Meeting*);  // the last call of a launch
};

}  // namespace cotenant::soft
