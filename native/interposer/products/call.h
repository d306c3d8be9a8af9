// What cuBLAS submits while a wrapper of ours has called it.
#pragma once

#include "interposer/state/submission.h"

namespace cotenant {

// What the library submits during one call of it on this thread.
struct ProductCall {
  static constexpr std::uint32_t kMost = 4;
  bool asking;  // noted, and withheld
  std::uint32_t launches{0};
  std::uint32_t copies{0};  // and fills, of semaphores for one
  bool other{false};        // something else
  LaunchShape launched[kMost]{};
  Estimate* estimate{nullptr};  // of this product: kernels that loop over a fixed grid look the same for every size
};
extern __constinit thread_local ProductCall* product_call;

// Notes what is submitted. True: it is only asked for and must not be submitted.
[[nodiscard]] bool note_product_launch(const Submission& submission) noexcept;

// In a product's call, its own estimate, which is of the first kernel: what follows only adds up.
[[nodiscard]] inline Estimate* product_estimate() noexcept {
  return product_call && product_call->launches == 1 ? product_call->estimate : nullptr;
}

}  // namespace cotenant
