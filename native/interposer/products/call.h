// Counts work that cuBLAS submits during a call by one of the interposer's wrappers.
#pragma once

#include "interposer/state/submission.h"

namespace cotenant {

// Work that the library submits during one call of it on this thread.
struct ProductCall {
  static constexpr std::uint32_t kMaxLaunches = 4;
  bool asking;  // launches are recorded and not submitted
  std::uint32_t launches{0};
  std::uint32_t copies{0};  // also fills, for example of semaphores
  bool other{false};        // it submitted something else
  LaunchShape launched[kMaxLaunches]{};
  Estimate* estimate{
      nullptr};  // the product's estimate, because kernels that loop over a fixed grid look the same for every size
};
extern __constinit thread_local ProductCall* product_call;

// Records a submission. True: the library is only being asked, so the launch must not be submitted.
[[nodiscard]] bool note_product_launch(const Submission& submission) noexcept;

// The product's own estimate, during its call. It measures the first kernel; later ones only sum results.
[[nodiscard]] inline Estimate* product_estimate() noexcept {
  return product_call && product_call->launches == 1 ? product_call->estimate : nullptr;
}

}  // namespace cotenant
