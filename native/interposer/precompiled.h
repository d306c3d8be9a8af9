// Headers that most files of this folder include, compiled once: see native/Makefile. A change to anything in here
// compiles the whole folder again, so it holds nothing that changes often.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "interposer/lookup/entry.h"
