// Variants of kernels that can stop inside (Tally, section 4: persistent blocks that stop, and slices). The agent makes them
// from the program's own PTX; a thread of the interposer requests and loads them, while the application goes on
// with the original kernels.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

struct Context;

// The parameters that a variant has after the kernel's own (src/ptx/variants/appended.ts defines them).
inline constexpr int kVariantParameters = 6;
enum PreemptParameter { kControl, kFlag, kGridX, kGridY, kGridZ, kEpoch };
enum SliceParameter { kFirstX, kFirstY, kFirstZ, kSliceGridX, kSliceGridY, kSliceGridZ };

struct Variant {
  cu::CUfunction function;  // null: there is no such variant
  std::uint32_t parameters;  // the number of the kernel's own parameters
  std::size_t offset[kVariantParameters];
  std::size_t bytes;  // bytes of all parameters
};

// Words in GPU memory for each launch, 0 when it begins: the number of claimed blocks (src/ptx/variants/preempt.ts).
struct alignas(8) VariantControl {
  std::uint32_t claimed[2];
};

struct KernelVariants {
  static constexpr std::uint32_t kControls = 1024;  // more words than launches fit into a queue
  Variant preempt;
  Variant slice;
  int most_shared;  // dynamic, in bytes
  bool whole_warps;  // the preemptible variant is right only for blocks whose x size is a multiple of 32
  cu::CUdeviceptr controls;
  std::atomic<std::uint32_t> control;  // the last one used
};

// This kernel has proved long: requests its variants, which are made once, in the background, if possible. Called on
// the application's thread with the kernel's context current.
void want_variant(Context& context, cu::CUfunction function) noexcept;

// The number of kernels whose variants were requested. Read on every launch.
extern std::atomic<std::uint32_t> variants_wanted;

// Null until they are loaded.
[[nodiscard]] KernelVariants* variants_of(cu::CUfunction function) noexcept;

// The variants failed: from now on the original kernel is launched.
void give_up_variant(cu::CUfunction function) noexcept;

// Discards the variants of kernels from this module or library, or in this context, because handles may be reused for
// other functions.
void forget_variants_of(const void* owner) noexcept;
void forget_variants_in(cu::CUcontext context) noexcept;

// In a forked child.
void forget_variants() noexcept;

}  // namespace cotenant
