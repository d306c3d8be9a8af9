// The PTX that a program hands to the driver, kept so that a kernel that proves long can be given a variant that can
// stop inside. Machine code is not kept, nor is what a program loads from a file by name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Text, or a fat binary with the one PTX in it that this GPU would be given. Owned by the table.
struct PtxImage {
  const void* owner;  // CUmodule or CUlibrary
  bool library;
  unsigned char* bytes;
  std::size_t size;
  int readers;  // it stays until the last of them is through
  PtxImage* next;
};

void image_loaded(const void* owner, bool library, const void* image) noexcept;
void image_unloaded(const void* owner) noexcept;

// The image that a function or kernel of the current context was loaded from, to be given back; null: it is not kept.
[[nodiscard]] PtxImage* take_image_of(cu::CUfunction function) noexcept;
void give_back(PtxImage* image) noexcept;

}  // namespace cotenant
