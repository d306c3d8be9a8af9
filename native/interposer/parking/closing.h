// Closes the client for a time in which its memory is moved: the GPU has finished everything, and no thread of the program
// gets a call into the driver that may touch the memory. So nothing has to be known about streams that stand in a wait.
#pragma once

#include "interposer/parking/host_pool.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// Exists during a call of the program that may touch movable memory and is no launch of a best-effort client. Waits while
// the memory is moved or parked. Not to be nested.
class TouchesMemory {
 public:
  TouchesMemory() noexcept : counted_(is_movable()) {
    if (counted_) begin();
  }
  ~TouchesMemory() {
    if (counted_) end();
  }
  TouchesMemory(const TouchesMemory&) = delete;
  TouchesMemory& operator=(const TouchesMemory&) = delete;

 private:
  static void begin() noexcept;
  static void end() noexcept;
  bool counted_;
};

// Lets queued work finish, as the hold allows it, and stops the program's threads before they submit more. False, with the
// reason: it did not finish in time; then nothing is closed. Not on a thread of the program.
[[nodiscard]] bool close_for_moving(Gpu& gpu, std::uint64_t within_ns, Reason& reason) noexcept;
// The same of a service, which is closed only if it is idle and nobody wants in: its callers wait for milliseconds at most.
[[nodiscard]] bool close_if_idle(Gpu& gpu, Reason& reason) noexcept;
void open_after_moving(Gpu& gpu) noexcept;

// Since when a call has waited for the memory of this client (monotonic ns); 0: none has since it was closed.
[[nodiscard]] std::uint64_t wanted_since() noexcept;

void forget_closing() noexcept;  // in a forked child

}  // namespace cotenant
