// Whether the GPU has finished all that this process has submitted.
#pragma once

namespace cotenant {

// Asks the driver about each stream seen. Not while a thread may destroy a stream, and not while a capture is open.
[[nodiscard]] bool is_drained() noexcept;

}  // namespace cotenant
