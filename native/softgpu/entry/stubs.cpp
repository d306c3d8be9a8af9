// The remaining exports, made from entries.def so that none is missing. All are weak: a definition elsewhere takes
// precedence. A _ptds or _ptsz function runs its plain function with stream 0 meaning the thread's own. All others
// return CUDA_ERROR_NOT_SUPPORTED; unsupported.def lists them, and a test compares.
#include <cstring>

#include "softgpu/entry/entries.h"
#include "softgpu/entry/lacking.h"
#include "softgpu/entry/symbols.h"
#include "softgpu/entry/thread_state.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace cotenant::cu {
namespace {

constexpr bool per_thread_form(const char* symbol) {
  std::size_t length = 0;
  while (symbol[length] != 0) ++length;
  if (length < 5) return false;
  const char* end = symbol + length - 5;
  return end[0] == '_' && end[1] == 'p' && end[2] == 't' &&
         ((end[3] == 'd' && end[4] == 's') || (end[3] == 's' && end[4] == 'z'));
}

void* plain_form(const char* symbol) {
  char plain[96];
  const std::size_t length = std::strlen(symbol) - 5;
  std::memcpy(plain, symbol, length);
  plain[length] = 0;
  return soft::find_symbol(plain);
}

}  // namespace

#define HOOK(symbol, parameters, arguments)                                               \
  extern "C" __attribute__((weak)) CUresult symbol parameters {                           \
    if constexpr (per_thread_form(#symbol)) {                                             \
      static const auto plain = reinterpret_cast<decltype(&symbol)>(plain_form(#symbol)); \
      const soft::PerThreadScope scope;                                                   \
      return plain arguments;                                                             \
    } else {                                                                              \
      static soft::Once once;                                                             \
      return soft::lack(once, #symbol);                                                   \
    }                                                                                     \
  }
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL

}  // namespace cotenant::cu
