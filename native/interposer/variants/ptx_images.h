// Copies of the PTX that a program loads, from which variants of long kernels are made. Machine code is not stored, nor
// what a program loads from a file by name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Text, or a fat binary that contains only the PTX for this GPU. Owned by the table.
struct PtxImage {
  const void* owner;  // CUmodule or CUlibrary
  bool library;
  unsigned char* bytes;
  std::size_t size;
  int readers;  // users of the image; the last one frees it
  PtxImage* next;
};

void image_loaded(const void* owner, bool library, const void* image) noexcept;
void image_unloaded(const void* owner) noexcept;

// The image from which a function or kernel of the current context was loaded. The caller gives it back. Null: not
// stored.
[[nodiscard]] PtxImage* take_image_of(cu::CUfunction function) noexcept;
void give_back(PtxImage* image) noexcept;

}  // namespace cotenant
