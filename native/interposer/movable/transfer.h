// Copies the content of movable memory to the pool and back.
#pragma once

namespace cotenant {

// In the current context, while the client is closed. False: the driver refused a copy.
[[nodiscard]] bool copy_blocks_out() noexcept;
// The blocks that were taken away, whose memory has been made again.
[[nodiscard]] bool copy_blocks_in() noexcept;

}  // namespace cotenant
