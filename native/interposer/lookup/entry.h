// The driver's entry points as types, all made from driver/entries.def: a number for each replaced one,
// the table of the driver's own pointers, and for each replaced one its name and signature.
#pragma once

#include <string_view>

#include "driver/abi.h"

namespace cotenant {

namespace cu_entries {
using namespace cu;

// The driver's own functions. Null: this driver lacks the function.
struct Real {
#define HOOK(symbol, params, args) CUresult(*symbol) params = nullptr;
#define CALL(symbol, params, args) CUresult(*symbol) params = nullptr;
#include "driver/entries.def"
#undef HOOK
#undef CALL
};
}  // namespace cu_entries
using cu_entries::Real;

enum class Entry : unsigned {
#define HOOK(symbol, params, args) symbol,
#define CALL(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL
  kCount
};

// Valid once load_driver() has returned true, which every wrapper checks.
[[nodiscard]] const Real& real() noexcept;

template <Entry>
struct Traits;

namespace cu_entries {
#define HOOK(symbol, params, args)                          \
  }                                                         \
  template <>                                               \
  struct Traits<Entry::symbol> {                            \
    static constexpr std::string_view name = #symbol;       \
    static auto driver() noexcept { return real().symbol; } \
  };                                                        \
  namespace cu_entries {
#define CALL(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL
}  // namespace cu_entries

}  // namespace cotenant
