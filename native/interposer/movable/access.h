// Which addresses of the program's own mappings may be read or written from where, as it has set it: new mappings have no
// access, so it must be set again when memory returns.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/movable/array.h"

namespace cotenant {

class AccessBook {
 public:
  struct Entry {
    cu::CUmemAccessDesc access;
    cu::CUdeviceptr at;
    std::uint64_t bytes;
  };

  // As cuMemSetAccess has set it. False: out of memory, and the book is no longer complete.
  [[nodiscard]] bool set(cu::CUdeviceptr at, std::uint64_t bytes, const cu::CUmemAccessDesc& access) noexcept;
  // Nothing is mapped there any more. False: as above.
  [[nodiscard]] bool clear(cu::CUdeviceptr at, std::uint64_t bytes) noexcept;
  // Whether the device may write all of it.
  [[nodiscard]] bool is_writable(cu::CUdeviceptr at, std::uint64_t bytes, cu::CUdevice device) noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return entries_.count(); }
  [[nodiscard]] const Entry& operator[](std::size_t i) noexcept { return entries_[i]; }
  void forget() noexcept { entries_.forget(); }

 private:
  [[nodiscard]] std::size_t first_above(const cu::CUmemLocation& from, cu::CUdeviceptr at) noexcept;
  [[nodiscard]] bool cut(const cu::CUmemLocation& from, cu::CUdeviceptr at, std::uint64_t bytes) noexcept;

  Array<Entry> entries_;  // by location, then by address; those of one location do not overlap
};

}  // namespace cotenant
