// Compares our declarations of the driver ABI with a cuda.h. Compiled, never linked, and only where a cuda.h is
// installed; whoever bumps kCudaVersion runs it against that release. Three comparisons: structures member by
// member, values one by one, and every signature of entries.def by arity and by size and kind of each parameter.
#include <type_traits>

#include "driver/abi.h"  // before cuda.h: that one turns some of our names into macros

#define __CUDA_API_VERSION_INTERNAL  // declares every version and the _ptds/_ptsz forms, under their ABI names
#include <cuda.h>
#include <cudaProfiler.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace cotenant::check {

enum class Kind { pointer, floating, integer, aggregate };

template <class T>
constexpr Kind kind = std::is_pointer_v<T>          ? Kind::pointer
                      : std::is_floating_point_v<T> ? Kind::floating
                      : std::is_class_v<T>          ? Kind::aggregate
                                                    : Kind::integer;

// Stands for one argument of ours: converts to a parameter of cuda.h exactly if size and kind are the same.
template <std::size_t Size, Kind K>
struct Argument {
  template <class T, std::enable_if_t<sizeof(T) == Size && kind<T> == K, int> = 0>
  operator T() const;
};

struct Undeclared {};

template <class... P>
struct Parameters {
  static constexpr std::size_t count = sizeof...(P);
};
template <class>
struct ParametersOf;
template <class... P>
struct ParametersOf<void(P...)> {
  using type = Parameters<P...>;
};

// With cuda.h of 13.5 our list has nothing that the header lacks.
constexpr const char* kNotInCudaH[] = {""};

constexpr bool same_text(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}
constexpr bool is_excused(const char* symbol) {
  for (const char* name : kNotInCudaH) {
    if (same_text(name, symbol)) return true;
  }
  return false;
}

}  // namespace cotenant::check

// A worse match than cuda.h's function of that name, and there even if cuda.h has none.
#define HOOK(symbol, parameters, arguments) \
  template <class...>                       \
  cotenant::check::Undeclared symbol(...);
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL

namespace cotenant::check {

#define HOOK(symbol, parameters, arguments)                                                              \
  template <class... P>                                                                                  \
  constexpr bool symbol##_agrees(Parameters<P...>) {                                                     \
    return std::is_same_v<decltype(::symbol(Argument<sizeof(P), kind<P>>{}...)), ::CUresult>;            \
  }                                                                                                      \
  namespace ours {                                                                                       \
  using namespace cotenant::cu;                                                                          \
  using symbol##_type = typename ParametersOf<void parameters>::type;                                    \
  }                                                                                                      \
  static_assert(symbol##_agrees(ours::symbol##_type{}) || is_excused(#symbol), #symbol " differs from cuda.h");
#define CALL HOOK
#if CUDA_VERSION >= 13050
#include "driver/entries.def"
#else
#pragma message("this cuda.h is older than entries.def: signatures are not compared")
#endif
#undef HOOK
#undef CALL

#define RESULT(name, value, words) static_assert(unsigned(cu::name) == unsigned(::name), #name);
#include "driver/results.def"
#undef RESULT

#define SIZE(ours, theirs) static_assert(sizeof(cu::ours) == sizeof(::theirs), #ours);
#define FIELD(type, field)                                                                \
  static_assert(offsetof(cu::type, field) == offsetof(::type, field), #type "::" #field); \
  static_assert(sizeof(cu::type::field) == sizeof(::type::field), #type "::" #field);
#define VALUE(name) static_assert(unsigned(cu::name) == unsigned(::name), #name);
#include "driver/abi_check.def"

}  // namespace cotenant::check
