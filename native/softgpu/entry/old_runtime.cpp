// Functions of newer libraries than GCC 8's and glibc 2.28 that the C++ library's headers use: defined here, so that
// an older machine can load this library. exports.map keeps them inside. test/interposer/loading.test.ts checks that
// nothing else is newer.
#include <cstdlib>
#include <memory>
#include <typeinfo>

// glibc 2.32. 0: there may be several threads.
extern "C" {
char __libc_single_threaded = 0;
}

namespace std {

// GCC 12. A vector of more elements than fit into memory: there are no exceptions here.
void __throw_bad_array_new_length() { std::abort(); }

#if !__cpp_rtti
// GCC 9. Asked by std::get_deleter alone, which nothing here calls.
bool _Sp_make_shared_tag::_S_eq(const type_info&) noexcept { return false; }
#endif

}  // namespace std
