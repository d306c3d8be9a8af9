// A context that is current during the interposer's own driver calls.
#pragma once

#include "interposer/lookup/entry.h"

namespace cotenant {

// The calling thread's current context during one call of the interposer.
class Current {
 public:
  explicit Current(cu::CUcontext wanted) noexcept {
    cu::CUcontext current = nullptr;
    if (real().cuCtxGetCurrent(&current) == cu::CUDA_SUCCESS && current == wanted) is_ = true;
    else is_ = pushed_ = real().cuCtxPushCurrent_v2 && real().cuCtxPushCurrent_v2(wanted) == cu::CUDA_SUCCESS;
  }
  ~Current() {
    cu::CUcontext popped = nullptr;
    if (pushed_) real().cuCtxPopCurrent_v2(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  [[nodiscard]] bool is() const noexcept { return is_; }

 private:
  bool is_{false};
  bool pushed_{false};
};

// A device's primary context, which the program may not have, for as long as this exists. Null: no device.
class RetainedPrimary {
 public:
  explicit RetainedPrimary(const cu::CUdevice* device) noexcept : device_(device) {
    if (device && real().cuDevicePrimaryCtxRetain(&context_, *device) != cu::CUDA_SUCCESS) context_ = nullptr;
  }
  ~RetainedPrimary() {
    if (context_) static_cast<void>(real().cuDevicePrimaryCtxRelease_v2(*device_));
  }
  RetainedPrimary(const RetainedPrimary&) = delete;
  RetainedPrimary& operator=(const RetainedPrimary&) = delete;
  [[nodiscard]] cu::CUcontext context() const noexcept { return context_; }

 private:
  const cu::CUdevice* device_;
  cu::CUcontext context_{nullptr};
};

}  // namespace cotenant
