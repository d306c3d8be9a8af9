#include "interposer/lookup/unhooked.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interposer/base/spin.h"
#include "interposer/lookup/assembly.h"
#include "interposer/lookup/driver.h"
#include "interposer/process/process.h"

namespace {

// Enough for the functions of a new release. Further ones are returned without a counter.
#define COTENANT_COUNTING 256

}  // namespace

extern "C" {
std::uint64_t cotenant_possible_captures;
// Jump i increments calls[i] and possible_captures and then jumps to targets[i].
__attribute__((visibility("hidden"))) std::uint64_t cotenant_counting_calls[COTENANT_COUNTING];
__attribute__((visibility("hidden"))) void* cotenant_counting_targets[COTENANT_COUNTING];
__attribute__((visibility("hidden"))) extern char cotenant_counting_jumps[];
}

#define COTENANT_TEXT(number) #number
#define COTENANT_NUMBER(number) COTENANT_TEXT(number)
asm(".text\n"
    ".balign " COTENANT_NUMBER(COTENANT_JUMP_BYTES) "\n"
    ".globl cotenant_counting_jumps\n"
    ".hidden cotenant_counting_jumps\n"
    "cotenant_counting_jumps:\n"
    ".set cotenant_counting, 0\n"
    ".rept " COTENANT_NUMBER(COTENANT_COUNTING) "\n"
    "  .balign " COTENANT_NUMBER(COTENANT_JUMP_BYTES) "\n"
    COTENANT_COUNTING_JUMP
    "  .set cotenant_counting, cotenant_counting + 1\n"
    ".endr\n");

namespace cotenant {
namespace {

constexpr std::uint32_t kCounting = COTENANT_COUNTING;
constexpr std::size_t kJumpBytes = COTENANT_JUMP_BYTES;

struct Named {
  char name[64];
  bool told;
};
Named names[kCounting];
std::atomic<std::uint32_t> used{0};
Spin adding;

std::uint64_t calls_of(std::uint32_t i) noexcept {
  return __atomic_load_n(&cotenant_counting_calls[i], __ATOMIC_RELAXED);
}

void* jump(std::uint32_t i) noexcept { return cotenant_counting_jumps + i * kJumpBytes; }

}  // namespace

void* counting_jump(const char* name, void* function) noexcept {
  if (!function || known_to_pass(function) || !of_driver(function)) return function;
  Locked lock(adding);
  const std::uint32_t count = used.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i)
    if (cotenant_counting_targets[i] == function) return jump(i);
  if (count == kCounting) {
    __atomic_fetch_add(&cotenant_possible_captures, 1, __ATOMIC_SEQ_CST);
    return function;
  }
  std::snprintf(names[count].name, sizeof names[count].name, "%s", name);
  cotenant_counting_targets[count] = function;
  used.store(count + 1, std::memory_order_release);
  return jump(count);
}

void note_linked_function(const char* name) noexcept {
  constexpr std::uint32_t kLinked = 16;
  static char linked[kLinked][sizeof Named::name];
  static std::uint32_t count = 0;
  {
    Locked lock(adding);
    for (std::uint32_t i = 0; i < count; ++i)
      if (std::strncmp(linked[i], name, sizeof linked[i] - 1) == 0) return;
    if (count == kLinked) return;  // enough is said, and the driver is asked already
    std::snprintf(linked[count++], sizeof linked[0], "%s", name);
  }
  __atomic_fetch_add(&cotenant_possible_captures, 1, __ATOMIC_SEQ_CST);
  tell(
      "%s is not known to this version of Cotenant, and this program is linked with it: what it submits by it is %s. "
      "Use a version that knows it.",
      name, role() == Role::kHigh ? "not seen as part of a request" : "not held back for requests");
}

std::uint32_t unhooked_calls() noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < used.load(std::memory_order_acquire); ++i) sum += calls_of(i);
  return static_cast<std::uint32_t>(sum);
}

void name_unhooked() noexcept {
  for (std::uint32_t i = 0; i < used.load(std::memory_order_acquire); ++i) {
    if (names[i].told || calls_of(i) == 0) continue;
    names[i].told = true;
    tell("%s is not known to this version of Cotenant: what it submits is %s. Use a version that knows it.",
         names[i].name, role() == Role::kHigh ? "not seen as part of a request" : "not held back for requests");
  }
}

}  // namespace cotenant
