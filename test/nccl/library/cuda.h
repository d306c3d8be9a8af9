// The driver's functions, as NCCL finds them: nothing is linked.
#pragma once

#include "driver/abi.h"

namespace nccl {

using namespace cotenant::cu;

struct Cuda {
#define HOOK(symbol, parameters, arguments) CUresult(*symbol) parameters = nullptr;
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
};

const Cuda& cuda();

// Makes a context current for a scope.
class Current {
 public:
  explicit Current(CUcontext context) { cuda().cuCtxPushCurrent_v2(context); }
  ~Current() {
    CUcontext popped = nullptr;
    cuda().cuCtxPopCurrent_v2(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

}  // namespace nccl
