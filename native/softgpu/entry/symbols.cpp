#include "softgpu/entry/symbols.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include "softgpu/entry/entries.h"
#include "softgpu/entry/lacking.h"

namespace cotenant::cu {
extern "C" CUresult cuMemFree(unsigned int dptr);  // entries.def knows only the version of 3.2
extern "C" CUresult cuStreamBeginLaterCapture(CUstream hStream, CUstreamCaptureMode mode);
}  // namespace cotenant::cu

namespace cotenant::soft {
namespace {

struct Symbol {
  const char* name;
  void* address;
};

const Symbol kSymbols[] = {
#define HOOK(symbol, parameters, arguments) {#symbol, reinterpret_cast<void*>(&cu::symbol)},
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
    {"cuMemFree", reinterpret_cast<void*>(&cu::cuMemFree)},
    {"cuStreamBeginLaterCapture", reinterpret_cast<void*>(&cu::cuStreamBeginLaterCapture)},
};

struct Route {
  const char* name;
  int since;
  const char* symbol;
};

const Route kRoutes[] = {
#define ROUTE(name, since, symbol) {#name, since, #symbol},
#include "softgpu/entry/routes.def"
#undef ROUTE
};

constexpr int kPerThreadSince = 7000;  // the release that brought per-thread default streams

}  // namespace

void* find_symbol(const char* symbol) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string, void*>;
    for (const Symbol& known : kSymbols) (*made)[known.name] = known.address;
    return made;
  }();
  const auto found = table->find(symbol);
  return found == table->end() ? nullptr : found->second;
}

Found find_version(const char* name, int version, bool per_thread, void** out) {
  const Route* best = nullptr;
  bool known = false;
  for (const Route& route : kRoutes) {
    if (std::strcmp(route.name, name) != 0) continue;
    known = true;
    if (route.since <= version && (best == nullptr || route.since > best->since)) best = &route;
  }
  if (!known) {
    *out = find_lacking(name, per_thread);
    return *out == nullptr ? Found::no : Found::yes;
  }
  if (best == nullptr) return Found::too_old;
  *out = find_symbol(best->symbol);
  if (per_thread && version >= kPerThreadSince) {
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      void* form = find_symbol((std::string(best->symbol) + suffix).c_str());
      if (form != nullptr) *out = form;
    }
  }
  return Found::yes;
}

}  // namespace cotenant::soft
