// Memory of a program: device buffers of every kind of allocation, host buffers, and words that work waits for.
#pragma once

#include "world.h"

namespace programs {

struct Place {
  CUdeviceptr at = 0;
  std::size_t bytes = 0;
  unsigned char* host = nullptr;  // null: device memory
  unsigned how = 0;
  CUmemoryPool pool = nullptr;
  CUmemGenericAllocationHandle physical = 0;
  CUdeviceptr reserved = 0;
};

// Device buffers below kHosts, host buffers above.
constexpr std::size_t kHosts = 128;

Place& place(std::uint64_t index);
std::atomic<std::uint32_t>& word(std::uint64_t index);
CUdeviceptr word_on_device(std::uint64_t index);
void make_words();

CUresult allocate(const Line& line, CUstream stream);
CUresult release(const Line& line, CUstream stream);
CUresult copy(const Line& line, CUstream stream);
CUresult fill(const Line& line, CUstream stream);

// A digest of everything in it.
std::uint64_t digest(const Place& place);

}  // namespace programs
