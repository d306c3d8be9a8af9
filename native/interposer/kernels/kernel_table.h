// The profile of this program's kernels: the file that `cotenant run --profile` names in COTENANT_KERNELS, mapped once,
// when the first GPU is used. A lookup asks the driver for a name, so callers cache the answer by shape.
#pragma once

#include <cstdint>

#include "gate/gate.h"
#include "generated/protocol.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

// Maps the file if it is complete and for this GPU. Otherwise prints the reason to stderr.
void open_kernel_table(const char* gpu_name) noexcept;

// null: there is no table.
[[nodiscard]] const protocol::KernelTable* kernel_table() noexcept;

// The kernel of this name and shape; null: not profiled, or no table.
[[nodiscard]] const protocol::KernelEntry* profile_of(const LaunchShape& shape) noexcept;

[[nodiscard]] inline KernelClass class_of(const protocol::KernelEntry& entry) noexcept {
  return entry.class_ <= 2 ? static_cast<KernelClass>(entry.class_) : KernelClass::kUnknown;
}

}  // namespace cotenant
