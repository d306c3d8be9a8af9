// Calls that move many things at once, divided into runs. A best-effort client's calls go to the driver in runs of at most
// as many bytes as one piece of a copy has, so that the gate can stop between them. All other calls go as they are.
#pragma once

#include "interposer/calls/copies.h"

namespace cotenant {
namespace batch {

// `count` entries of a batch from `first` on. Or a part of one entry: `bytes` bytes from `at` on.
struct Run {
  std::size_t first;
  std::size_t count;
  std::uint64_t at;
  std::uint64_t bytes;
};

enum class Entries { kWhole, kCut };  // whether one entry may be divided

// `bytes(i)` is what entry i moves. `together(i)` is the first entry behind it that may not be in one call with it.
template <Entries kEntries, class Bytes, class Together, class Each>
cu::CUresult in_runs(std::size_t count, std::uint64_t piece, Bytes bytes, Together together, Each each) noexcept {
  std::uint64_t at = 0;  // of entry i, which is divided
  for (std::size_t i = 0; i < count;) {
    const std::uint64_t whole = bytes(i);
    Run run{i, 1, at, whole - at};
    std::size_t next = i + 1;
    if (kEntries == Entries::kCut && whole > piece) {
      run.bytes = std::min(piece, run.bytes);
      at += run.bytes;
      if (at < whole) next = i;
      else at = 0;
    } else {
      for (const std::size_t stop = std::min(together(i), count); next < stop && run.bytes + bytes(next) <= piece;
           ++next)
        run.bytes += bytes(next);
      run.count = next - i;
    }
    // Called in one place, because it is inlined.
    if (const cu::CUresult result = each(run); result != cu::CUDA_SUCCESS) return result;
    i = next;
  }
  return cu::CUDA_SUCCESS;
}

// The bytes that one call may move; 0: all of them.
template <Entry E>
std::uint64_t piece_for(cu::CUstream stream) noexcept {
  const std::uint64_t piece = copy::piece_bytes();
  return piece != 0 && !is_capturing(stream, null_stream<E>()) ? piece : 0;
}

template <class Bytes>
std::uint64_t sum(std::size_t count, Bytes bytes) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += bytes(i);
  return all;
}

template <Entry E, class Call>
cu::CUresult submit_moves(cu::CUstream stream, std::uint64_t bytes, Bus bus, Call call,
                          HoldsUp holds_up = HoldsUp::kNo) noexcept {
  const Submission submission{Submission::Kind::kCopy, copy_ns(bytes, bus != Bus::kNone), nullptr, bus};
  return submit(stream, null_stream<E>(), Work::kCopy, Tail::kNo, submission, call, holds_up);
}

// Attribute k of a batch belongs to the entries from indices[k] to indices[k + 1].
class Attributes {
 public:
  Attributes(const std::size_t* indices, std::size_t attributes) noexcept
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

// Whether a batch crosses PCIe, and in which direction. As for single copies, only best-effort clients ask the driver.
[[nodiscard]] Bus bus_of(const cu::CUdeviceptr* to, const cu::CUdeviceptr* from, std::size_t count) noexcept;
[[nodiscard]] Bus bus_of(const cu::CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count) noexcept;
[[nodiscard]] std::uint64_t bytes_in(const cu::CUDA_MEMCPY3D_BATCH_OP& operation) noexcept;
[[nodiscard]] Bus bus_to(const cu::CUmemLocation& location) noexcept;
[[nodiscard]] Bus bus_to(cu::CUdevice device) noexcept;

// Turns the index of the failed entry of a run into an index in the whole batch. All ones: no particular entry failed.
inline void shift_failed(std::size_t* failed, std::size_t first) noexcept {
  if (failed && *failed != ~std::size_t{0}) *failed += first;
}

}  // namespace batch

}  // namespace cotenant
