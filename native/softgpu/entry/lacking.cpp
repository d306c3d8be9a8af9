// The functions of passed.def. Some of them are offered elsewhere: all are weak here, and build.mk links this file last.
// Their C++ names are others, because they take no notice of their parameters.
#include "softgpu/entry/lacking.h"

#include <string>

namespace cotenant::soft {

#define REASON(name, sentence)
#define PASSED(symbol, reason)                                                                              \
  extern "C" __attribute__((weak, visibility("default"))) cu::CUresult lacking_##symbol() __asm__(#symbol); \
  cu::CUresult lacking_##symbol() {                                                                         \
    static Once once;                                                                                       \
    return lack(once, #symbol);                                                                             \
  }
#define COUNTED(symbol) PASSED(symbol, )
#include "driver/passed.def"
#undef PASSED
#undef COUNTED

namespace {

struct Symbol {
  const char* name;
  void* address;
};

const Symbol kSymbols[] = {
#define PASSED(symbol, reason) {#symbol, reinterpret_cast<void*>(&lacking_##symbol)},
#define COUNTED(symbol) PASSED(symbol, )
#include "driver/passed.def"
#undef PASSED
#undef COUNTED
#undef REASON
};

void* find(const std::string& name) {
  for (const Symbol& symbol : kSymbols) {
    if (name == symbol.name) return symbol.address;
  }
  return nullptr;
}

}  // namespace

void* find_lacking(const char* name, bool per_thread) {
  for (const char* version : {"_v3", "_v2", ""}) {
    for (const char* form : {per_thread ? "_ptsz" : "", per_thread ? "_ptds" : "", ""}) {
      if (void* found = find(std::string(name) + version + form)) return found;
    }
  }
  return nullptr;
}

}  // namespace cotenant::soft
