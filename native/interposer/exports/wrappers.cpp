// The exports: one function for each replaced entry point, with the driver's own name and signature.
#include "interposer/calls/batches.h"
#include "interposer/calls/contexts.h"
#include "interposer/calls/copies.h"
#include "interposer/calls/graphs.h"
#include "interposer/calls/launches.h"
#include "interposer/calls/memory.h"
#include "interposer/calls/modules.h"
#include "interposer/calls/ranges.h"
#include "interposer/calls/recording.h"
#include "interposer/calls/waits.h"

namespace cotenant {

// Copies and fills: whatever entries.def calls so. Everything else is specialised in its family's header.
template <Entry E>
struct Behaviour : Copy<E> {
  static_assert((Traits<E>::name.substr(0, 8) == "cuMemcpy" || Traits<E>::name.substr(0, 8) == "cuMemset") &&
                    !has_name<E>("Batch"),
                "an entry point without a behaviour");
};

namespace cu {

// Flat: what wrappers share is small beside a call with all its arguments handed on, which costs 150 instructions a launch.
#define HOOK(symbol, params, args)                                                         \
  extern "C" __attribute__((visibility("default"), flatten)) CUresult symbol params {      \
    if (!load_driver(nullptr)) return CUDA_ERROR_NOT_INITIALIZED;                          \
    if (!real().symbol) return CUDA_ERROR_NOT_FOUND;                                       \
    if (const Role now = role(); now <= Role::kRecord) {                                   \
      if constexpr (Entry::symbol == Entry::cuInit) say_aside();                           \
      return now == Role::kNone ? real().symbol args : Recorded<Entry::symbol>::call args; \
    }                                                                                      \
    return Behaviour<Entry::symbol>::call args;                                            \
  }
#define CALL(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL

}  // namespace cu
}  // namespace cotenant
