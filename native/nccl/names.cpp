// libcotenant-nccl.so: NCCL's names, for ranks of a gang alone. A program that is linked with NCCL meets the wrappers in
// libcotenant.so by them. The names are not in libcotenant.so, because every client has that: there they would stand for
// NCCL in a process that has none. Each function is a jump through a table, so the wrapper sees the program's call.
#include "nccl/names.h"

#include <cstddef>

#if defined(__x86_64__)
#define JUMP(name) "  jmp *cotenant_wrapper_of_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name)                                    \
  "  adrp x16, cotenant_wrapper_of_" #name            \
  "\n"                                                \
  "  ldr x16, [x16, :lo12:cotenant_wrapper_of_" #name \
  "]\n"                                               \
  "  br x16\n"
#else
#error "calls are forwarded on x86-64 and 64-bit ARM only"
#endif

namespace cotenant {
namespace {

constexpr int kInvalidUsage = 5;

// Until the wrappers are there, which is before the program's first call.
int no_wrapper() noexcept { return kInvalidUsage; }

}  // namespace

#define FUNCTION(name)                                                               \
  extern "C" __attribute__((visibility("hidden"))) void* cotenant_wrapper_of_##name; \
  void* cotenant_wrapper_of_##name = reinterpret_cast<void*>(no_wrapper);
#define REFUSED(name) FUNCTION(name)
#include "nccl/functions.def"
#undef FUNCTION

#define FUNCTION(name) \
  asm(".text\n"        \
      ".globl " #name  \
      "\n"             \
      ".type " #name ", %function\n" #name ":\n" JUMP(name) ".size " #name ", . - " #name "\n");
#include "nccl/functions.def"
#undef FUNCTION

namespace {

#define FUNCTION(name) &cotenant_wrapper_of_##name,
void** const places[] = {
#include "nccl/functions.def"
};
#undef FUNCTION
#undef REFUSED

constexpr unsigned kCount = sizeof places / sizeof *places;

__attribute__((constructor)) void take_wrappers() noexcept {
  void* wrappers[kCount]{};
  if (!cotenant_nccl_wrappers || !cotenant_nccl_wrappers(wrappers, kCount)) return;
  for (std::size_t i = 0; i < kCount; ++i) *places[i] = wrappers[i];
}

}  // namespace
}  // namespace cotenant
