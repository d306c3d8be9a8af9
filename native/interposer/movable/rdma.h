// Network cards that read and write GPU memory by themselves.
#pragma once

namespace cotenant {

// Whether this process has opened one, so that memory made for GPUDirect RDMA may be registered there: a card would go on
// with the physical memory of before. The registration itself is no call of CUDA.
[[nodiscard]] bool has_rdma_device() noexcept;

}  // namespace cotenant
