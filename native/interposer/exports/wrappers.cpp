// The exports: one function for each replaced entry point, with the driver's name and signature.
#include "interposer/calls/batches.h"
#include "interposer/calls/contexts.h"
#include "interposer/calls/copies.h"
#include "interposer/calls/graphs.h"
#include "interposer/calls/launches.h"
#include "interposer/calls/mappings.h"
#include "interposer/calls/memory.h"
#include "interposer/calls/modules.h"
#include "interposer/calls/pointers.h"
#include "interposer/calls/ranges.h"
#include "interposer/calls/recording.h"
#include "interposer/calls/waits.h"

namespace cotenant {

// The default is a copy or a fill, as entries.def names them. All other entry points are specialised in the headers of
// their families.
template <Entry E>
struct Behaviour : Copy<E> {
  static_assert((Traits<E>::name.substr(0, 8) == "cuMemcpy" || Traits<E>::name.substr(0, 8) == "cuMemset") &&
                    !has_name<E>("Batch"),
                "an entry point without a behaviour");
};

namespace cu {

// Everything is inlined: a call that hands on all arguments costs 150 instructions a launch, and the code that wrappers
// could share is small beside that.
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
