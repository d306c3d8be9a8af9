#pragma once
// Declares every entry point, so that a definition with the wrong parameters does not compile into an export.
#include "driver/abi.h"

namespace cotenant::cu {

#define HOOK(symbol, parameters, arguments) \
  extern "C" __attribute__((visibility("default"))) CUresult symbol parameters;
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL

}  // namespace cotenant::cu
