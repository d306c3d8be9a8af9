// How much memory this process's control groups leave it.
#pragma once

#include "interposer/parking/memory_room.h"

namespace cotenant {

// The least that its group and those above it leave, of version 2 and of version 1; all ones where none sets a limit. The reserve of a
// group follows from its own limit. What files take of the page cache counts as left, because the kernel gives it up: a training that reads its
// data set fills its group up to the limit with that.
[[nodiscard]] MemoryRoom group_memory() noexcept;

}  // namespace cotenant
