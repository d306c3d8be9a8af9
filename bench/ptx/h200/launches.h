// Launches of an original and of its variants, stopped and resumed, and the memory that they leave.
#pragma once

#include "case.h"

namespace {

struct Kernel {
  CUfunction function{nullptr};
  int registers{0}, shared{0}, blocks{0};  // blocks on an SM
};

Kernel kernel_in(CUmodule module, const std::string& name, const Case& one) {
  Kernel kernel;
  CU(cuModuleGetFunction(&kernel.function, module, name.c_str()));
  CU(cuFuncGetAttribute(&kernel.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel.function));
  CU(cuFuncGetAttribute(&kernel.shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.function));
  if (one.shared > 0)
    CU(cuFuncSetAttribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          static_cast<int>(one.shared)));
  const int threads = static_cast<int>(one.block[0] * one.block[1] * one.block[2]);
  CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&kernel.blocks, kernel.function, threads, one.shared));
  return kernel;
}

struct Grid {
  unsigned of[3];
  std::uint64_t blocks() const { return std::uint64_t{of[0]} * of[1] * of[2]; }
};

struct Form {
  std::string label;
  Kernel kernel;
};

struct Tried {
  std::string label;  // "": the plan's own
  Kernel kernel;
  unsigned workers;
};

struct Runner {
  Case& one;
  Kernel original, sliced, persistent;

  void launch(const Kernel& kernel, const Grid& grid, std::vector<void*> more = {}) {
    std::vector<void*> pointers;
    for (auto& arg : one.args) pointers.push_back(arg.data());
    pointers.insert(pointers.end(), more.begin(), more.end());
    CU(cuLaunchKernel(kernel.function, grid.of[0], grid.of[1], grid.of[2], one.block[0], one.block[1], one.block[2],
                      one.shared, stream, pointers.data(), nullptr));
  }

  // In boxes of `width` blocks along `axis`, whole rows of the others.
  void launch_slices(Grid grid, int axis, unsigned width) {
    for (unsigned first = 0; first < grid.of[axis]; first += width) {
      unsigned from[3] = {};
      from[axis] = first;
      Grid box = grid;
      box.of[axis] = std::min(width, grid.of[axis] - first);
      launch(sliced, box, {&from[0], &from[1], &from[2], &grid.of[0], &grid.of[1], &grid.of[2]});
    }
  }

  void launch_workers(Grid grid, unsigned workers, std::uint32_t epoch) {
    launch_workers(persistent, grid, workers, epoch);
  }
  void launch_workers(const Kernel& form, Grid grid, unsigned workers, std::uint32_t epoch) {
    launch(form, {{workers + 1, 1, 1}}, {&control, &flag, &grid.of[0], &grid.of[1], &grid.of[2], &epoch});
  }

  void reset() {
    for (const auto& buffer : one.buffers) CU(cuMemcpyDtoDAsync(buffer.at, buffer.pristine, buffer.bytes, stream));
    CU(cuStreamSynchronize(stream));
  }

  // The present contents become the wanted ones.
  void keep() {
    for (const auto& buffer : one.buffers) CU(cuMemcpyDtoDAsync(buffer.wanted, buffer.at, buffer.bytes, stream));
    CU(cuStreamSynchronize(stream));
  }

  // Where buffers differ from what is wanted, in words: "buffer 1, byte 64"; nothing where they do not.
  std::string difference() {
    for (std::size_t i = 0; i < one.buffers.size(); ++i) {
      auto& buffer = one.buffers[i];
      CUdeviceptr out = control + 128;
      std::uint64_t words = buffer.bytes / 4, first = ~std::uint64_t{0};
      CU(cuMemcpyHtoDAsync(out, &first, 8, stream));
      void* arguments[] = {&buffer.at, &buffer.wanted, &words, &out};
      if (words) CU(cuLaunchKernel(differs, 1024, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
      CU(cuStreamSynchronize(stream));
      CU(cuMemcpyDtoH(&first, out, 8));
      unsigned char got[4] = {}, want[4] = {};
      const std::size_t rest = buffer.bytes % 4;
      if (rest) {
        CU(cuMemcpyDtoH(got, buffer.at + words * 4, rest));
        CU(cuMemcpyDtoH(want, buffer.wanted + words * 4, rest));
        if (first == ~std::uint64_t{0} && std::memcmp(got, want, 4) != 0) first = words;
      }
      if (first != ~std::uint64_t{0}) return "buffer " + std::to_string(i) + ", byte " + std::to_string(first * 4);
    }
    return "";
  }

  // Runs to the end, however often it is stopped; how often blocks were left to a later launch. `within`: stops come
  // at random moments of that many us after each launch; 0: none; below: before the first.
  int run_stopped(const Grid& grid, unsigned workers, double within) {
    CU(cuMemsetD32Async(control, 0, 2, stream));
    int resumed = 0;
    for (std::uint32_t epoch = 1;; ++epoch) {
      const bool stops = within != 0 && epoch <= kStopsOfARun;
      *host_words = stops && within < 0 && epoch == 1 ? 1 : 0;
      launch_workers(grid, workers, epoch);
      if (stops && within > 0) {
        spin(std::uniform_real_distribution<double>(0, within)(chance));
        *host_words = 1;
      }
      CU(cuStreamSynchronize(stream));
      *host_words = 0;
      if (claimed(epoch) >= grid.blocks()) return resumed;
      ++resumed;
    }
  }

  // Blocks claimed until the launch of that epoch ended: the word in which the next one goes on.
  std::uint32_t claimed(std::uint32_t epoch) {
    std::uint32_t next = 0;
    CU(cuMemcpyDtoH(&next, control + 4 * (1 - (epoch & 1)), 4));
    return next;
  }

  // GPU time between events around it.
  double time_us(const std::function<void()>& run) {
    CU(cuEventRecord(begin, stream));
    run();
    CU(cuEventRecord(end, stream));
    CU(cuStreamSynchronize(stream));
    float ms = 0;
    CU(cuEventElapsedTime(&ms, begin, end));
    return ms * 1e3;
  }
};

}  // namespace
