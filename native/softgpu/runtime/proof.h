#pragma once
// The runtime's question whether it fits this driver, which it asks before anything else works: decision 0035.
#include "driver/abi.h"

namespace cotenant::soft::runtime {

struct Question {
  std::uint32_t version;  // of the runtime, and in its last digit which question it is
  std::uint64_t seconds;
  const void* runtime_table;
  const void* proof_table;
  const void* function;
};

cu::CUresult answer_to(const Question& question, std::uint64_t (&answer)[2]);

}  // namespace cotenant::soft::runtime
