// Many copies in one call, and calls that move, unpack or map memory. A best-effort client's go to the driver in runs of
// no more bytes than a piece of a copy has, so that the gate can stop between them; whatever else comes in one call.
#pragma once

#include "interposer/calls/copies.h"

namespace cotenant {
namespace batch {

// `count` entries of a batch from `first` on; or one of them, of which `bytes` from `at` on.
struct Run {
  std::size_t first;
  std::size_t count;
  std::uint64_t at;
  std::uint64_t bytes;
};

enum class Entries { kWhole, kCut };  // may one entry be given in pieces?

// `bytes(i)` is what entry i moves, `together(i)` the first behind it that may not be in one call with it.
template <Entries kEntries, class Bytes, class Together, class Each>
cu::CUresult in_runs(std::size_t count, std::uint64_t piece, Bytes bytes, Together together, Each each) noexcept {
  for (std::size_t i = 0; i < count;) {
    std::uint64_t sum = bytes(i);
    std::size_t next = i + 1;
    if (kEntries == Entries::kCut && sum > piece) {
      for (std::uint64_t at = 0; at < sum; at += piece)
        if (const cu::CUresult result = each(Run{i, 1, at, std::min(piece, sum - at)}); result != cu::CUDA_SUCCESS)
          return result;
    } else {
      for (const std::size_t stop = std::min(together(i), count); next < stop && sum + bytes(next) <= piece; ++next)
        sum += bytes(next);
      if (const cu::CUresult result = each(Run{i, next - i, 0, sum}); result != cu::CUDA_SUCCESS) return result;
    }
    i = next;
  }
  return cu::CUDA_SUCCESS;
}

// The bytes that one call may move; 0: all of them.
template <Entry E>
std::uint64_t piece_for(cu::CUstream stream) noexcept {
  const std::uint64_t piece = copy::piece_bytes();
  return piece != 0 && !capturing(stream, null_stream<E>()) ? piece : 0;
}

template <class Bytes>
std::uint64_t sum(std::size_t count, Bytes bytes) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += bytes(i);
  return all;
}

template <Entry E, class Call>
cu::CUresult moved(cu::CUstream stream, std::uint64_t bytes, Bus bus, Call call,
                   HoldsUp holds_up = HoldsUp::kNo) noexcept {
  const Submission submission{Submission::Kind::kCopy, copy_ns(bytes, bus != Bus::kNone), nullptr, bus};
  return submit(stream, null_stream<E>(), Work::kCopy, Tail::kNo, submission, call, holds_up);
}

// Attribute k of a batch belongs to the entries from indices[k] to indices[k + 1].
class Attributed {
 public:
  Attributed(const std::size_t* indices, std::size_t attributes) noexcept
      : indices_(indices), attributes_(attributes) {}
  [[nodiscard]] bool valid(std::size_t entries) const noexcept {
    if (attributes_ == 0) return true;
    if (!indices_ || attributes_ > entries || indices_[0] != 0) return false;
    for (std::size_t k = 1; k < attributes_; ++k)
      if (indices_[k] <= indices_[k - 1] || indices_[k] >= entries) return false;
    return true;
  }
  // Runs are asked for in order.
  [[nodiscard]] std::size_t of(std::size_t entry) noexcept {
    while (at_ + 1 < attributes_ && indices_[at_ + 1] <= entry) ++at_;
    return at_;
  }
  [[nodiscard]] std::size_t end(std::size_t entry) noexcept {
    const std::size_t k = of(entry);
    return k + 1 < attributes_ ? indices_[k + 1] : ~std::size_t{0};
  }

 private:
  const std::size_t* indices_;
  std::size_t attributes_;
  std::size_t at_{0};
};

// Whether and where to a batch crosses PCIe. That is asked in best-effort clients only, as of single copies.
[[nodiscard]] Bus bus_of(const cu::CUdeviceptr* to, const cu::CUdeviceptr* from, std::size_t count) noexcept;
[[nodiscard]] Bus bus_of(const cu::CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count) noexcept;
[[nodiscard]] std::uint64_t bytes_in(const cu::CUDA_MEMCPY3D_BATCH_OP& operation) noexcept;
[[nodiscard]] Bus bus_to(const cu::CUmemLocation& location) noexcept;
[[nodiscard]] Bus bus_to(cu::CUdevice device) noexcept;

// The index that the driver complains about, in the whole batch. All ones: about none of them.
inline void shift_failed(std::size_t* failed, std::size_t first) noexcept {
  if (failed && *failed != ~std::size_t{0}) *failed += first;
}

}  // namespace batch

// 12.8's form names the entry that failed, 13.0's does not.
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
    batch::Attributed attributed(indices, n);
    const bool known = to && from && sizes;
    const auto bytes = [&](std::size_t i) { return std::uint64_t{sizes[i]}; };
    if (piece == 0 || !known || count == 0 || !attributed.valid(count))
      return batch::moved<E>(
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
          const cu::CUresult result = batch::moved<E>(
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
      return batch::moved<E>(
          stream, operations ? batch::sum(count, bytes) : 0, operations ? batch::bus_of(operations, count) : Bus::kNone,
          [&] { return give(count, operations); }, HoldsUp::kYes);
    return batch::in_runs<batch::Entries::kWhole>(
        count, piece, bytes, [&](std::size_t) { return count; },
        [&](const batch::Run& run) {
          const cu::CUresult result = batch::moved<E>(
              stream, run.bytes, batch::bus_of(operations + run.first, run.count),
              [&] { return give(run.count, operations + run.first); }, HoldsUp::kYes);
          if (result != cu::CUDA_SUCCESS) batch::shift_failed(failed, run.first);
          return result;
        });
  }
};

// A range of managed memory comes to the GPU or leaves it.
template <Entry E>
struct Prefetch {
  template <class Where, class... More>
  static cu::CUresult call(cu::CUdeviceptr address, std::size_t bytes, Where where, More... more) noexcept {
    const cu::CUstream stream = copy::stream_in(more...);
    const std::uint64_t piece = batch::piece_for<E>(stream);
    const auto range = [&](std::size_t from, std::size_t n) {
      return batch::moved<E>(stream, n, batch::bus_to(where),
                             [&] { return driver_call<E>(address + from, n, where, more...); });
    };
    if (piece == 0 || bytes <= piece) return range(0, bytes);
    for (std::uint64_t at = 0; at < bytes; at += piece)
      if (const cu::CUresult result = range(at, std::min<std::uint64_t>(piece, bytes - at)); result != cu::CUDA_SUCCESS)
        return result;
    return cu::CUDA_SUCCESS;
  }
};

// Many ranges. What is discarded first does not cross PCIe.
template <Entry E>
struct PrefetchBatch {
  static cu::CUresult call(cu::CUdeviceptr* addresses, std::size_t* sizes, std::size_t count, cu::CUmemLocation* places,
                           std::size_t* indices, std::size_t n, unsigned long long flags,
                           cu::CUstream stream) noexcept {
    return in_ranges<E>(
        addresses, sizes, count, stream, indices, n, [&](auto ranges, std::size_t place, std::size_t* first) {
          const Bus bus = named<E>("Discard") || !places || n == 0 ? Bus::kNone : batch::bus_to(places[place]);
          return batch::moved<E>(stream, ranges.bytes, bus, [&] {
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

  // `give` gets ranges, the attribute they have, and where it begins among them; null: all of them, with all attributes.
  template <Entry Of, class Give>
  static cu::CUresult in_ranges(cu::CUdeviceptr* addresses, std::size_t* sizes, std::size_t count, cu::CUstream stream,
                                const std::size_t* indices, std::size_t n, Give give) noexcept {
    const std::uint64_t piece = batch::piece_for<Of>(stream);
    batch::Attributed attributed(indices, n);
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
          return batch::moved<E>(stream, ranges.bytes, Bus::kNone, [&] {
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
    // The engine is slower than memory: it is counted as slow as PCIe, which it need not cross.
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
    return batch::moved<E>(stream, count * kTileBytes, Bus::kNone,
                           [&] { return driver_call<E>(tiles, count, stream); });
  }
};

template <Entry E>
struct SignalOutside {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    const cu::CUresult result = driver_call<E>(arguments...);
    const cu::CUstream handle = copy::stream_in(arguments...);
    const bool tails = tails_wanted.load(std::memory_order_relaxed) != 0;
    if (result != cu::CUDA_SUCCESS || !tails || role() != Role::kHigh || capturing(handle, null_stream<E>()))
      return result;
    if (Stream* stream = stream_of(handle, null_stream<E>()))
      high_tail(*stream, {Submission::Kind::kCopy, 0, nullptr}, Tail::kYes);
    return result;
  }
};

BEHAVES(cuMemcpyBatchAsync, CopyBatch)
BEHAVES(cuMemcpyBatchAsync_ptsz, CopyBatch)
BEHAVES(cuMemcpyBatchAsync_v2, CopyBatch)
BEHAVES(cuMemcpyBatchAsync_v2_ptsz, CopyBatch)
BEHAVES(cuMemcpy3DBatchAsync, BoxBatch)
BEHAVES(cuMemcpy3DBatchAsync_ptsz, BoxBatch)
BEHAVES(cuMemcpy3DBatchAsync_v2, BoxBatch)
BEHAVES(cuMemcpy3DBatchAsync_v2_ptsz, BoxBatch)
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
BEHAVES(cuSignalExternalSemaphoresAsync, SignalOutside)
BEHAVES(cuSignalExternalSemaphoresAsync_ptsz, SignalOutside)

}  // namespace cotenant
