#include "interposer/variants.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "interposer/capture.h"
#include "interposer/entry.h"
#include "interposer/function.h"
#include "interposer/gpu.h"
#include "interposer/helper_thread.h"
#include "interposer/link.h"
#include "interposer/ptx_images.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr char kSuffix[] = "__cotenant_preempt";
constexpr std::size_t kLongestName = 1000;
// The driver compiles on it.
constexpr std::size_t kMakersStack = 8u << 20;

// One long kernel. Never freed: a launch may hold the pointer.
struct Wanted {
  enum State : int { kAsked, kNone, kReady, kForgotten };
  std::atomic<CUfunction> function{nullptr};
  std::atomic<int> state{kAsked};
  Variant variant{};
  // What the maker needs, so that it need not touch the function, which may go.
  PtxImage* image{nullptr};
  const void* owner{nullptr};
  CUcontext context{nullptr};
  GpuIdentity gpu{};
  Link* link{nullptr};
  int most_shared{0};
  int carveout{-1};
  char name[kLongestName + 1]{};
};

constexpr std::uint32_t kMost = 256;
std::atomic<Wanted*> all[kMost];
std::atomic<bool> maker_runs{false};
std::atomic<std::uint32_t> calls{0};  // a futex

Wanted* find(CUfunction function) noexcept {
  const std::uint32_t n = variants_wanted.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < n && i < kMost; ++i) {
    Wanted* one = all[i].load(std::memory_order_acquire);
    if (one && one->function.load(std::memory_order_relaxed) == function &&
        one->state.load(std::memory_order_relaxed) != Wanted::kForgotten)
      return one;
  }
  return nullptr;
}

template <class Which>
void forget_where(Which which) noexcept {
  const std::uint32_t n = variants_wanted.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < n && i < kMost; ++i) {
    Wanted* one = all[i].load(std::memory_order_acquire);
    if (one && which(*one)) one->state.store(Wanted::kForgotten, std::memory_order_release);
  }
}

// The parameters as the driver lays them out; false: it is not a form of a kernel with so many.
bool read_parameters(Variant& variant) noexcept {
  if (!real().cuFuncGetParamInfo) return false;
  std::size_t offset = 0;
  std::size_t size = 0;
  std::uint32_t n = 0;
  std::size_t last[kVariantParameters] = {};
  while (real().cuFuncGetParamInfo(variant.function, n, &offset, &size) == CUDA_SUCCESS) {
    for (int i = 1; i < kVariantParameters; ++i) last[i - 1] = last[i];
    last[kVariantParameters - 1] = offset;
    variant.bytes = offset + size;
    ++n;
  }
  if (n < kVariantParameters) return false;
  variant.parameters = n - kVariantParameters;
  std::memcpy(variant.offset, last, sizeof last);
  return true;
}

// In the context of the kernel, on the maker's thread.
const char* load(Wanted& wanted, const char* text) noexcept {
  Variant& variant = wanted.variant;
  CUmodule module = nullptr;
  char name[sizeof wanted.name + sizeof kSuffix];
  std::strcpy(name, wanted.name);
  std::strcat(name, kSuffix);
  if (real().cuModuleLoadData(&module, text) != CUDA_SUCCESS) return "the driver does not accept it";
  const bool found = real().cuModuleGetFunction(&variant.function, module, name) == CUDA_SUCCESS;
  const char* fault = !found                      ? "the agent's answer does not have it"
                      : !read_parameters(variant) ? "the driver does not tell its parameters"
                                                  : nullptr;
  if (!fault && real().cuFuncSetAttribute) {
    const auto set = [&](CUfunction_attribute attribute, int value) {
      return real().cuFuncSetAttribute(variant.function, attribute, value) == CUDA_SUCCESS;
    };
    if (wanted.carveout >= 0) static_cast<void>(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, wanted.carveout));
    if (!set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted.most_shared)) fault = "it needs more shared memory";
    variant.most_shared = wanted.most_shared;
  }
  const std::size_t bytes = Variant::kControls * sizeof(VariantControl);
  if (!fault && real().cuMemAlloc_v2(&variant.controls, bytes) != CUDA_SUCCESS) fault = "the GPU's memory is full";
  if (fault) real().cuModuleUnload(module);
  return fault;
}

// False: `reason` says why not.
bool make(Wanted& wanted, char (&reason)[200]) noexcept {
  VariantAnswer answer = ask_for_variant(wanted.gpu, wanted.name, wanted.image->bytes, wanted.image->size);
  std::snprintf(reason, sizeof reason, "%s", answer.reason[0] ? answer.reason : "the agent does not answer");
  if (!answer.text) return false;
  wanted.variant.whole_warps = answer.whole_warps;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool exchanged = real().cuThreadExchangeStreamCaptureMode &&
                         real().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
  const char* fault = "its context is gone";
  if (real().cuCtxPushCurrent_v2(wanted.context) == CUDA_SUCCESS) {
    fault = load(wanted, answer.text);
    CUcontext popped = nullptr;
    real().cuCtxPopCurrent_v2(&popped);
  }
  if (exchanged) real().cuThreadExchangeStreamCaptureMode(&mode);
  std::free(answer.text);
  if (fault) std::snprintf(reason, sizeof reason, "%s", fault);
  return !fault;
}

void* run(void*) {
  for (std::uint32_t next = 0;;) {
    const std::uint32_t heard = calls.load(std::memory_order_acquire);
    for (; next < variants_wanted.load(std::memory_order_acquire) && next < kMost; ++next) {
      Wanted* wanted = all[next].load(std::memory_order_acquire);
      if (!wanted) break;  // being put there
      if (!wanted->image) continue;
      char reason[200];
      const bool made = make(*wanted, reason);
      give_back(wanted->image);
      if (!made && environment().debug) tell("%s cannot stop inside: %s", wanted->name, reason);
      int asked = Wanted::kAsked;  // unless it was forgotten meanwhile
      const int now = made ? Wanted::kReady : Wanted::kNone;
      if (wanted->state.compare_exchange_strong(asked, now, std::memory_order_acq_rel) && made)
        wanted->link->best_effort().variants.fetch_add(1, std::memory_order_relaxed);
    }
    syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, heard, nullptr, nullptr, 0);
  }
}

}  // namespace

std::atomic<std::uint32_t> variants_wanted{0};

void want_variant(Context& context, CUfunction function) noexcept {
  if (captures_open() || find(function)) return;
  Link* link = context.gpu->link.load(std::memory_order_acquire);
  if (!link || !link->attached) return;
  if (variants_wanted.load(std::memory_order_relaxed) >= kMost) return;
  // Allocated on a launch, but once for a long kernel. Before its place is taken: the maker waits for who has one.
  void* memory = std::malloc(sizeof(Wanted));
  if (!memory) return;
  const std::uint32_t place = variants_wanted.fetch_add(1);
  if (place >= kMost) return std::free(memory);
  auto* wanted = new (memory) Wanted;
  const auto [own, name] = named_function(function);
  wanted->function.store(function, std::memory_order_relaxed);
  wanted->image = name && std::strlen(name) <= kLongestName ? take_image_of(function) : nullptr;
  wanted->context = context.handle.load(std::memory_order_relaxed);
  wanted->gpu = context.gpu->identity;
  wanted->link = link;
  if (wanted->image) {
    wanted->owner = wanted->image->owner;
    std::strcpy(wanted->name, name);
    real().cuFuncGetAttribute(&wanted->most_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, own);
    real().cuFuncGetAttribute(&wanted->carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, own);
  } else {
    wanted->state.store(Wanted::kNone, std::memory_order_relaxed);
  }
  all[place].store(wanted, std::memory_order_release);
  if (!maker_runs.exchange(true) && !start_helper_thread(run, kMakersStack)) maker_runs.store(false);
  calls.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

Variant* variant_of(CUfunction function) noexcept {
  Wanted* wanted = find(function);
  return wanted && wanted->state.load(std::memory_order_acquire) == Wanted::kReady ? &wanted->variant : nullptr;
}

void give_up_variant(CUfunction function) noexcept {
  if (Wanted* wanted = find(function)) wanted->state.store(Wanted::kNone, std::memory_order_release);
}

void forget_variants_of(const void* owner) noexcept {
  forget_where([owner](const Wanted& one) { return one.owner == owner; });
}

void forget_variants_in(CUcontext context) noexcept {
  forget_where([context](const Wanted& one) { return one.context == context; });
}

void forget_variants() noexcept {
  variants_wanted.store(0);
  for (auto& one : all) one.store(nullptr);
  maker_runs.store(false);
}

}  // namespace cotenant
