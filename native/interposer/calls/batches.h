// Many copies in one call.
#pragma once

#include "interposer/calls/runs.h"

namespace cotenant {

// CUDA 12.8's version of the call names the entry that failed, 13.0's does not.
template <Entry E>
struct CopyBatch {
  static cu::CUresult call(cu::CUdeviceptr* to, cu::CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                           cu::CUmemcpyAttributes* attributes, std::size_t* indices, std::size_t n, std::size_t* failed,
                           cu::CUstream stream) noexcept {
    return in_parts(to, from, sizes, count, attributes, indices, n, stream, failed,
                    [&](auto... batch) { return driver_call<E>(batch..., failed, stream); });
  }
  static cu::CUresult call(cu::CUdeviceptr* to, cu::CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                           cu::CUmemcpyAttributes* attributes, std::size_t* indices, std::size_t n,
                           cu::CUstream stream) noexcept {
    return in_parts(to, from, sizes, count, attributes, indices, n, stream, nullptr,
                    [&](auto... batch) { return driver_call<E>(batch..., stream); });
  }

 private:
  template <class Give>
  static cu::CUresult in_parts(cu::CUdeviceptr* to, cu::CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                               cu::CUmemcpyAttributes* attributes, std::size_t* indices, std::size_t n,
                               cu::CUstream stream, std::size_t* failed, Give give) noexcept {
    const std::uint64_t piece = batch::piece_for<E>(stream);
    batch::Attributes attributed(indices, n);
    const bool known = to && from && sizes;
    const auto bytes = [&](std::size_t i) { return std::uint64_t{sizes[i]}; };
    if (piece == 0 || !known || count == 0 || !attributed.valid(count))
      return batch::submit_moves<E>(
          stream, known ? batch::sum(count, bytes) : 0, known ? batch::bus_of(to, from, count) : Bus::kNone,
          [&] { return give(to, from, sizes, count, attributes, indices, n); }, HoldsUp::kYes);
    return batch::in_runs<batch::Entries::kCut>(
        count, piece, bytes, [&](std::size_t i) { return attributed.end(i); },
        [&](const batch::Run& run) {
          cu::CUdeviceptr cut_to = to[run.first] + run.at;
          cu::CUdeviceptr cut_from = from[run.first] + run.at;
          std::size_t cut_bytes = run.bytes;
          std::size_t first = 0;
          const bool cut = run.count == 1;
          cu::CUmemcpyAttributes* const own = n ? attributes + attributed.of(run.first) : attributes;
          const Bus bus = batch::bus_of(to + run.first, from + run.first, run.count);
          const cu::CUresult result = batch::submit_moves<E>(
              stream, run.bytes, bus,
              [&] {
                return give(cut ? &cut_to : to + run.first, cut ? &cut_from : from + run.first,
                            cut ? &cut_bytes : sizes + run.first, run.count, own, n ? &first : indices,
                            n ? std::size_t{1} : n);
              },
              HoldsUp::kYes);
          if (result != cu::CUDA_SUCCESS) batch::shift_failed(failed, run.first);
          return result;
        });
  }
};

template <Entry E>
struct BoxBatch {
  static cu::CUresult call(std::size_t count, cu::CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t* failed,
                           unsigned long long flags, cu::CUstream stream) noexcept {
    return in_parts(count, operations, stream, failed,
                    [&](auto... batch) { return driver_call<E>(batch..., failed, flags, stream); });
  }
  static cu::CUresult call(std::size_t count, cu::CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                           cu::CUstream stream) noexcept {
    return in_parts(count, operations, stream, nullptr,
                    [&](auto... batch) { return driver_call<E>(batch..., flags, stream); });
  }

 private:
  template <class Give>
  static cu::CUresult in_parts(std::size_t count, cu::CUDA_MEMCPY3D_BATCH_OP* operations, cu::CUstream stream,
                               std::size_t* failed, Give give) noexcept {
    const std::uint64_t piece = batch::piece_for<E>(stream);
    const auto bytes = [&](std::size_t i) { return batch::bytes_in(operations[i]); };
    if (piece == 0 || !operations || count == 0)
      return batch::submit_moves<E>(
          stream, operations ? batch::sum(count, bytes) : 0, operations ? batch::bus_of(operations, count) : Bus::kNone,
          [&] { return give(count, operations); }, HoldsUp::kYes);
    return batch::in_runs<batch::Entries::kWhole>(
        count, piece, bytes, [&](std::size_t) { return count; },
        [&](const batch::Run& run) {
          const cu::CUresult result = batch::submit_moves<E>(
              stream, run.bytes, batch::bus_of(operations + run.first, run.count),
              [&] { return give(run.count, operations + run.first); }, HoldsUp::kYes);
          if (result != cu::CUDA_SUCCESS) batch::shift_failed(failed, run.first);
          return result;
        });
  }
};

template <Entry E>
struct BoxCopy {
  static cu::CUresult call(cu::CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                           cu::CUstream stream) noexcept {
    return batch::submit_moves<E>(
        stream, operation ? batch::bytes_in(*operation) : 0, operation ? batch::bus_of(operation, 1) : Bus::kNone,
        [&] { return driver_call<E>(operation, flags, stream); }, HoldsUp::kYes);
  }
};

// Copies from and to other nodes of a fabric.
template <Entry E>
struct FabricBatch {
  static cu::CUresult call(std::size_t count, cu::CUDA_FABRIC_COPY_BATCH_OP* operations, unsigned long long flags,
                           cu::CUstream stream) noexcept {
    const std::uint64_t piece = batch::piece_for<E>(stream);
    const auto bytes = [&](std::size_t i) { return std::uint64_t{operations[i].size}; };
    if (piece == 0 || !operations || count == 0)
      return batch::submit_moves<E>(stream, operations ? batch::sum(count, bytes) : 0, Bus::kNone,
                                    [&] { return driver_call<E>(count, operations, flags, stream); });
    return batch::in_runs<batch::Entries::kWhole>(
        count, piece, bytes, [&](std::size_t) { return count; },
        [&](const batch::Run& run) {
          return batch::submit_moves<E>(stream, run.bytes, Bus::kNone, [&] {
            return driver_call<E>(run.count, operations + run.first, flags, stream);
          });
        });
  }
};

BEHAVES(cuMemcpy3DWithAttributesAsync, BoxCopy)
BEHAVES(cuMemcpy3DWithAttributesAsync_ptsz, BoxCopy)
BEHAVES(cuFabricCpyBatchAsync, FabricBatch)
BEHAVES(cuFabricCpyBatchAsync_ptsz, FabricBatch)
BEHAVES(cuMemcpyBatchAsync, CopyBatch)
BEHAVES(cuMemcpyBatchAsync_ptsz, CopyBatch)
BEHAVES(cuMemcpyBatchAsync_v2, CopyBatch)
BEHAVES(cuMemcpyBatchAsync_v2_ptsz, CopyBatch)
BEHAVES(cuMemcpy3DBatchAsync, BoxBatch)
BEHAVES(cuMemcpy3DBatchAsync_ptsz, BoxBatch)
BEHAVES(cuMemcpy3DBatchAsync_v2, BoxBatch)
BEHAVES(cuMemcpy3DBatchAsync_v2_ptsz, BoxBatch)

}  // namespace cotenant
