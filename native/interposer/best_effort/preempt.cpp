#include "interposer/best_effort/preempt.h"

#include <algorithm>
#include <cstring>

#include "gate/gate.h"
#include "interposer/base/clock.h"
#include "interposer/best_effort/border.h"
#include "interposer/kernels/function.h"
#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

using namespace cu;

// The last launch of a preemptible variant does not stop. So a kernel can be stopped once less than it has launches,
// that is once for each request within its time. A launch that is not needed takes some us.
constexpr std::uint32_t kMinLaunches = 3;
constexpr std::uint32_t kMaxLaunches = 8;
constexpr std::uint32_t kNsForOneMore = 1'000'000;
constexpr std::uint64_t kMaxSlices = 64;
constexpr std::uint32_t kMaxParameters = 512;
constexpr std::size_t kMaxBytes = 4096;  // bytes of parameters passed in one buffer
// If the variant allows fewer than half of the kernel's own blocks on an SM, it costs more than it gains.
constexpr int kWorstOccupancy = 2;

// The parameters as the application passes them: in kernelParams, or in one buffer.
class Arguments {
 public:
  // False: the application passes them in an unknown way.
  [[nodiscard]] bool take(const KernelCall& kernel, const Variant& variant) noexcept {
    if (kernel.extra) return take_buffer(kernel.extra, variant);
    if (variant.parameters > kMaxParameters || (!kernel.parameters && variant.parameters > 0)) return false;
    std::copy(kernel.parameters, kernel.parameters + variant.parameters, pointers_);
    own_ = pointers_ + variant.parameters;
    return true;
  }

  template <class T>
  void set(const Variant& variant, int which, T& value) noexcept {
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
      else if (extra[0] == reinterpret_cast<void*>(kLaunchParamBufferSize))
        size = *static_cast<const std::size_t*>(extra[1]);
      else return false;
    }
    if (!from || variant.bytes > kMaxBytes) return false;
    std::memcpy(buffer_, from, std::min(size, variant.offset[0]));
    bytes_ = variant.bytes;
    return true;
  }

  void* pointers_[kMaxParameters + kVariantParameters];
  void** own_{nullptr};
  std::size_t bytes_{0};
  void* extra_[5] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), buffer_,
                     reinterpret_cast<void*>(kLaunchParamBufferSize), &bytes_,
                     reinterpret_cast<void*>(kLaunchParamEnd)};
  alignas(16) unsigned char buffer_[kMaxBytes];
};

int blocks_on_an_sm(CUfunction function, const LaunchShape& shape) noexcept {
  const auto& [gx, gy, gz, bx, by, bz, shared] = shape.of;
  int blocks = 0;
  const auto ask = real().cuOccupancyMaxActiveBlocksPerMultiprocessor;
  return ask && ask(&blocks, function, static_cast<int>(bx * by * bz), shared) == CUDA_SUCCESS ? blocks : 0;
}

// Boxes of a grid. Each box has whole waves of blocks and divides the slowest dimension of the grid.
struct Slices {
  int side;
  unsigned step;
  std::uint64_t count;
};

Slices slices_of(const LaunchShape& shape, std::uint64_t wave, std::uint64_t wanted) noexcept {
  const unsigned* grid = shape.of;
  const int side = grid[2] > 1 ? 2 : grid[1] > 1 ? 1 : 0;
  std::uint64_t across = 1;
  for (int i = 0; i < side; ++i) across *= grid[i];
  const std::uint64_t blocks = across * grid[side];
  const std::uint64_t waves = std::max<std::uint64_t>((blocks / wanted + wave - 1) / wave, 1);
  const auto step = static_cast<unsigned>(std::clamp<std::uint64_t>(waves * wave / across, 1, grid[side]));
  return {side, step, (std::uint64_t{grid[side]} + step - 1) / step};
}

// One launch, and the variants that are possible for it.
struct Possible {
  Tried tried[kVariantKinds];
  unsigned workers;  // as many workers as the GPU holds
  Slices slices;
};

// False: the kernel is launched as it is. A grid that is on the GPU all at once ends with its longest block anyway.
bool look(const KernelVariants& variants, const LaunchShape& shape, std::uint64_t expected_ns, std::uint64_t target_ns,
          std::uint32_t sms, Possible& into) noexcept {
  const auto& [gx, gy, gz, bx, by, bz, shared] = shape.of;
  const std::uint64_t blocks = std::uint64_t{gx} * gy * gz;
  const int own = blocks_on_an_sm(shape.function, shape);
  const std::uint64_t wave = std::uint64_t{sms} * static_cast<unsigned>(std::max(own, 0));
  if (own <= 0 || blocks <= wave || blocks >= 1u << 31 || shared > static_cast<unsigned>(variants.most_shared))
    return false;
  into = {};
  if (variants.preempt.function && !(variants.whole_warps && bx % 32 != 0)) {
    const int fit = blocks_on_an_sm(variants.preempt.function, shape);
    // The sentinel takes the place of one block.
    const std::uint64_t places = std::uint64_t{sms} * static_cast<unsigned>(std::max(fit, 0));
    if (fit * kWorstOccupancy >= own && places > 2 && blocks >= places) {
      into.workers = static_cast<unsigned>(places - 1);
      into.tried[static_cast<int>(VariantKind::kAllWorkers)].parts = blocks / into.workers;
      into.tried[static_cast<int>(VariantKind::kHalfWorkers)].parts = blocks / (into.workers / 2);
    }
  }
  if (variants.slice.function) {
    into.slices = slices_of(shape, wave, std::clamp<std::uint64_t>(expected_ns / target_ns + 1, 2, kMaxSlices));
    if (into.slices.count > 1) into.tried[static_cast<int>(VariantKind::kSlices)].parts = into.slices.count;
  }
  return into.workers > 0 || into.slices.count > 1;
}

// A launch in a variant, while it is submitted to a stream.
struct Way {
  const KernelCall& kernel;
  Stream& stream;
  const Link& link;
  LaunchFunction launch;
  bool began{false};  // a part of it was submitted, so the kernel can't be launched as it is any more

  CUresult words(unsigned count, CUstreamBatchMemOpParams* words) const noexcept {
    return real().cuStreamBatchMemOp_v2(stream.handle, count, words, 0);
  }
  CUresult blocks(const Variant& variant, const unsigned (&grid)[3], Arguments& arguments) noexcept {
    const auto& [gx, gy, gz, bx, by, bz, shared] = kernel.shape.of;
    const CUresult result = launch(variant.function, grid[0], grid[1], grid[2], bx, by, bz, shared, kernel.stream,
                                   arguments.parameters(), arguments.extra());
    began = began || result == CUDA_SUCCESS;
    return result;
  }
};

CUresult launch_workers(Way& way, KernelVariants& variants, unsigned workers, std::uint32_t launches,
                        Arguments& arguments) noexcept {
  const Variant& variant = variants.preempt;
  const std::uint32_t place = variants.control.fetch_add(1, std::memory_order_relaxed) % KernelVariants::kControls;
  CUdeviceptr control = variants.controls + place * sizeof(VariantControl);
  CUdeviceptr flag = hold_word(*way.stream.context);
  unsigned grid[3];
  std::uint32_t epoch = 0;
  std::copy(way.kernel.shape.of, way.kernel.shape.of + 3, grid);
  arguments.set(variant, kControl, control);
  for (int i = 0; i < 3; ++i) arguments.set(variant, kGridX + i, grid[i]);
  CUstreamBatchMemOpParams begin[] = {write_word(control, 0), write_word(control + sizeof(std::uint32_t), 0)};
  CUstreamBatchMemOpParams again[] = {wait_for_release(*way.stream.context)};
  CUresult result = CUDA_SUCCESS;
  Lane& lane = way.stream.lane;
  lane.stops_inside_ns.store(lane.submitted_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (epoch = 1; result == CUDA_SUCCESS && epoch <= launches; ++epoch) {
    if (epoch == launches) flag = 0;
    arguments.set(variant, kFlag, flag);
    arguments.set(variant, kEpoch, epoch);
    result = epoch == 1 ? way.words(2, begin) : way.words(1, again);
    if (result == CUDA_SUCCESS) result = way.blocks(variant, {workers + 1, 1, 1}, arguments);
  }
  return result;
}

CUresult launch_slices(Way& way, const KernelVariants& variants, const Slices& slices, Arguments& arguments) noexcept {
  const Variant& variant = variants.slice;
  unsigned whole[3];
  unsigned first[3] = {0, 0, 0};
  unsigned box[3];
  std::copy(way.kernel.shape.of, way.kernel.shape.of + 3, whole);
  std::copy(whole, whole + 3, box);
  for (int i = 0; i < 3; ++i) arguments.set(variant, kSliceGridX + i, whole[i]);
  CUstreamBatchMemOpParams next[] = {write_word(gate_word(*way.stream.context), 0),
                                     wait_for_release(*way.stream.context)};
  CUresult result = CUDA_SUCCESS;
  for (unsigned& at = first[slices.side]; result == CUDA_SUCCESS && at < whole[slices.side]; at += slices.step) {
    box[slices.side] = std::min(slices.step, whole[slices.side] - at);
    for (int i = 0; i < 3; ++i) arguments.set(variant, kFirstX + i, first[i]);
    next[0].writeValue.value = at;
    if (at > 0) result = way.words(2, next);
    if (result == CUDA_SUCCESS) result = way.blocks(variant, box, arguments);
  }
  return result;
}

void say_choice(const char* name, const Possible& possible, VariantKind chosen) noexcept {
  constexpr const char* kNames[kVariantKinds] = {"all workers", "half of them", "slices", "as it is"};
  const auto us = [&](int i) { return static_cast<unsigned long long>(possible.tried[i].ns / 1000); };
  tell("%s: as it is %llu us; with %u workers %llu us, half of them %llu us; in %llu slices %llu us: %s.",
       name ? name : "a kernel", us(3), possible.workers, us(0), us(1),
       static_cast<unsigned long long>(possible.slices.count), us(2), kNames[static_cast<int>(chosen)]);
}

// Measures the time of what is launched while this object exists, if a measurement is due.
class Timed {
 public:
  Timed(Estimate& estimate, std::uint32_t every, Stream& stream, const Link& link) noexcept
      : estimates_(stream.context->gpu->best_effort.estimates), stream_(stream) {
    const auto& page = link.hold_page();
    const std::uint64_t activations = page.activations.load(std::memory_order_relaxed);
    const CUcontext context = stream.context->handle.load(std::memory_order_relaxed);
    if (every == 1) estimates_.collect(activations, page.active.load(std::memory_order_relaxed) != 0, context);
    if (Estimates::due(estimate, every))
      timer_ = estimates_.start(estimate, stream.handle, context, activations, nullptr, nullptr);
  }
  ~Timed() {
    if (timer_ >= 0) estimates_.stop(timer_, stream_.handle);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Estimates& estimates_;
  Stream& stream_;
  int timer_{-1};
};

}  // namespace

bool launch_stoppable(const KernelCall& kernel, NullStream meaning, LaunchFunction launch, CUresult& result) noexcept {
  KernelVariants* variants = variants_of(kernel.shape.function);
  if (!variants) return false;
  Stream* stream = stream_of(kernel.stream, meaning);
  const Link* link = stream ? stream->context->gpu->link.load(std::memory_order_acquire) : nullptr;
  // Only behind a preemption point, whose wait stops the kernel's later launches.
  if (!link || !stream->lane.behind_wait.load(std::memory_order_relaxed)) return false;
  Gpu& gpu = *stream->context->gpu;
  const Rules rules = read_rules(link->region->settings);
  // Shorter kernels have no variants, so a variant need not stop sooner than this.
  const std::uint64_t target_ns = std::uint64_t{std::max({rules.chunk_us, rules.preempt_us, 1u})} * 1000;
  const std::uint64_t usual_ns = gpu.best_effort.estimates.expected_ns(kernel.shape);
  // A trial belongs to this variant. The kernel's handle may be reused for another kernel, the address of the variant
  // is not.
  LaunchShape tried_as = kernel.shape;
  tried_as.function = reinterpret_cast<CUfunction>(variants);
  VariantTrial* trial = gpu.best_effort.trials.find(tried_as);
  Possible possible;
  if (!trial || !look(*variants, kernel.shape, usual_ns, target_ns, gpu.identity.sm_count, possible)) return false;
  bool trying = false;
  const VariantKind chosen = next_variant(*trial, possible.tried, target_ns, usual_ns, now_ns(), trying);
  const int index = static_cast<int>(chosen);
  if (!trying && trial->chosen.exchange(index + 1, std::memory_order_relaxed) != index + 1 && environment().debug)
    say_choice(named_function(kernel.shape.function).name, possible, chosen);
  if (chosen == VariantKind::kAsItIs && !trying) return false;

  const bool sliced = chosen == VariantKind::kSlices;
  Arguments arguments;
  if (chosen != VariantKind::kAsItIs && !arguments.take(kernel, sliced ? variants->slice : variants->preempt))
    return false;
  const Timed timed(trial->of[index], trying ? 1 : rules.sample_every, *stream, *link);
  if (chosen == VariantKind::kAsItIs) {
    const auto& [gx, gy, gz, bx, by, bz, shared] = kernel.shape.of;
    result =
        launch(kernel.shape.function, gx, gy, gz, bx, by, bz, shared, kernel.stream, kernel.parameters, kernel.extra);
    return true;
  }
  Way way{kernel, *stream, *link, launch};
  const unsigned workers = chosen == VariantKind::kAllWorkers ? possible.workers : possible.workers / 2;
  const auto launches =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(kMinLaunches + usual_ns / kNsForOneMore, kMaxLaunches));
  result = sliced ? launch_slices(way, *variants, possible.slices, arguments)
                  : launch_workers(way, *variants, workers, launches, arguments);
  if (result != CUDA_SUCCESS) {
    give_up_variant(kernel.shape.function);
    return way.began;
  }
  link->best_effort().preemptible.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace cotenant
