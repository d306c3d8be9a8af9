// The interposer's dlsym and dlvsym. For a name of the driver they return the wrapper. Every other call must reach the
// C library unchanged, including its return address, by which RTLD_NEXT is resolved. So the call is forwarded by a
// jump, which is written in assembly. dlopen and dlmopen only check for libraries that are loaded in a way that
// bypasses the interposer.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "interposer/gangs/library.h"
#include "interposer/lookup/assembly.h"
#include "interposer/lookup/driver.h"
#include "interposer/lookup/libc.h"
#include "interposer/lookup/unhooked.h"
#include "interposer/process/process.h"
#include "interposer/products/library.h"

namespace cotenant {
namespace {

// Returns the result of the application's dlsym(handle, name). Null: the call is forwarded.
void* route(void* found, const char* name, const void* caller) noexcept {
  if (std::strncmp(name, "cublas", 6) == 0) return role() == Role::kBestEffort ? blas_wrapper(name, found) : nullptr;
  if (found && role() == Role::kNone && environment().tool && load_driver(found) && of_driver(found)) say_aside();
  // The driver's names continue with a capital letter after "cu"; those of cublas, cudnn and cufft do not.
  if (!found || role() == Role::kNone || name[2] < 'A' || name[2] > 'Z' || asks_behind_us(caller)) return nullptr;
  return load_driver(found) ? in_place_of(name, found, FoundBy::kName) : nullptr;
}

// An interposer in front of this library looks for the next dlsym. By the version of its symbol it would find the C
// library's.
void* own_loader(const char* name, const void* caller) noexcept {
  if (role() < Role::kRecord || !is_in_front(caller)) return nullptr;
  if (std::strcmp(name, "dlsym") == 0) return reinterpret_cast<void*>(dlsym);
  return std::strcmp(name, "dlvsym") == 0 ? reinterpret_cast<void*>(dlvsym) : nullptr;
}

// Lookups of such a library go to the C library: neither its dlsym nor the driver's functions that it is linked with
// are the interposer's.
void say_past_us(const char* file, const char* how) noexcept {
  static std::atomic<bool> said{false};
  if (!file || role() < Role::kHigh || said.exchange(true)) return;
  note_caveat(protocol::Caveat::kPastUs);
  tell("%s is loaded %s, past Cotenant: if it uses the GPU by itself, that is %s.", file, how,
       role() == Role::kHigh ? "not protected" : "not held back");
}

bool is_driver_name(const char* name) noexcept { return name && name[0] == 'c' && name[1] == 'u'; }
bool is_nccl_name(const char* name) noexcept { return name && std::strncmp(name, "nccl", 4) == 0; }

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void* cotenant_route_dlsym(void* handle, const char* name, void*,
                                                                            const void* caller) {
  // RTLD_NEXT (-1) depends on the caller, so the C library must see the original caller.
  const bool of_nccl = is_nccl_name(name);
  if ((!is_driver_name(name) && !of_nccl) || handle == reinterpret_cast<void*>(-1l)) return nullptr;
  const auto find = reinterpret_cast<Dlsym>(next_loader(Loader::kDlsym));
  if (of_nccl) return find ? gangs::nccl_wrapper(name, find(handle, name)) : nullptr;
  return find ? route(find(handle, name), name, caller) : nullptr;
}

extern "C" __attribute__((visibility("hidden"))) void* cotenant_route_dlvsym(void* handle, const char* name,
                                                                             const char* version, const void* caller) {
  if (name && name[0] == 'd' && handle == reinterpret_cast<void*>(-1l)) return own_loader(name, caller);
  if (!is_driver_name(name) || handle == reinterpret_cast<void*>(-1l)) return nullptr;
  const auto find = reinterpret_cast<Dlvsym>(next_loader(Loader::kDlvsym));
  return find ? route(find(handle, name, version), name, caller) : nullptr;
}

extern "C" __attribute__((visibility("hidden"))) void* cotenant_route_dlopen(const char* file, int mode) {
  if ((mode & RTLD_DEEPBIND) != 0) say_past_us(file, "with RTLD_DEEPBIND");
  return nullptr;
}

extern "C" __attribute__((visibility("hidden"))) void* cotenant_route_dlmopen(Lmid_t space, const char* file, int) {
  if (space != LM_ID_BASE) say_past_us(file, "into another namespace");
  return nullptr;
}

// musl has neither dlvsym nor dlmopen.
void* nothing() noexcept { return nullptr; }

// Names go on to the next interposer, files to the C library.
#define REAL(name, loader, which)                                                 \
  extern "C" __attribute__((visibility("hidden"))) void* cotenant_real_##name() { \
    void* found = loader(Loader::which);                                          \
    return found ? found : reinterpret_cast<void*>(nothing);                      \
  }
REAL(dlsym, next_loader, kDlsym)
REAL(dlvsym, next_loader, kDlvsym)
REAL(dlopen, real_loader, kDlopen)
REAL(dlmopen, real_loader, kDlmopen)

}  // namespace cotenant

// Each function saves the three arguments and calls its route function with these and the caller's address. If that
// returns an answer, it is returned. Else the arguments are restored, and the function jumps to the next one of its name,
// which then sees the original caller's return address.
#define FORWARD(name) \
  asm(".text\n"       \
      ".globl " #name \
      "\n"            \
      ".type " #name ", %function\n" #name ":\n" COTENANT_FORWARD(name) ".size " #name ", . - " #name "\n");

FORWARD(dlsym)
FORWARD(dlvsym)
FORWARD(dlopen)
FORWARD(dlmopen)
