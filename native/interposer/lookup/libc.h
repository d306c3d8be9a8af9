// dlsym and related functions of the C library. The interposer exports functions of these names itself, so the
// originals are found in the dynamic symbol table of libc (libdl before glibc 2.34).
#pragma once

struct link_map;

namespace cotenant {

using Dlsym = void* (*)(void* handle, const char* name);
using Dlvsym = void* (*)(void* handle, const char* name, const char* version);

// The C library's own functions. A lookup by name would find the interposer's.
[[nodiscard]] Dlsym real_dlsym() noexcept;
[[nodiscard]] Dlvsym real_dlvsym() noexcept;
enum class Loader { kDlsym, kDlvsym, kDlopen, kDlmopen };
[[nodiscard]] void* real_loader(Loader which) noexcept;

// The function that the program would have got if this library were not there: that of the next interposer, else the C
// library's.
[[nodiscard]] void* next_loader(Loader which) noexcept;

// The function of that name behind this library: another interposer's, else the C library's. Takes no lock and no memory.
[[nodiscard]] void* next_function(const char* name) noexcept;
// The path of this library. Takes no lock and no memory.
[[nodiscard]] const char* own_path() noexcept;

// The address that an object exports under the name; null: none. Read without the loader's lock: the object must not be unloaded
// meanwhile.
[[nodiscard]] void* exported_by(const link_map& object, const char* symbol) noexcept;
// The name that the object gives itself (DT_SONAME); null: none.
[[nodiscard]] const char* own_name_of(const link_map& object) noexcept;
// Whether names are looked up in this library before the object.
[[nodiscard]] bool is_behind_us(const link_map& object) noexcept;

}  // namespace cotenant
