// The lock under which memory moves, and the contexts whose memory it is: a context that ends takes its memory with it.
#pragma once

#include "driver/abi.h"

namespace cotenant {

class Moving {
 public:
  Moving() noexcept;
  ~Moving();
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;
};

// Exists while a context is ended, so that no memory of it moves meanwhile. What is parked then ends with it.
class EndsMemory {
 public:
  EndsMemory() noexcept;
  ~EndsMemory();
  EndsMemory(const EndsMemory&) = delete;
  EndsMemory& operator=(const EndsMemory&) = delete;

 private:
  bool held_;
};
void parking_context_ended(cu::CUcontext context) noexcept;
// Memory that was allocated in the green context `green`, which has ended, ends with `context`.
void parking_context_joins(cu::CUcontext green, cu::CUcontext context) noexcept;

// The context in which the pool is registered: that of the first block that has one. Null: none has.
[[nodiscard]] cu::CUcontext pool_context() noexcept;

void forget_moving() noexcept;  // in a forked child

}  // namespace cotenant
