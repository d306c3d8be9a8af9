// Copies and fills: their size, their direction, and whether the call itself shows completion.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "interposer/calls/behaviour.h"
#include "interposer/lookup/copy_arguments.h"

namespace cotenant {

// Expected time on the copy engine or in memory. The figures are slow on purpose, so that a budget is rather too long:
// PCIe 4/5 reaches 25 to 50 GB/s from pinned memory, an H200's memory 4.3 TB/s (read plus write).
[[nodiscard]] constexpr std::uint64_t copy_ns(std::uint64_t bytes, bool over_pcie) noexcept {
  return over_pcie ? 2'000 + bytes / 20 : 1'500 + bytes / 1'000;
}

namespace copy {

inline cu::CUdeviceptr advance(cu::CUdeviceptr at, std::uint64_t by) noexcept { return at + by; }
inline void* advance(void* at, std::uint64_t by) noexcept { return static_cast<char*>(at) + by; }
inline const void* advance(const void* at, std::uint64_t by) noexcept { return static_cast<const char*>(at) + by; }

// Largest piece a best-effort copy may be made in now; 0: whole.
[[nodiscard]] std::uint64_t piece_bytes() noexcept;

// Where a copy that a struct describes goes on the host.
template <class Described>
cu::CUdeviceptr host_target(const Described* p) noexcept {
  return to_host(p) ? reinterpret_cast<std::uintptr_t>(p->dstHost) : 0;
}

// A copy to the host, by a high client, that is complete when the call returns. It completes its stream, and on the
// legacy stream the blocking streams as well.
class HostCopy {
 public:
  HostCopy(Stream& stream, bool legacy) noexcept;
  void complete() noexcept;
  // Whether the call took so long that it may have waited for the GPU. Only then is the kind of memory queried.
  [[nodiscard]] bool may_have_waited() const noexcept { return now_ns() - since_ > kNotHeldUpNs; }

 private:
  // A copy to pinned memory takes 2 us, one to pageable memory 250 us.
  static constexpr std::uint64_t kNotHeldUpNs = 5'000;
  Stream& stream_;
  std::uint64_t upto_;
  std::uint64_t since_;
  Snapshot others_;
};

}  // namespace copy

template <Entry E>
struct Copy {
  static constexpr bool kAsync = has_name<E>("Async");
  static constexpr bool kFill = has_name<E>("Memset");
  static constexpr bool kToHost = has_name<E>("DtoH") || has_name<E>("AtoH");
  static constexpr bool kFromHost = has_name<E>("HtoD") || has_name<E>("HtoA");
  // The driver copies to and from pageable memory through buffers of its own, and may have to wait for the GPU,
  // whatever the call's name. The kind of memory is not queried.
  static constexpr HoldsUp kHoldsUp =
      kFill || has_name<E>("DtoD") || has_name<E>("DtoA") || has_name<E>("AtoD") || has_name<E>("AtoA") ? HoldsUp::kNo
                                                                                                        : HoldsUp::kYes;
  // Whether the arguments are destination, source and bytes. Such a copy can be divided.
  static constexpr bool kLinear =
      !kFill && (has_name<E>("HtoD") || has_name<E>("DtoH") || has_name<E>("DtoD") ||
                 Traits<E>::name.substr(0, 9) == "cuMemcpy_" || Traits<E>::name == "cuMemcpy" ||
                 Traits<E>::name.substr(0, 13) == "cuMemcpyAsync" || has_name<E>("cuMemcpyWithAttributes"));

  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    if constexpr (kLinear) return pieces(arguments...);
    else return submit_whole(arguments...);
  }

  template <class First, class... A>
  static std::uint64_t bytes(First first, A... rest) noexcept {
    if constexpr (copy::is_struct<First>()) {
      return copy::bytes_in(first);
    } else {
      const copy::Sizes sizes = copy::sizes_in(first, rest...);
      constexpr std::uint64_t kUnit = has_name<E>("D16") ? 2 : has_name<E>("D32") ? 4 : 1;
      constexpr bool kRows = has_name<E>("MemsetD2D");
      return (kRows ? sizes.last * sizes.before : sizes.last) * kUnit;
    }
  }

  template <class First>
  static bool ends_on_host(First first) noexcept {
    if constexpr (kToHost) return true;
    else if constexpr (kFromHost) return false;
    else if constexpr (copy::is_struct<First>()) return copy::to_host(first);
    else if constexpr (kLinear && !has_name<E>("DtoD")) return copy::is_host(first);
    else return false;
  }

 private:
  // All calls are inlined, so each call of submit in this file costs as much code again for each entry point.
  template <class To, class From, class... Stream>
  static cu::CUresult pieces(To to, From from, std::size_t bytes, Stream... stream) noexcept {
    const std::uint64_t limit = copy::piece_bytes();
    const bool whole = limit == 0 || bytes <= limit || is_capturing(copy::stream_in(stream...), null_stream<E>());
    const std::uint64_t piece = whole ? bytes : limit;
    std::uint64_t at = 0;
    do {
      const std::size_t now = std::min<std::uint64_t>(piece, bytes - at);
      const cu::CUresult result = submit_whole(copy::advance(to, at), copy::advance(from, at), now, stream...);
      if (result != cu::CUDA_SUCCESS) return result;
      at += now;
    } while (at < bytes);
    return cu::CUDA_SUCCESS;
  }

  // If the name does not say the direction, only best-effort clients ask the driver. A high client should not pay for
  // the question.
  template <class First, class... A>
  static Bus bus(First first, [[maybe_unused]] A... rest) noexcept {
    if constexpr (kToHost) return Bus::kOut;
    else if constexpr (kFromHost) return Bus::kIn;
    else if constexpr (copy::is_struct<First>())
      return copy::to_host(first) == copy::from_host(first) ? Bus::kNone : copy::to_host(first) ? Bus::kOut : Bus::kIn;
    else if constexpr (kLinear && !has_name<E>("DtoD"))
      return role() == Role::kBestEffort ? bus_by_pointers(first, rest...) : Bus::kNone;
    else return Bus::kNone;
  }
  template <class... A>
  static Bus bus_by_pointers(cu::CUdeviceptr to, cu::CUdeviceptr from, A...) noexcept {
    const bool out = copy::is_host(to);
    return out == copy::is_host(from) ? Bus::kNone : out ? Bus::kOut : Bus::kIn;
  }

  template <class First, class... A>
  static cu::CUresult submit_whole(First first, A... rest) noexcept {
    const auto forward = [&] { return driver_call<E>(first, rest...); };
    const cu::CUstream handle = kAsync ? copy::stream_in(first, rest...) : nullptr;
    constexpr NullStream kMeaning = null_stream<E>();
    const Bus over = bus(first, rest...);
    const Submission submission{Submission::Kind::kCopy, copy_ns(bytes(first, rest...), over != Bus::kNone), nullptr,
                                over};
    constexpr Tail kTail = kAsync && kToHost ? Tail::kYes : Tail::kNo;
    if constexpr (!kAsync && !kFill) {
      if (role() == Role::kHigh && ends_on_host(first) && !is_capturing(handle, kMeaning)) {
        if (Stream* stream = stream_of(handle, kMeaning)) {
          const TouchesMemory touches;
          high_begin(*stream, Work::kCopy);
          high_publish_copy(*stream, {Submission::Kind::kCopy, submission.copy_ns, nullptr, Bus::kOut});
          copy::HostCopy finished(*stream, kMeaning == NullStream::kLegacy);
          high_waits(*stream->context->gpu);
          const cu::CUresult result = [&] {
            const BlockedOn blocked(*stream->context->gpu);
            return forward();
          }();
          if (result != cu::CUDA_SUCCESS) {
            high_withdraw(*stream);
            return result;
          }
          high_settle(*stream);
          high_end_copy(*stream);
          finished.complete();
          return result;
        }
      }
    }
    constexpr bool kMayWait = kAsync && kHoldsUp == HoldsUp::kYes && !kFromHost;
    std::optional<copy::HostCopy> finished;
    if constexpr (kMayWait) {
      Stream* stream = role() == Role::kHigh && !is_capturing(handle, kMeaning) ? stream_of(handle, kMeaning) : nullptr;
      if (stream) {
        finished.emplace(*stream, stream->context->legacy.load(std::memory_order_acquire) == stream);
        Gpu& gpu = *stream->context->gpu;
        if (gpu.high.holding.young.load(std::memory_order_relaxed) && copy::is_pageable(target(first)))
          end_grace_period_of(gpu);
      }
    }
    const cu::CUresult result = submit(handle, kMeaning, Work::kCopy, kTail, submission, forward, kHoldsUp);
    if constexpr (kMayWait) {
      if (finished && result == cu::CUDA_SUCCESS && finished->may_have_waited() && copy::is_pageable(target(first)))
        finished->complete();
    }
    return result;
  }

  static cu::CUdeviceptr target(cu::CUdeviceptr to) noexcept { return to; }
  static cu::CUdeviceptr target(void* to) noexcept { return reinterpret_cast<std::uintptr_t>(to); }
  template <class First>
  static cu::CUdeviceptr target(First first) noexcept {
    if constexpr (copy::is_struct<First>()) return copy::host_target(first);
    else return 0;  // an array
  }
};

}  // namespace cotenant
