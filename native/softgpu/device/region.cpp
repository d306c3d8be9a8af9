// The shared file on disk, and who is alive. A living process holds a lock on a byte of the file, which the kernel frees when
// the process ends. Pids would say nothing across PID namespaces.
#include "softgpu/device/region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libc/file_status.h"
#include "softgpu/device/visible.h"

namespace cotenant::soft {
namespace {

// Fields 3 and 22 of /proc/PID/stat; state is 0 if it can't be read.
struct Stat {
  char state;
  std::uint64_t start_time;
};

Stat read_stat(const std::string& process) {
  char text[1024];
  const int file = open(("/proc/" + process + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return {};
  text[length] = 0;
  const char* at = std::strrchr(text, ')');  // the name may contain anything, spaces and parentheses too
  if (at == nullptr || at[1] == 0) return {};
  at += 2;
  const char state = *at;
  for (int field = 3; field < 22; ++field) {
    at = std::strchr(at, ' ');
    if (at == nullptr) return {};
    ++at;
  }
  return {state, std::strtoull(at, nullptr, 10)};
}

void read_boot_id(char (&out)[40]) {
  std::memset(out, 0, sizeof out);
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (read(file, out, sizeof out - 1) < 0) out[0] = 0;
  close(file);
}

int open_file(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return -1;
  struct stat info;
  if (!file_status(directory.c_str(), &info, AT_SYMLINK_NOFOLLOW)) return -1;
  // Another user's directory, or one that others may write to, could feed us anything. Root's is that of the machine's agent.
  const bool trusted = info.st_uid == geteuid() || info.st_uid == 0;
  if (!S_ISDIR(info.st_mode) || !trusted || (info.st_mode & 022) != 0) {
    errno = EPERM;
    return -1;
  }
  const int low = open((directory + "/devices").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (low < 0) return -1;
  // A high number, because some programs close or redirect low descriptors by number.
  const int high = fcntl(low, F_DUPFD_CLOEXEC, 400);
  if (high < 0) return low;
  close(low);
  return high;
}

// The whole file gets its blocks now: a page that the disk has no room for would end a process by SIGBUS.
bool make_blank(int file, off_t size) {
  if (ftruncate(file, 0) != 0) return false;
  const int error = posix_fallocate(file, 0, size);
  if (error == 0) return true;
  if (ftruncate(file, 0) != 0) return false;
  errno = error;
  return false;
}

// Byte 0 is the lock between processes; each process holds one of those that follow for as long as it lives.
struct flock lock_on(short type, unsigned byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = off_t(byte);
  lock.l_len = 1;
  return lock;
}

bool set_lock(int file, short type, int command, unsigned byte = 0) {
  struct flock lock = lock_on(type, byte);
  return fcntl(file, command, &lock) == 0;
}

// Whether another process has locked the byte.
bool is_locked(int file, unsigned byte) {
  struct flock lock = lock_on(F_WRLCK, byte);
  return fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

constexpr unsigned byte_of(unsigned process) { return 1 + process; }

}  // namespace

std::string uuid_text(const unsigned char (&uuid)[16]) {
  char text[48] = "GPU-";
  char* at = text + 4;
  for (int byte = 0; byte < 16; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) *at++ = '-';
    at += std::snprintf(at, 3, "%02x", uuid[byte]);
  }
  return text;
}

Region::Lock::Lock(Region& region) : file_(region.file_) {
  const Nanos deadline = now() + kLockPatience;
  while (!set_lock(file_, F_WRLCK, F_SETLK) && (errno == EAGAIN || errno == EACCES || errno == EINTR) &&
         now() < deadline) {
    const timespec pause{0, long(20 * kMicro)};
    nanosleep(&pause, nullptr);
  }
}

Region::Lock::~Lock() { set_lock(file_, F_UNLCK, F_SETLK); }

bool Region::join(const Settings& settings) {
  if (file_ < 0) file_ = open_file(settings.directory);  // a second try keeps it: to close it would drop others' locks
  if (file_ < 0) return false;
  const Lock lock(*this);
  struct stat info;
  if (!file_status(file_, &info)) return false;
  if (std::uint64_t(info.st_size) != sizeof(Shared)) {
    if (!make_blank(file_, sizeof(Shared))) return false;
  }
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) return false;
  shared_ = static_cast<Shared*>(memory);
  configure(settings);
  choose_visible(settings);
  if (visible_ == 0) return withdraw(ENODEV);
  for (self_ = 0; self_ < kMaxProcesses; ++self_) {
    Process& process = shared_->processes[self_];
    if (process.pid.load() != 0 || !set_lock(file_, F_WRLCK, F_SETLK, byte_of(self_))) continue;
    process.doorbell = 0;
    for (auto& bytes : process.memory) bytes = 0;
    process.start_time = read_stat("self").start_time;
    process.pid = std::uint32_t(getpid());  // last: from here on the entry counts
    return true;
  }
  return withdraw(EUSERS);
}

bool Region::withdraw(int error) {
  munmap(shared_, sizeof(Shared));
  shared_ = nullptr;
  errno = error;
  return false;
}

// The first process decides what the devices are; later ones get the same devices.
void Region::configure(const Settings& settings) {
  char boot[40];
  read_boot_id(boot);
  if (shared_->magic != kMagic || shared_->layout != kLayout || shared_->size != sizeof(Shared) ||
      std::memcmp(shared_->boot_id, boot, sizeof boot) != 0) {
    std::memset(static_cast<void*>(shared_), 0, sizeof(Shared));
  }
  reap_locked();
  for (const Process& process : shared_->processes) {
    if (process.pid.load() != 0) return;
  }
  std::memset(static_cast<void*>(shared_), 0, sizeof(Shared));
  std::memcpy(shared_->boot_id, boot, sizeof boot);
  for (unsigned i = 0; i < settings.devices; ++i) {
    DeviceState& device = shared_->device[i];
    device.memory_total = settings.memory;
    device.sms = settings.sms;
    device.compute_capability = settings.compute_capability;
    const unsigned char uuid[16] = {0xc0, 0x7e, 0x4a, 0x17, 0x50, 0xf7, 0x46, 0x90,
                                    0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
    std::memcpy(device.uuid, uuid, sizeof uuid);
    device.uuid[14] = static_cast<unsigned char>(settings.serial);
    device.uuid[15] = static_cast<unsigned char>(i);
  }
  shared_->devices = settings.devices;
  shared_->size = sizeof(Shared);
  shared_->layout = kLayout;
  shared_->magic = kMagic;
}

// CUDA_DEVICE_ORDER changes nothing: the devices are equally fast, and their order is that of their PCI addresses.
void Region::choose_visible(const Settings& settings) {
  std::vector<std::string> uuids;
  for (unsigned i = 0; i < shared_->devices.load(); ++i) uuids.push_back(uuid_text(shared_->device[i].uuid));
  std::vector<unsigned> order = visible_devices(settings.visible, uuids);
  visible_ = unsigned(order.size());
  for (unsigned i = 0; i < kMaxDevices; ++i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  }
  std::copy(order.begin(), order.end(), at_);
}

void Region::leave() {
  if (shared_ == nullptr) return;
  const Lock lock(*this);
  for (unsigned device = 0; device < kMaxDevices; ++device) {
    for (unsigned slot = 0; slot < kMaxContexts; ++slot) {
      if (context(device, slot).process.load() == self_ + 1) release_context(device, slot);
    }
  }
  for (auto& bytes : self().memory) bytes = 0;
  self().pid = 0;
  set_lock(file_, F_UNLCK, F_SETLK, byte_of(self_));
}

bool Region::alive(const Process& process) const {
  if (process.pid.load() == 0) return false;
  // A process does not see its own locks, and a process may contain this library twice.
  const bool own =
      process.pid.load() == std::uint32_t(getpid()) && process.start_time.load() == read_stat("self").start_time;
  return own || is_locked(file_, byte_of(unsigned(&process - shared_->processes)));
}

bool Region::owner_alive(unsigned device, unsigned slot) {
  const std::uint32_t owner = context(device, slot).process.load();
  return owner != 0 && owner <= kMaxProcesses && alive(shared_->processes[owner - 1]);
}

bool Region::owner_stopped(unsigned device, unsigned slot) {
  const std::uint32_t owner = context(device, slot).process.load();
  if (owner == 0 || owner > kMaxProcesses) return false;
  const Process& process = shared_->processes[owner - 1];
  const Stat stat = read_stat(std::to_string(process.pid.load()));
  // In another PID namespace the number is somebody else's.
  return stat.start_time == process.start_time.load() && (stat.state == 'T' || stat.state == 't');
}

void Region::reap() {
  const Lock lock(*this);
  reap_locked();
}

void Region::reap_locked() {
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    Process& process = shared_->processes[i];
    if (process.pid.load() == 0 || alive(process)) continue;
    for (unsigned device = 0; device < kMaxDevices; ++device) {
      for (unsigned slot = 0; slot < kMaxContexts; ++slot) {
        if (context(device, slot).process.load() == i + 1) release_context(device, slot);
      }
    }
    for (auto& bytes : process.memory) bytes = 0;
    process.pid = 0;
  }
}

bool Region::charge(unsigned device, std::uint64_t bytes) {
  const Lock lock(*this);
  const std::uint64_t total = this->device(device).memory_total.load();
  for (bool reaped = false;; reaped = true) {
    std::uint64_t sum = 0;
    for (const Process& process : shared_->processes) {
      if (process.pid.load() != 0) sum += process.memory[at_[device]].load();
    }
    if (sum <= total && bytes <= total - sum) break;
    if (reaped) return false;
    reap_locked();
  }
  self().memory[at_[device]] += bytes;
  return true;
}

void Region::discharge(unsigned device, std::uint64_t bytes) { self().memory[at_[device]] -= bytes; }

std::uint64_t Region::used_bytes(unsigned device) {
  const Lock lock(*this);
  reap_locked();
  std::uint64_t sum = 0;
  for (const Process& process : shared_->processes) {
    if (process.pid.load() != 0) sum += process.memory[at_[device]].load();
  }
  return sum;
}

void Region::exchange(const unsigned (&now_at)[kMaxDevices]) {
  unsigned fresh[kMaxDevices];
  for (unsigned i = 0; i < kMaxDevices; ++i) fresh[i] = at_[now_at[i]];
  for (unsigned i = 0; i < kMaxDevices; ++i) at_[i] = fresh[i];
}

int Region::claim_context(unsigned device) {
  const Lock lock(*this);
  reap_locked();
  for (unsigned slot = 0; slot < kMaxContexts; ++slot) {
    ContextSlot& entry = context(device, slot);
    if (entry.process.load() != 0) continue;
    entry.sms_held = 0;
    entry.sms_wanted = 0;
    entry.runnable_since = 0;
    entry.busy_ns = 0;
    entry.sm_ns = 0;
    entry.process = self_ + 1;
    return int(slot);
  }
  return -1;
}

void Region::release_context(unsigned device, unsigned slot) {
  ContextSlot& entry = context(device, slot);
  entry.runnable_since = 0;
  entry.sms_wanted = 0;
  entry.sms_held = 0;
  DeviceState& state = this->device(device);
  std::uint64_t turn = state.turn.load();
  if ((turn & 0xff) == slot + 1) {
    state.freed_at = now();
    state.turn.compare_exchange_strong(turn, 0);
  }
  entry.process = 0;
  // Wakes the processes that wait for this turn, or for these SMs.
  for (unsigned other = 0; other < kMaxContexts; ++other) {
    if (context(device, other).runnable_since.load() != 0 || context(device, other).sms_wanted.load() != 0) {
      ring_owner(device, other);
    }
  }
}

void Region::ring(unsigned process_index) {
  std::atomic<std::uint32_t>& bell = shared_->processes[process_index].doorbell;
  bell.fetch_add(1);  // seq_cst: pairs with the engine's read of the bell before it sleeps
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Region::ring_others() {
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    if (i != self_ && shared_->processes[i].pid.load() != 0) ring(i);
  }
}

void Region::ring_owner(unsigned device, unsigned slot) {
  const std::uint32_t owner = context(device, slot).process.load();
  if (owner != 0 && owner <= kMaxProcesses) ring(owner - 1);
}

}  // namespace cotenant::soft
