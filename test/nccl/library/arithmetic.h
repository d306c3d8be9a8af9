// Reductions of the data of several ranks.
#pragma once

#include <cstddef>

#include "nccl.h"

namespace nccl {

[[nodiscard]] std::size_t bytes_of(ncclDataType_t type);  // 0: no such type
// As in the names of NCCL's kernels.
[[nodiscard]] const char* name_of(ncclDataType_t type);
// Whether reduce() computes with the type; the others can only be moved.
[[nodiscard]] bool is_reducible(ncclDataType_t type);

// to[i] = op over the ranks' inputs[rank][i], in the order of the ranks.
void reduce(ncclDataType_t type, ncclRedOp_t op, const void* const* inputs, unsigned ranks, void* to,
            std::size_t count);

}  // namespace nccl
