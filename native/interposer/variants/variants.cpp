#include "interposer/variants/variants.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "interposer/agent/link.h"
#include "interposer/base/thread.h"
#include "interposer/kernels/function.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"
#include "interposer/variants/ptx_images.h"
#include "ptxas/variant_text.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr std::size_t kLongestName = 1000;
// stack size: the driver compiles on this thread
constexpr std::size_t kMakersStack = 8u << 20;

// One long kernel. Never freed, because a launch may hold the pointer.
struct LongKernel {
  enum State : int { kAsked, kNone, kReady, kForgotten };
  std::atomic<CUfunction> function{nullptr};
  std::atomic<int> state{kAsked};
  KernelVariants variants{};
  // A copy of all that the maker thread needs, because the function may be unloaded meanwhile.
  PtxImage* image{nullptr};
  const void* owner{nullptr};
  CUcontext context{nullptr};
  GpuIdentity gpu{};
  Link* link{nullptr};
  int most_shared{0};
  int carveout{-1};
  char name[kLongestName + 1]{};
};

constexpr std::uint32_t kMaxKernels = 256;
std::atomic<LongKernel*> all[kMaxKernels];
std::atomic<bool> maker_runs{false};
std::atomic<std::uint32_t> calls{0};  // a futex

LongKernel* find(CUfunction function) noexcept {
  const std::uint32_t n = variants_wanted.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < n && i < kMaxKernels; ++i) {
    LongKernel* one = all[i].load(std::memory_order_acquire);
    if (one && one->function.load(std::memory_order_relaxed) == function &&
        one->state.load(std::memory_order_relaxed) != LongKernel::kForgotten)
      return one;
  }
  return nullptr;
}

template <class Which>
void forget_where(Which which) noexcept {
  const std::uint32_t n = variants_wanted.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < n && i < kMaxKernels; ++i) {
    LongKernel* one = all[i].load(std::memory_order_acquire);
    if (one && which(*one)) one->state.store(LongKernel::kForgotten, std::memory_order_release);
  }
}

// Reads the layout of the parameters from the driver. False: this is not a variant of a kernel with this many parameters.
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

// Returns null, or the reason why the variant can't be used.
const char* take_variant(Variant& variant, CUmodule module, const LongKernel& wanted, const char* suffix) noexcept {
  char name[sizeof wanted.name + 32];
  std::snprintf(name, sizeof name, "%s%s", wanted.name, suffix);
  variant.function = nullptr;
  if (real().cuModuleGetFunction(&variant.function, module, name) != CUDA_SUCCESS) {
    variant.function = nullptr;
    return "the agent's answer does not have it";
  }
  const char* error = read_parameters(variant) ? nullptr : "the driver does not tell its parameters";
  const auto set = real().cuFuncSetAttribute;
  if (!error && set) {
    if (wanted.carveout >= 0)
      static_cast<void>(set(variant.function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, wanted.carveout));
    if (set(variant.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted.most_shared) != CUDA_SUCCESS)
      error = "it needs more shared memory";
  }
  if (error) variant.function = nullptr;
  return error;
}

// Finds the variants that the module has, in the kernel's context. Returns null, or the reason why none can be used.
const char* take_variants(LongKernel& wanted, CUmodule module) noexcept {
  KernelVariants& variants = wanted.variants;
  const char* sliced = take_variant(variants.slice, module, wanted, variant_text::kSlice);
  const char* error = take_variant(variants.preempt, module, wanted, variant_text::kPreempt);
  variants.most_shared = wanted.most_shared;
  if (error) return sliced ? error : nullptr;
  const std::size_t bytes = KernelVariants::kControls * sizeof(VariantControl);
  if (real().cuMemAlloc_v2(&variants.controls, bytes) == CUDA_SUCCESS) return nullptr;
  variants.preempt.function = nullptr;
  return sliced ? "the GPU's memory is full" : nullptr;
}

// Tries the text without one of the variants. The driver refuses a text as a whole, so this shows which variant it
// refuses.
bool load_without(CUmodule& module, const LongKernel& wanted, const char* text, const char* suffix) noexcept {
  char* const rest = strdup(text);
  if (!rest) return false;
  const bool loaded =
      variant_text::take_out_all(rest, suffix) > 0 && real().cuModuleLoadData(&module, rest) == CUDA_SUCCESS;
  std::free(rest);
  if (loaded && environment().debug) tell("The driver refuses %s%s.", wanted.name, suffix);
  return loaded;
}

// Runs on the maker thread.
const char* load(LongKernel& wanted, const char* text) noexcept {
  CUmodule module = nullptr;
  if (real().cuModuleLoadData(&module, text) != CUDA_SUCCESS &&
      !load_without(module, wanted, text, variant_text::kSlice) &&
      !load_without(module, wanted, text, variant_text::kPreempt))
    return "the driver does not accept it";
  const char* error = take_variants(wanted, module);
  if (error) real().cuModuleUnload(module);
  return error;
}

// The program's own module has the variant already if bin/cotenant-ptxas assembled it. Whether the variant is right for
// parts of warps is then unknown.
bool is_built_in(LongKernel& wanted, CUfunction own) noexcept {
  CUmodule module = nullptr;
  if (!own || !real().cuFuncGetModule || real().cuFuncGetModule(&module, own) != CUDA_SUCCESS) return false;
  if (take_variants(wanted, module)) return false;
  wanted.owner = module;
  wanted.variants.whole_warps = true;
  return true;
}

// False: `reason` is set.
bool make(LongKernel& wanted, char (&reason)[200]) noexcept {
  VariantAnswer answer = ask_for_variant(wanted.gpu, wanted.name, wanted.image->bytes, wanted.image->size);
  std::snprintf(reason, sizeof reason, "%s", answer.reason[0] ? answer.reason : "the agent does not answer");
  if (!answer.text) return false;
  wanted.variants.whole_warps = answer.whole_warps;
  const BesideCaptures beside;
  const char* error = "its context is gone";
  if (real().cuCtxPushCurrent_v2(wanted.context) == CUDA_SUCCESS) {
    error = load(wanted, answer.text);
    CUcontext popped = nullptr;
    real().cuCtxPopCurrent_v2(&popped);
  }
  std::free(answer.text);
  if (error) std::snprintf(reason, sizeof reason, "%s", error);
  return !error;
}

void* run(void*) {
  for (std::uint32_t next = 0;;) {
    const std::uint32_t heard = calls.load(std::memory_order_acquire);
    for (; next < variants_wanted.load(std::memory_order_acquire) && next < kMaxKernels; ++next) {
      LongKernel* wanted = all[next].load(std::memory_order_acquire);
      if (!wanted) break;  // the entry is being written
      if (!wanted->image) continue;
      char reason[200];
      const bool made = make(*wanted, reason);
      give_back(wanted->image);
      if (!made && environment().debug) tell("%s cannot stop inside: %s", wanted->name, reason);
      int asked = LongKernel::kAsked;  // unless it was discarded meanwhile
      const int now = made ? LongKernel::kReady : LongKernel::kNone;
      if (wanted->state.compare_exchange_strong(asked, now, std::memory_order_acq_rel) && made)
        wanted->link->best_effort().variants.fetch_add(1, std::memory_order_relaxed);
    }
    syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, heard, nullptr, nullptr, 0);
  }
}

// Variants take a block for the only one of its cluster. A launch says otherwise by an attribute, or the kernel does.
bool asks_for_clusters(CUfunction own) noexcept {
  int width = 0;
  const auto asked = real().cuFuncGetAttribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, own);
  return asked == CUDA_SUCCESS && width > 0;
}

}  // namespace

std::atomic<std::uint32_t> variants_wanted{0};

void want_variant(Context& context, CUfunction function) noexcept {
  if (find(function)) return;
  Link* link = context.gpu->link.load(std::memory_order_acquire);
  if (!link || !link->attached) return;
  if (variants_wanted.load(std::memory_order_relaxed) >= kMaxKernels) return;
  // Allocated on the launch path, but only once for each long kernel. The allocation comes before the entry is claimed,
  // because the maker waits for whoever has claimed one.
  void* memory = std::malloc(sizeof(LongKernel));
  if (!memory) return;
  const std::uint32_t place = variants_wanted.fetch_add(1);
  if (place >= kMaxKernels) return std::free(memory);
  auto* wanted = new (memory) LongKernel;
  const BesideCaptures beside;
  const auto [own, name] = named_function(function);
  wanted->function.store(function, std::memory_order_relaxed);
  wanted->context = context.handle.load(std::memory_order_relaxed);
  wanted->gpu = context.gpu->identity;
  wanted->link = link;
  wanted->state.store(LongKernel::kNone, std::memory_order_relaxed);
  if (name && asks_for_clusters(own)) {
    if (environment().debug) tell("%s cannot stop inside: its blocks work in clusters.", name);
  } else if (name && std::strlen(name) <= kLongestName) {
    std::strcpy(wanted->name, name);
    real().cuFuncGetAttribute(&wanted->most_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, own);
    real().cuFuncGetAttribute(&wanted->carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, own);
    if (is_built_in(*wanted, own)) {
      wanted->state.store(LongKernel::kReady, std::memory_order_relaxed);
      link->best_effort().variants.fetch_add(1, std::memory_order_relaxed);
    } else if (PtxImage* image = take_image_of(function)) {
      wanted->image = image;
      wanted->owner = image->owner;
      wanted->state.store(LongKernel::kAsked, std::memory_order_relaxed);
    } else if (environment().debug) {
      tell("%s cannot stop inside: it came as machine code.", name);
    }
  }
  all[place].store(wanted, std::memory_order_release);
  if (!maker_runs.exchange(true) && !start_thread(run, kMakersStack)) maker_runs.store(false);
  calls.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

KernelVariants* variants_of(CUfunction function) noexcept {
  LongKernel* wanted = find(function);
  return wanted && wanted->state.load(std::memory_order_acquire) == LongKernel::kReady ? &wanted->variants : nullptr;
}

void give_up_variant(CUfunction function) noexcept {
  if (LongKernel* wanted = find(function)) wanted->state.store(LongKernel::kNone, std::memory_order_release);
}

void forget_variants_of(const void* owner) noexcept {
  forget_where([owner](const LongKernel& one) { return one.owner == owner; });
}

void forget_variants_in(CUcontext context) noexcept {
  forget_where([context](const LongKernel& one) { return one.context == context; });
}

void forget_variants() noexcept {
  variants_wanted.store(0);
  for (auto& one : all) one.store(nullptr);
  maker_runs.store(false);
}

}  // namespace cotenant
