// Copies the content of movable memory to the pool and back.
#pragma once

#include "interposer/agent/link.h"

namespace cotenant {

// In the current context, while the client is closed. False: the driver refused a copy.
[[nodiscard]] bool copy_blocks_out(const Link& link) noexcept;
// The blocks that were taken away, whose memory has been made again.
[[nodiscard]] bool copy_blocks_in(const Link& link) noexcept;

}  // namespace cotenant
