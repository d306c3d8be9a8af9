#pragma once
// This process's part in the shared file: it joins and leaves, charges memory, claims contexts, and detects dead
// processes. Every method may be called by any thread that holds the driver's mutex; none waits longer than
// kLockPatience.
#include "softgpu/device/device.h"
#include "softgpu/device/settings.h"

namespace cotenant::soft {

// As NVIDIA's tools write it: GPU-00000000-0000-….
std::string uuid_text(const unsigned char (&uuid)[16]);

class Region {
 public:
  bool join(const Settings& settings);  // false: errno says why; ENODEV: no device is visible
  void leave();
  [[nodiscard]] bool joined() const { return shared_ != nullptr; }

  Shared& shared() { return *shared_; }
  // How many devices the program sees; their numbers come first.
  [[nodiscard]] unsigned devices() const { return visible_; }
  // Where among all devices of the machine it is.
  [[nodiscard]] unsigned place(unsigned index) const { return at_[index]; }
  // A process knows its devices by numbers of its own, which a checkpoint may give to others (exchange()).
  DeviceState& device(unsigned index) { return shared_->device[at_[index]]; }
  // Which device has which number from now on: number i is the device that had number `now_at[i]`.
  void exchange(const unsigned (&now_at)[kMaxDevices]);
  Process& self() { return shared_->processes[self_]; }

  // Charges this process, or refuses because all live processes together would exceed the device.
  bool charge(unsigned device, std::uint64_t bytes);
  void discharge(unsigned device, std::uint64_t bytes);
  std::uint64_t used_bytes(unsigned device);  // by all live processes
  [[nodiscard]] std::uint64_t own_bytes(unsigned device) { return self().memory[at_[device]].load(); }

  // -1: none is free.
  int claim_context(unsigned device);
  void release_context(unsigned device, unsigned slot);
  ContextSlot& context(unsigned device, unsigned slot) { return this->device(device).contexts[slot]; }

  bool owner_alive(unsigned device, unsigned slot);
  // A signal or a debugger has stopped it, as far as can be seen.
  bool owner_stopped(unsigned device, unsigned slot);
  void reap();  // frees what dead processes left
  void ring(unsigned process_index);
  void ring_others();
  void ring_owner(unsigned device, unsigned slot);

  // The lock between processes. Its wait is bounded: after kLockPatience the caller goes on without the lock, so that a
  // stopped process can't stop the others. At worst a sum of memory is wrong then.
  class Lock {
   public:
    explicit Lock(Region& region);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_;
  };

 private:
  static constexpr Nanos kLockPatience = 100 * kMilli;

  void reap_locked();
  void configure(const Settings& settings);
  bool withdraw(int error);  // join() has failed
  void choose_visible(const Settings& settings);
  [[nodiscard]] bool alive(const Process& process) const;

  Shared* shared_ = nullptr;
  int file_ = -1;
  unsigned self_ = 0;
  unsigned visible_ = 0;
  unsigned at_[kMaxDevices] = {0, 1, 2, 3, 4, 5, 6, 7};
};

}  // namespace cotenant::soft
