// A segment: the work that one observed completion showed to be done. Programs that queue their next work before they look
// at the results of the last one never have nothing outstanding, so their bursts do not end. Their segments do.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

struct Stream;

// The nodes of graphs that a stream has launched, by the position of the launch in the stream. All of it under the lock of
// the GPU.
class GraphQueue {
 public:
  void add(std::uint64_t at, std::uint32_t nodes) noexcept {
    if (count_ == kPlaces) {
      ++first_;
      --count_;
    }
    places_[(first_ + count_++) % kPlaces] = {at, nodes};
  }
  // Takes out the graphs up to a position, and returns their nodes.
  std::uint64_t take(std::uint64_t upto) noexcept {
    std::uint64_t nodes = 0;
    for (; count_ > 0 && places_[first_ % kPlaces].at <= upto; ++first_, --count_)
      nodes += places_[first_ % kPlaces].nodes;
    return nodes;
  }

 private:
  // More graphs than an engine queues for two steps that it launches in pieces, one for each layer.
  static constexpr std::uint32_t kPlaces = 256;
  struct Place {
    std::uint64_t at;
    std::uint32_t nodes;
  };
  Place places_[kPlaces]{};
  std::uint32_t first_{0};
  std::uint32_t count_{0};
};

// The segment that is open on a GPU. Under the lock of the GPU.
struct Segment {
  static constexpr std::uint32_t kStreams = 8;
  std::uint64_t begin{0};  // when the one before ended, or the burst began
  std::uint64_t waited_before{0};  // the part of the burst's wait time that belongs to earlier segments
  std::uint64_t submissions{0};  // seen to be done by the completion that is being observed
  std::uint64_t nodes{0};  // of graphs among them
  std::uint32_t mains{0};  // segments that had the main work of a step, so far
  std::uint64_t main_ns{0};  // about the median length of such a segment
  std::uint64_t main_work{0};  // of segments that have the main work: a peak that falls by 1/64 a segment
  Stream* raised[kStreams]{};  // streams with work that this completion showed to be done; further ones are not listed
  std::uint32_t raised_count{0};

  void raise(Stream& stream, std::uint64_t work, std::uint64_t graph_nodes) noexcept {
    submissions += work;
    nodes += graph_nodes;
    if (raised_count < kStreams) raised[raised_count++] = &stream;
  }

  // Whether a segment of this work ends a step. Steps of one program have about as many kernels and nodes each; what
  // belongs to them (inputs copied in, a token sampled) has far fewer.
  bool has_main(std::uint64_t work) noexcept {
    main_work = work >= main_work ? work : main_work - (main_work - work) / 64;
    return work * 4 >= main_work;
  }

  void note_main(std::uint64_t ns) noexcept {
    ++mains;
    if (main_ns == 0) main_ns = ns;
    else main_ns = ns > main_ns ? main_ns + main_ns / 16 : main_ns - main_ns / 16;
  }

  void begins(std::uint64_t now, std::uint64_t waited) noexcept {
    begin = now;
    waited_before = waited;
    leaves_out();
  }
  // Work that was just seen to be done belongs to no segment.
  void leaves_out() noexcept {
    submissions = nodes = 0;
    raised_count = 0;
  }
};

}  // namespace cotenant
