// dlsym and its kin of the C library. We export these names ourselves, so they are looked up in the dynamic
// symbol table of libc (libdl before glibc 2.34) by hand.
#pragma once

namespace cotenant {

using Dlsym = void* (*)(void* handle, const char* name);
using Dlvsym = void* (*)(void* handle, const char* name, const char* version);

// The C library's own functions, found in its symbol table: asking for them by name would find ours.
[[nodiscard]] Dlsym real_dlsym() noexcept;
[[nodiscard]] Dlvsym real_dlvsym() noexcept;
enum class Loader { kDlsym, kDlvsym, kDlopen, kDlmopen };
[[nodiscard]] void* real_loader(Loader which) noexcept;

}  // namespace cotenant
