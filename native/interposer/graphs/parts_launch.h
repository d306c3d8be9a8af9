// The launch of a graph that may have parts.
#pragma once

#include "interposer/best_effort/exclusive_stream.h"
#include "interposer/graphs/parts.h"

namespace cotenant {

// One launch of an executable graph that may have parts. For any other graph this does nothing.
class PartsLaunch {
 public:
  using Function = cu::CUresult (*)(cu::CUgraphExec, cu::CUstream);

  PartsLaunch(cu::CUgraphExec exec, cu::CUstream stream, NullStream meaning) noexcept;
  ~PartsLaunch();
  PartsLaunch(const PartsLaunch&) = delete;
  PartsLaunch& operator=(const PartsLaunch&) = delete;

  // False: nothing was launched; the caller launches the whole graph.
  [[nodiscard]] bool in_parts(Function launch, cu::CUresult& result) noexcept;

 private:
  [[nodiscard]] static GraphParts* parts_of(cu::CUgraphExec exec, cu::CUstream stream, NullStream meaning) noexcept;

  cu::CUstream handle_;
  GraphParts* parts_;
  Stream* stream_;
  ExclusiveStream taken_;
};

}  // namespace cotenant
