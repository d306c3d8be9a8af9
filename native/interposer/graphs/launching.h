// The launch of a graph that may have parts.
#pragma once

#include "interposer/best_effort/stream_taken.h"
#include "interposer/graphs/parts.h"

namespace cotenant {

// One launch of an executable graph that may have parts. For any other graph this does nothing.
class GraphLaunching {
 public:
  using Function = cu::CUresult (*)(cu::CUgraphExec, cu::CUstream);

  GraphLaunching(cu::CUgraphExec exec, cu::CUstream stream, NullStream meaning) noexcept;
  ~GraphLaunching();
  GraphLaunching(const GraphLaunching&) = delete;
  GraphLaunching& operator=(const GraphLaunching&) = delete;

  // False: nothing was launched; the caller launches the whole graph.
  [[nodiscard]] bool in_parts(Function launch, cu::CUresult& result) noexcept;

 private:
  [[nodiscard]] static GraphParts* parts_of(cu::CUgraphExec exec, cu::CUstream stream, NullStream meaning) noexcept;

  cu::CUstream handle_;
  GraphParts* parts_;
  Stream* stream_;
  StreamTaken taken_;
};

}  // namespace cotenant
