// Macros that must be written in assembly, for each architecture in a file of its own:
//   COTENANT_FORWARD(name)   the body of a function that asks cotenant_route_name and jumps to what cotenant_real_name
//                            returns: exports/dlsym.cpp
//   COTENANT_COUNTING_JUMP   increments cotenant_counting_calls[cotenant_counting] and jumps to
//                            cotenant_counting_targets[cotenant_counting]; it changes no argument: unhooked.cpp
//   COTENANT_JUMP_BYTES      room for one of them, as text
#pragma once

#if defined(__x86_64__)
#include "interposer/lookup/assembly_x86_64.h"
#elif defined(__aarch64__)
#include "interposer/lookup/assembly_aarch64.h"
#else
#error "calls are forwarded on x86-64 and 64-bit ARM only"
#endif
