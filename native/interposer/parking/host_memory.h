// How much host memory this process may still take.
#pragma once

#include <cstdint>

namespace cotenant {

// Bytes: what the machine has available, or the process's control groups if that is less, without a reserve for
// others. 0 where the kernel does not say it.
[[nodiscard]] std::uint64_t host_memory_left() noexcept;

// So little is left on the machine or in a control group that another client may be unable to pin what it needs.
[[nodiscard]] bool host_memory_is_short() noexcept;

}  // namespace cotenant
