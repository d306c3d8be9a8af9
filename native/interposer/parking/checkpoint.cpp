#include "interposer/parking/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/base/small_file.h"
#include "interposer/lookup/entry.h"
#include "interposer/parking/free_memory.h"
#include "interposer/process/process.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr unsigned kLockMs = 10'000;
constexpr std::size_t kMaxGpus = 64;

std::atomic<bool> checkpointed{false};
// Only the parking thread's.
std::uint64_t saved_bytes{0};  // of the GPU's memory, contexts included
bool is_lost{false};

struct Gpus {
  Uuid of[kMaxGpus];
  std::size_t count{0};

  void add(const Uuid& uuid) noexcept {
    if (count < kMaxGpus) of[count++] = uuid;
  }
  [[nodiscard]] bool has(const Uuid& uuid) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (of[i] == uuid) return true;
    return false;
  }
};
// Read before the process is saved, because the driver does not answer then. Only one thread saves.
Gpus machine;  // what the kernel's driver says
Gpus reachable;  // those of them whose devices this process may open: a container may have fewer
Gpus visible;  // the program's: CUDA_VISIBLE_DEVICES hides the others

// "GPU UUID: GPU-37a7f3fa-...": 32 digits, in which dashes stand.
bool read_uuid(const char* text, Uuid& uuid) noexcept {
  const char* at = std::strstr(text, "GPU-");
  unsigned char bytes[16]{};
  std::size_t digits = 0;
  for (at = at ? at + 4 : ""; *at != '\0' && digits < 32; ++at) {
    if (*at == '-') continue;
    const char* const known = "0123456789abcdef";
    const char* digit = std::strchr(known, *at);
    if (!digit) return false;
    bytes[digits / 2] = static_cast<unsigned char>(bytes[digits / 2] << 4 | (digit - known));
    ++digits;
  }
  uuid.read(bytes);
  return digits == 32;
}

// "Device Minor: 3"
bool may_open(const char* text) noexcept {
  constexpr const char* kMinor = "Device Minor:";
  const char* at = std::strstr(text, kMinor);
  if (!at) return false;
  char path[40];
  std::snprintf(path, sizeof path, "/dev/nvidia%d",
                static_cast<int>(std::strtol(at + std::strlen(kMinor), nullptr, 10)));
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

void read_machine() noexcept {
  machine.count = reachable.count = 0;
  DIR* directory = opendir("/proc/driver/nvidia/gpus");
  for (const dirent* entry = directory ? readdir(directory) : nullptr; entry; entry = readdir(directory)) {
    char path[400];
    char text[2048];
    std::snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", entry->d_name);
    read_text(path, text);
    Uuid uuid;
    if (!read_uuid(text, uuid)) continue;
    machine.add(uuid);
    if (may_open(text)) reachable.add(uuid);
  }
  if (directory) closedir(directory);
}

void read_visible() noexcept {
  visible.count = 0;
  int count = 0;
  const auto ask = real().cuDeviceGetUuid_v2 ? real().cuDeviceGetUuid_v2 : real().cuDeviceGetUuid;
  if (!ask || real().cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    CUuuid bytes{};
    if (real().cuDeviceGet(&device, i) != CUDA_SUCCESS || ask(&bytes, device) != CUDA_SUCCESS) continue;
    Uuid uuid;
    uuid.read(&bytes);
    visible.add(uuid);
  }
}

// The driver takes a permutation of all GPUs that it knows (measured with driver 580, which refuses a single pair).
CUresult restore_to(const Gpus& gpus, const GpuPair& pair) noexcept {
  if (!gpus.has(pair.from) || !gpus.has(pair.to)) return CUDA_ERROR_INVALID_VALUE;
  CUcheckpointGpuPair pairs[kMaxGpus];
  for (std::size_t i = 0; i < gpus.count; ++i) {
    const Uuid& old = gpus.of[i];
    old.write(&pairs[i].oldUuid);
    (old == pair.from ? pair.to : old == pair.to ? pair.from : old).write(&pairs[i].newUuid);
  }
  CUcheckpointRestoreArgs args{};
  args.gpuPairs = pairs;
  args.gpuPairsCount = static_cast<unsigned>(gpus.count);
  return real().cuCheckpointProcessRestore(getpid(), &args);
}

const char* name_of(CUresult error) noexcept {
  const char* name = nullptr;
  return real().cuGetErrorName && real().cuGetErrorName(error, &name) == CUDA_SUCCESS && name ? name
                                                                                              : "an unknown error";
}

// A margin for what others may allocate meanwhile, as far as there is one.
bool fits(const Uuid& gpu, Reason& reason) noexcept {
  GpuMemory memory{};
  if (!read_gpu_memory(gpu, memory)) {
    give_reason(reason, "NVML does not say how much memory is free");
    return false;
  }
  const std::uint64_t margin = std::min(memory.total / 64, (memory.total - std::min(memory.total, saved_bytes)) / 2);
  if (memory.free >= saved_bytes + margin) return true;
  give_reason(reason, "its %.1f GiB do not fit now", static_cast<double>(saved_bytes) / (1 << 30));
  return false;
}

}  // namespace

bool save_process(const Uuid& gpu, std::uint64_t used, Reason& reason) noexcept {
  const Real& driver = real();
  if (!driver.cuCheckpointProcessLock || !driver.cuCheckpointProcessCheckpoint || !driver.cuCheckpointProcessRestore ||
      !driver.cuCheckpointProcessUnlock) {
    give_reason(reason, "this driver has no checkpoints: 570 is the first that has them");
    return false;
  }
  GpuMemory before{};
  if (!read_gpu_memory(gpu, before)) {
    give_reason(reason, "NVML does not say how much memory is free, so that it might not come back");
    return false;
  }
  read_machine();
  read_visible();
  CUcheckpointLockArgs lock{};
  lock.timeoutMs = kLockMs;
  const CUresult locked = driver.cuCheckpointProcessLock(getpid(), &lock);
  if (locked == CUDA_ERROR_NOT_SUPPORTED)
    give_reason(reason, "the driver has no checkpoint of such a process, for example under MPS");
  else if (locked != CUDA_SUCCESS) give_reason(reason, "the driver did not stop it: %s", name_of(locked));
  if (locked != CUDA_SUCCESS) return false;
  checkpointed.store(true, std::memory_order_release);
  const CUresult saved = driver.cuCheckpointProcessCheckpoint(getpid(), nullptr);
  if (saved == CUDA_SUCCESS) {
    GpuMemory after{};
    const bool known = read_gpu_memory(gpu, after) && after.free > before.free;
    saved_bytes = std::max(used, known ? after.free - before.free : 0);
    return true;
  }
  if (saved == CUDA_ERROR_NOT_SUPPORTED)
    give_reason(reason, "the driver cannot save it: it may use managed memory, or share memory with another process");
  else give_reason(reason, "the driver did not save it: %s", name_of(saved));
  release_process();
  return false;
}

bool restore_process(const GpuPair& pair, Reason& reason) noexcept {
  const bool moves = !(pair.from == pair.to);
  if (is_lost) return false;
  if (moves && !reachable.has(pair.to) && !visible.has(pair.to)) {
    give_reason(reason, "the other GPU cannot be seen by it");
    return false;
  }
  if (!fits(pair.to, reason)) return false;
  CUresult result = moves ? restore_to(machine, pair) : real().cuCheckpointProcessRestore(getpid(), nullptr);
  if (moves && result == CUDA_ERROR_INVALID_VALUE) result = restore_to(visible, pair);
  if (result == CUDA_SUCCESS) return true;
  if (moves && result == CUDA_ERROR_INVALID_VALUE) {
    give_reason(reason, "the driver refuses the other GPU for it");
    return false;
  }
  // After any other error the driver refuses each further try, though it says that the process is still saved (580).
  is_lost = true;
  give_reason(reason, "the driver lost it while it brought it back (%s): it cannot go on. End it", name_of(result));
  tell("the driver lost this process while it brought its GPU memory back: %s. It cannot go on.", name_of(result));
  return false;
}

void release_process() noexcept {
  static_cast<void>(real().cuCheckpointProcessUnlock(getpid(), nullptr));
  checkpointed.store(false, std::memory_order_release);
}

bool is_process_lost() noexcept { return is_lost; }

void forget_checkpoint() noexcept { checkpointed.store(false, std::memory_order_relaxed); }

bool is_checkpointed() noexcept { return checkpointed.load(std::memory_order_acquire); }

}  // namespace cotenant
