// Forms of kernels that can stop inside (Tally, section 4: persistent blocks that stop, and slices). The agent makes them
// from the program's own PTX; a thread of ours asks for them and loads them, so that the application goes on meanwhile
// with the kernels that it has.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

struct Context;

// Whoever makes variants appends these to a kernel's parameters (src/ptx/variants/appended.ts says what they mean).
inline constexpr int kVariantParameters = 6;
enum PreemptParameter { kControl, kFlag, kGridX, kGridY, kGridZ, kEpoch };
enum SliceParameter { kFirstX, kFirstY, kFirstZ, kSliceGridX, kSliceGridY, kSliceGridZ };

struct Variant {
  cu::CUfunction function;  // null: there is no such variant
  std::uint32_t parameters;  // the kernel's own
  std::size_t offset[kVariantParameters];
  std::size_t bytes;  // of all parameters
};

// Words of the GPU's memory for each launch, 0 when it begins: how many blocks are claimed (src/ptx/variants/preempt.ts).
struct alignas(8) VariantControl {
  std::uint32_t claimed[2];
};

struct KernelVariants {
  static constexpr std::uint32_t kControls = 1024;  // more than a queue holds launches
  Variant preempt;
  Variant slice;
  int most_shared;  // dynamic, in bytes
  bool whole_warps;  // the preemptible variant is right only for blocks whose x size is a multiple of 32
  cu::CUdeviceptr controls;
  std::atomic<std::uint32_t> control;  // the last one used
};

// This kernel proved long. Its variant is made in the background, once, if it can be; from the application's thread,
// with the kernel's context current.
void want_variant(Context& context, cu::CUfunction function) noexcept;

// How many kernels have asked for one: looked at on every launch.
extern std::atomic<std::uint32_t> variants_wanted;

// Null as long as there is none.
[[nodiscard]] KernelVariants* variants_of(cu::CUfunction function) noexcept;

// It does not do what it should: the kernel runs as it is from now on.
void give_up_variant(cu::CUfunction function) noexcept;

// Handles may come back as other functions: what came from this module or library, or is in this context, is void.
void forget_variants_of(const void* owner) noexcept;
void forget_variants_in(cu::CUcontext context) noexcept;

// In a forked child.
void forget_variants() noexcept;

}  // namespace cotenant
