// Lets user-mode Linux 6.1 run on CPUs whose registers are more than it knows, such as those with AMX. It writes the first
// 2,696 bytes of a process's extended state, and the kernel takes all of it or nothing: the rest is what the process has.
// Preloaded by rehearse.sh.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define NT_X86_XSTATE 0x202

typedef long (*Ptrace)(enum __ptrace_request, pid_t, void*, void*);

long ptrace(enum __ptrace_request request, ...) {
  va_list words;
  va_start(words, request);
  pid_t pid = va_arg(words, pid_t);
  void* address = va_arg(words, void*);
  void* data = va_arg(words, void*);
  va_end(words);
  static Ptrace next;
  if (!next) next = (Ptrace)dlsym(RTLD_NEXT, "ptrace");
  if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
    static __thread char whole[65536] __attribute__((aligned(64)));
    struct iovec all = {whole, sizeof whole};
    const struct iovec* given = data;
    if (next(PTRACE_GETREGSET, pid, address, &all) == 0 && all.iov_len > given->iov_len) {
      memcpy(whole, given->iov_base, given->iov_len);
      return next(request, pid, address, &all);
    }
  }
  return next(request, pid, address, data);
}
