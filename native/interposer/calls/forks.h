// What a fork takes away: a child has the mappings and descriptors of its parent, but is not the client.
#pragma once

#include "interposer/process/process.h"

namespace cotenant {

// Children of this process let go of all that is the parent's. Once.
void expect_forks(Role role) noexcept;

}  // namespace cotenant
