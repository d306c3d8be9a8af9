#include "interposer/preempt.h"

#include <algorithm>
#include <cstring>

#include "interposer/border.h"
#include "interposer/entry.h"

namespace cotenant {
namespace {

using namespace cu;

// How often one kernel can stop: once in a request, so this is for two requests within its time.
constexpr std::uint32_t kLaunches = 3;
constexpr std::uint32_t kMostParameters = 512;
constexpr std::size_t kMostBytes = 4096;  // of parameters in one buffer
// With less than half of the kernel's own blocks on an SM the variant costs more than it is worth.
constexpr int kWorstOccupancy = 2;

// What is passed in kernelParams, or in one buffer: as the application does it.
class Arguments {
 public:
  // False: the application passes them in a way that is not understood.
  [[nodiscard]] bool take(const KernelCall& kernel, const Variant& variant) noexcept {
    if (kernel.extra) return take_buffer(kernel.extra, variant);
    if (variant.parameters > kMostParameters || (!kernel.parameters && variant.parameters > 0)) return false;
    std::copy(kernel.parameters, kernel.parameters + variant.parameters, pointers_);
    own_ = pointers_ + variant.parameters;
    return true;
  }

  template <class T>
  void set(const Variant& variant, VariantParameter which, T& value) noexcept {
    if (own_) own_[which] = &value;
    else std::memcpy(buffer_ + variant.offset[which], &value, sizeof value);
  }

  [[nodiscard]] void** parameters() noexcept { return own_ ? pointers_ : nullptr; }
  [[nodiscard]] void** extra() noexcept { return own_ ? nullptr : extra_; }

 private:
  bool take_buffer(void** extra, const Variant& variant) noexcept {
    const void* from = nullptr;
    std::size_t size = 0;
    for (; extra[0] != reinterpret_cast<void*>(kLaunchParamEnd); extra += 2) {
      if (extra[0] == reinterpret_cast<void*>(kLaunchParamBufferPointer)) from = extra[1];
      else if (extra[0] == reinterpret_cast<void*>(kLaunchParamBufferSize)) size = *static_cast<const std::size_t*>(extra[1]);
      else return false;
    }
    if (!from || variant.bytes > kMostBytes) return false;
    std::memcpy(buffer_, from, std::min(size, variant.offset[kControl]));
    bytes_ = variant.bytes;
    return true;
  }

  void* pointers_[kMostParameters + kVariantParameters];
  void** own_{nullptr};
  std::size_t bytes_{0};
  void* extra_[5] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), buffer_,
                     reinterpret_cast<void*>(kLaunchParamBufferSize), &bytes_, reinterpret_cast<void*>(kLaunchParamEnd)};
  alignas(16) unsigned char buffer_[kMostBytes];
};

int blocks_on_an_sm(CUfunction function, const LaunchShape& shape) noexcept {
  const auto& [gx, gy, gz, bx, by, bz, shared] = shape.of;
  int blocks = 0;
  const auto ask = real().cuOccupancyMaxActiveBlocksPerMultiprocessor;
  return ask && ask(&blocks, function, static_cast<int>(bx * by * bz), shared) == CUDA_SUCCESS ? blocks : 0;
}

// Blocks that work through the grid; 0: the kernel is better left as it is.
unsigned workers_for(const Variant& variant, const LaunchShape& shape, std::uint64_t blocks, std::uint32_t sms) noexcept {
  const int own = blocks_on_an_sm(shape.function, shape);
  const int fit = blocks_on_an_sm(variant.function, shape);
  if (own <= 0 || fit * kWorstOccupancy < own) return 0;
  // One place is the sentinel's. A grid that is on the GPU all at once ends with its longest block anyway.
  const std::uint64_t places = std::uint64_t{sms} * static_cast<unsigned>(fit) - 1;
  return places > 0 && blocks > places ? static_cast<unsigned>(places) : 0;
}

}  // namespace

bool launch_stoppable(const KernelCall& kernel, NullStream meaning, LaunchFunction launch, CUresult& result) noexcept {
  Variant* variant = variant_of(kernel.shape.function);
  if (!variant || capturing(kernel.stream, meaning)) return false;
  Stream* stream = stream_of(kernel.stream, meaning);
  const Link* link = stream ? stream->context->gpu->link.load(std::memory_order_acquire) : nullptr;
  // Only behind a border: what it waits for is what the kernel stops for.
  if (!link || !stream->lane.behind_wait.load(std::memory_order_relaxed)) return false;
  const auto& [gx, gy, gz, bx, by, bz, shared] = kernel.shape.of;
  const std::uint64_t blocks = std::uint64_t{gx} * gy * gz;
  if (variant->whole_warps && bx % 32 != 0) return false;
  if (blocks >= 1u << 31 || shared > static_cast<unsigned>(variant->most_shared)) return false;
  const unsigned workers = workers_for(*variant, kernel.shape, blocks, stream->context->gpu->identity.sm_count);
  Arguments arguments;
  if (workers == 0 || !arguments.take(kernel, *variant)) return false;

  const std::uint32_t place = variant->control.fetch_add(1, std::memory_order_relaxed) % Variant::kControls;
  const CUdeviceptr control = variant->controls + place * sizeof(VariantControl);
  unsigned grid[] = {gx, gy, gz};
  CUdeviceptr at = control;
  CUdeviceptr flag = hold_word(*stream->context, *link);
  std::uint32_t epoch = 0;
  arguments.set(*variant, kControl, at);
  for (int i = 0; i < 3; ++i) arguments.set(*variant, static_cast<VariantParameter>(kGridX + i), grid[i]);
  CUstreamBatchMemOpParams begin[] = {write_word(control + offsetof(VariantControl, next), 0),
                                      write_word(control + offsetof(VariantControl, mirror), 0)};
  CUstreamBatchMemOpParams again[] = {wait_for_release(*stream->context, *link)};
  for (epoch = 1; epoch <= kLaunches; ++epoch) {
    if (epoch == kLaunches) flag = 0;
    arguments.set(*variant, kFlag, flag);
    arguments.set(*variant, kEpoch, epoch);
    const bool first = epoch == 1;
    const auto batch = real().cuStreamBatchMemOp_v2;
    result = first ? batch(stream->handle, 2, begin, 0) : batch(stream->handle, 1, again, 0);
    if (result == CUDA_SUCCESS)
      result = launch(variant->function, workers + 1, 1, 1, bx, by, bz, shared, kernel.stream, arguments.parameters(),
                      arguments.extra());
    if (result == CUDA_SUCCESS) continue;
    give_up_variant(kernel.shape.function);
    // Nothing of the kernel has been submitted yet: it can still run as it is.
    return !first;
  }
  link->best_effort().preemptible.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace cotenant
