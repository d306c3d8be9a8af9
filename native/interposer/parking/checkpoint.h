// The driver's checkpoint of this process (cuCheckpointProcess*, driver 570): everything that it has on GPUs goes to host
// memory that the driver allocates in the process, and comes back, also to another GPU of the same kind. It needs nothing
// of the program, and takes ten to thirty times as long as parking.
#pragma once

#include "interposer/agent/link.h"
#include "interposer/parking/host_pool.h"

namespace cotenant {

// Saves the process, which has `used` bytes on `gpu`. All its calls of the driver block from now on, also those of our own
// threads. False, with the reason: nothing has changed. Called by a thread that is in no call of the driver, when the GPU has
// no work of the process.
[[nodiscard]] bool save_process(const Uuid& gpu, std::uint64_t used, Reason& reason) noexcept;

struct GpuPair {
  Uuid from;
  Uuid to;
};
// Brings it back to `pair.to`. If this is not the GPU that it was on, the two change places for it. Its calls go on blocking
// until release_process(). False, with the reason: it is still saved. A driver that begins and finds too little memory leaves a
// process that can never go on (seen with 580), so free memory is read before. A program that takes the memory in the seconds of
// a restore can still do that harm.
[[nodiscard]] bool restore_process(const GpuPair& pair, Reason& reason) noexcept;
void release_process() noexcept;

// Between save_process() and release_process().
[[nodiscard]] bool is_checkpointed() noexcept;

// The driver failed while it brought the process back, and refuses each further try.
[[nodiscard]] bool is_process_lost() noexcept;

void forget_checkpoint() noexcept;  // in a forked child

}  // namespace cotenant
