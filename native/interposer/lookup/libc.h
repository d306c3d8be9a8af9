// dlsym and related functions of the C library. The interposer exports functions of these names itself, so the
// originals are found in the dynamic symbol table of libc (libdl before glibc 2.34).
#pragma once

namespace cotenant {

using Dlsym = void* (*)(void* handle, const char* name);
using Dlvsym = void* (*)(void* handle, const char* name, const char* version);

// The C library's own functions. A lookup by name would find the interposer's.
[[nodiscard]] Dlsym real_dlsym() noexcept;
[[nodiscard]] Dlvsym real_dlvsym() noexcept;
enum class Loader { kDlsym, kDlvsym, kDlopen, kDlmopen };
[[nodiscard]] void* real_loader(Loader which) noexcept;

}  // namespace cotenant
