// Calls that move, discard, decompress or map ranges of memory.
#pragma once

#include "interposer/calls/runs.h"

namespace cotenant {

// A range of managed memory moves to the GPU or away from it.
template <Entry E>
struct Prefetch {
  template <class Where, class... More>
  static cu::CUresult call(cu::CUdeviceptr address, std::size_t bytes, Where where, More... more) noexcept {
    const cu::CUstream stream = copy::stream_in(more...);
    const std::uint64_t piece = batch::piece_for<E>(stream);
    const auto range = [&](std::size_t from, std::size_t n) {
      return batch::submit_moves<E>(stream, n, batch::bus_to(where),
                                    [&] { return driver_call<E>(address + from, n, where, more...); });
    };
    if (piece == 0 || bytes <= piece) return range(0, bytes);
    for (std::uint64_t at = 0; at < bytes; at += piece)
      if (const cu::CUresult result = range(at, std::min<std::uint64_t>(piece, bytes - at)); result != cu::CUDA_SUCCESS)
        return result;
    return cu::CUDA_SUCCESS;
  }
};

// Many ranges. Ranges that are discarded first do not cross PCIe.
template <Entry E>
struct PrefetchBatch {
  static cu::CUresult call(cu::CUdeviceptr* addresses, std::size_t* sizes, std::size_t count, cu::CUmemLocation* places,
                           std::size_t* indices, std::size_t n, unsigned long long flags,
                           cu::CUstream stream) noexcept {
    return in_ranges<E>(
        addresses, sizes, count, stream, indices, n, [&](auto ranges, std::size_t place, std::size_t* first) {
          const Bus bus = has_name<E>("Discard") || !places || n == 0 ? Bus::kNone : batch::bus_to(places[place]);
          return batch::submit_moves<E>(stream, ranges.bytes, bus, [&] {
            return driver_call<E>(ranges.addresses, ranges.sizes, ranges.count, first ? places + place : places,
                                  first ? first : indices, first ? std::size_t{1} : n, flags, stream);
          });
        });
  }

  struct Ranges {
    cu::CUdeviceptr* addresses;
    std::size_t* sizes;
    std::size_t count;
    std::uint64_t bytes;
  };

  // `give` gets ranges, their attribute, and the index at which it begins among them; null: all ranges with all attributes.
  template <Entry Of, class Give>
  static cu::CUresult in_ranges(cu::CUdeviceptr* addresses, std::size_t* sizes, std::size_t count, cu::CUstream stream,
                                const std::size_t* indices, std::size_t n, Give give) noexcept {
    const std::uint64_t piece = batch::piece_for<Of>(stream);
    batch::Attributes attributed(indices, n);
    const auto bytes = [&](std::size_t i) { return std::uint64_t{sizes[i]}; };
    const bool known = addresses && sizes;
    if (piece == 0 || !known || count == 0 || !attributed.valid(count))
      return give(Ranges{addresses, sizes, count, known ? batch::sum(count, bytes) : 0}, std::size_t{0}, nullptr);
    return batch::in_runs<batch::Entries::kCut>(
        count, piece, bytes, [&](std::size_t i) { return attributed.end(i); },
        [&](const batch::Run& run) {
          cu::CUdeviceptr cut_address = addresses[run.first] + run.at;
          std::size_t cut_bytes = run.bytes;
          std::size_t first = 0;
          const bool cut = run.count == 1;
          return give(Ranges{cut ? &cut_address : addresses + run.first, cut ? &cut_bytes : sizes + run.first,
                             run.count, run.bytes},
                      attributed.of(run.first), n ? &first : nullptr);
        });
  }
};

template <Entry E>
struct DiscardBatch {
  static cu::CUresult call(cu::CUdeviceptr* addresses, std::size_t* sizes, std::size_t count, unsigned long long flags,
                           cu::CUstream stream) noexcept {
    return PrefetchBatch<E>::template in_ranges<E>(
        addresses, sizes, count, stream, nullptr, 0, [&](auto ranges, std::size_t, std::size_t*) {
          return batch::submit_moves<E>(stream, ranges.bytes, Bus::kNone, [&] {
            return driver_call<E>(ranges.addresses, ranges.sizes, ranges.count, flags, stream);
          });
        });
  }
};

template <Entry E>
struct Decompress {
  static cu::CUresult call(cu::CUmemDecompressParams* operations, std::size_t count, unsigned flags,
                           std::size_t* failed, cu::CUstream stream) noexcept {
    const std::uint64_t piece = batch::piece_for<E>(stream);
    const auto bytes = [&](std::size_t i) {
      return std::uint64_t{std::max(operations[i].dstNumBytes, operations[i].srcNumBytes)};
    };
    // The engine is slower than memory, so it is assumed to be as slow as PCIe, although the data need not cross it.
    const auto give = [&](std::size_t first, std::size_t n, std::uint64_t moved) {
      const Submission submission{Submission::Kind::kCopy, copy_ns(moved, true), nullptr};
      const cu::CUresult result = submit(stream, null_stream<E>(), Work::kCopy, Tail::kNo, submission,
                                         [&] { return driver_call<E>(operations + first, n, flags, failed, stream); });
      if (result != cu::CUDA_SUCCESS) batch::shift_failed(failed, first);
      return result;
    };
    if (piece == 0 || !operations || count == 0) return give(0, count, operations ? batch::sum(count, bytes) : 0);
    return batch::in_runs<batch::Entries::kWhole>(
        count, piece, bytes, [&](std::size_t) { return count; },
        [&](const batch::Run& run) { return give(run.first, run.count, run.bytes); });
  }
};

template <Entry E>
struct MapTiles {
  static cu::CUresult call(cu::CUarrayMapInfo* tiles, unsigned count, cu::CUstream stream) noexcept {
    constexpr std::uint64_t kTileBytes = 64 << 10;
    return batch::submit_moves<E>(stream, count * kTileBytes, Bus::kNone,
                                  [&] { return driver_call<E>(tiles, count, stream); });
  }
};

BEHAVES(cuMemPrefetchAsync, Prefetch)
BEHAVES(cuMemPrefetchAsync_ptsz, Prefetch)
BEHAVES(cuMemPrefetchAsync_v2, Prefetch)
BEHAVES(cuMemPrefetchAsync_v2_ptsz, Prefetch)
BEHAVES(cuMemPrefetchBatchAsync, PrefetchBatch)
BEHAVES(cuMemPrefetchBatchAsync_ptsz, PrefetchBatch)
BEHAVES(cuMemDiscardAndPrefetchBatchAsync, PrefetchBatch)
BEHAVES(cuMemDiscardAndPrefetchBatchAsync_ptsz, PrefetchBatch)
BEHAVES(cuMemDiscardBatchAsync, DiscardBatch)
BEHAVES(cuMemDiscardBatchAsync_ptsz, DiscardBatch)
BEHAVES(cuMemBatchDecompressAsync, Decompress)
BEHAVES(cuMemBatchDecompressAsync_ptsz, Decompress)
BEHAVES(cuMemMapArrayAsync, MapTiles)
BEHAVES(cuMemMapArrayAsync_ptsz, MapTiles)

}  // namespace cotenant
