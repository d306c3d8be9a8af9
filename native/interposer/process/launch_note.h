// The note of `cotenant run` about the program that it has become (src/agent/directory/launches.ts): a file that is there until the
// program, or a child of it, has a CUDA context.
#pragma once

namespace cotenant {

// A context is made.
void remove_launch_note() noexcept;

}  // namespace cotenant
