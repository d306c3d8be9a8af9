// How much memory this process's control groups leave it.
#pragma once

#include <cstdint>

namespace cotenant {

// Bytes: the least that its group and those above it leave, of version 2 and of version 1; all ones where none sets a limit.
// What files take of the page cache counts as left, because the kernel gives it up: a training that reads its data set fills
// its group up to the limit with that.
[[nodiscard]] std::uint64_t group_memory_left() noexcept;

}  // namespace cotenant
