#pragma once
// The library's own entry points by name, and by the name and version that cuGetProcAddress is asked for.
#include "driver/abi.h"

namespace cotenant::soft {

// An exported symbol; null: there is none.
void* find_symbol(const char* symbol);

enum class Found { yes, too_old, no };

// The version of `name` that a program built for `version` expects.
Found find_version(const char* name, int version, bool per_thread, void** out);

}  // namespace cotenant::soft
