#pragma once
// The state of a machine's software GPUs that all processes share: the file `devices` in the directory named by
// COTENANT_SOFTGPU_DIR, mapped by everyone. Little-endian, fixed layout; a reader (the NVML stand-in) checks magic,
// version and size, then reads without locking.
//
// Invariant: every word is either owned by one live process (found by pid and start time) or repaired by whoever
// notices that its owner is dead. So SIGKILL at any instruction leaves nothing that blocks the others. Structural
// changes (claiming, releasing, charging memory) are made under a file lock, which the kernel drops at death.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "softgpu/device/clock.h"

namespace cotenant::soft {

inline constexpr std::uint32_t kMagic = 0x47534f43;  // "COSG"
inline constexpr std::uint32_t kLayout = 1;
inline constexpr unsigned kMaxDevices = 8;
inline constexpr unsigned kMaxProcesses = 128;
inline constexpr unsigned kMaxContexts = 128;  // a device; below 256, the turn word has 8 bits for it

inline constexpr Nanos kSlice = 1'024 * kMicro;  // how long a context keeps the SMs while another wants them
inline constexpr Nanos kSwitch = 20 * kMicro;    // SMs idle while one context replaces another

struct Process {
  std::atomic<std::uint32_t> pid;  // 0: free
  std::atomic<std::uint32_t> doorbell;  // futex: counts events that its engine should look at
  std::atomic<std::uint64_t> start_time;  // of the process, in clock ticks since boot: a pid alone may be reused
  std::atomic<std::uint64_t> memory[kMaxDevices];  // bytes in use on each device
};

struct ContextSlot {
  std::atomic<std::uint32_t> process;   // index + 1 into processes; 0: free
  std::atomic<std::uint32_t> sms_held;  // mode mps: SMs its running kernels occupy
  std::atomic<std::uint32_t> sms_wanted;  // mode mps: SMs its most urgent waiting kernel needs; 0: none waits
  std::atomic<std::int32_t> urgency;      // mode mps: of that kernel; lower goes first
  std::atomic<std::uint64_t> runnable_since;  // time-slicing: ns; 0: nothing to run
  std::atomic<std::uint64_t> busy_ns;         // time with at least one kernel running
  std::atomic<std::uint64_t> sm_ns;           // the same, times SMs occupied
};

struct DeviceState {
  std::atomic<std::uint64_t> memory_total;  // bytes
  std::atomic<std::uint32_t> sms;
  std::atomic<std::uint32_t> compute_capability;  // 10 * major + minor
  unsigned char uuid[16];
  std::atomic<std::uint64_t> turn;      // time-slicing: since << 8 | slot + 1; 0: nobody has the SMs
  std::atomic<std::uint64_t> freed_at;  // when a turn, or SMs in mode mps, was last given up; ns
  std::atomic<std::uint32_t> last_slot;  // who had the last turn: no switch cost for the same again
  std::atomic<std::uint32_t> switches;
  std::atomic<std::uint64_t> busy_ns;  // sums over all contexts that ever were
  std::atomic<std::uint64_t> sm_ns;
  ContextSlot contexts[kMaxContexts];
};

struct Shared {
  std::uint32_t magic;
  std::uint32_t layout;
  std::uint64_t size;  // sizeof(Shared)
  std::atomic<std::uint32_t> devices;
  std::uint32_t reserved;
  char boot_id[40];  // a file from before a reboot is not valid
  Process processes[kMaxProcesses];
  DeviceState device[kMaxDevices];
};

static_assert(sizeof(Process) == 80 && sizeof(ContextSlot) == 40, "the layout is read by other programs");
static_assert(offsetof(Shared, processes) == 64 && offsetof(Shared, device) == 64 + 80 * kMaxProcesses);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace cotenant::soft
