// The call by which libcotenant-nccl.so gets its wrappers from libcotenant.so.
#pragma once

namespace cotenant {

// Fills in the wrappers of NCCL's functions, in the order of functions.def. libcotenant.so exports it. `count`: how many
// the caller has. False: it has other functions, so they are of different releases.
// Weak: libcotenant-nccl.so can be loaded without it.
extern "C" __attribute__((weak)) bool cotenant_nccl_wrappers(void** wrappers, unsigned count);

}  // namespace cotenant
