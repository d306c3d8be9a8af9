// Copies of the PTX that a program loads, from which variants of long kernels are made. Machine code is not stored, nor
// what a program loads from a file by name.
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
  int readers;  // freed when the last of them is done
  PtxImage* next;
};

void image_loaded(const void* owner, bool library, const void* image) noexcept;
void image_unloaded(const void* owner) noexcept;

// The image from which a function or kernel of the current context was loaded, to be given back; null: not stored.
[[nodiscard]] PtxImage* take_image_of(cu::CUfunction function) noexcept;
void give_back(PtxImage* image) noexcept;

}  // namespace cotenant
