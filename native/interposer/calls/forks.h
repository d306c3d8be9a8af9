// Forks. A child has the mappings and descriptors of its parent, but is not the client.
#pragma once

#include "interposer/process/process.h"

namespace cotenant {

// From now on, children of this process discard the parent's state. Called once.
void expect_forks(Role role) noexcept;

}  // namespace cotenant
