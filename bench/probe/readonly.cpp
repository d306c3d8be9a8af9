// May the GPU wait on a page that its process can't write? The page is a memory file sealed against writing by all but the
// process that made it (F_SEAL_FUTURE_WRITE); that one plays the agent, a forked one of another user is the client.
// Prints one JSON line for each way to register the page. Needs a GPU:
//
//   g++ -std=c++17 -O2 -I$CUDA_HOME/include bench/probe/readonly.cpp -o readonly -lcuda -pthread && ./readonly
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBytes = 4096;
constexpr int kRounds = 200;
constexpr uid_t kNobody = 65534;

using Word = std::atomic<std::uint32_t>;

// Waits until the word is at least `value`, as a gate inside a kernel does.
constexpr const char* kPoll = R"(
.version 7.8
.target sm_70
.address_size 64
.visible .entry poll(.param .u64 at, .param .u32 value)
{
  .reg .pred %p;
  .reg .b32 %v, %wanted;
  .reg .b64 %at;
  ld.param.u64 %at, [at];
  ld.param.u32 %wanted, [value];
AGAIN:
  ld.relaxed.sys.u32 %v, [%at];
  setp.lt.u32 %p, %v, %wanted;
  @%p bra AGAIN;
  ret;
}
)";

std::int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

std::string text(CUresult result) {
  const char* name = nullptr;
  return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : std::to_string(result);
}

// The agent: adds one to the word whenever a byte comes, and answers with the moment at which it did.
[[noreturn]] void serve(int socket, Word* word) {
  char byte;
  while (read(socket, &byte, 1) == 1) {
    usleep(300);
    const std::int64_t at = now_ns();
    word->fetch_add(1, std::memory_order_seq_cst);
    if (write(socket, &at, sizeof at) != sizeof at) break;
  }
  wait(nullptr);
  _exit(0);
}

struct Client {
  int socket;
  Word* word;
  CUstream stream;
  CUfunction poll;

  // From the agent's store until the host sees that the GPU went on; -1: the GPU did not go on within 2 s.
  double us(CUdeviceptr at, bool by_kernel, CUresult& failed) const {
    std::uint32_t next = word->load() + 1;
    if (by_kernel) {
      void* parameters[] = {&at, &next};
      failed = cuLaunchKernel(poll, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    } else {
      failed = cuStreamWaitValue32(stream, at, next, CU_STREAM_WAIT_VALUE_GEQ);
    }
    if (failed) return -1;
    usleep(200);
    if (cuStreamQuery(stream) != CUDA_ERROR_NOT_READY) return -2;  // it did not wait at all
    std::int64_t stored;
    if (write(socket, "x", 1) != 1 || read(socket, &stored, sizeof stored) != sizeof stored) _exit(2);
    const std::int64_t limit = now_ns() + 2'000'000'000;
    while ((failed = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY && now_ns() < limit) {
    }
    return failed ? -1 : static_cast<double>(now_ns() - stored) / 1e3;
  }

  void measure(const char* how, CUdeviceptr at) const {
    for (const bool by_kernel : {false, true}) {
      std::vector<double> took;
      CUresult failed = CUDA_SUCCESS;
      int wrong = 0;
      for (int i = 0; i < kRounds && !failed; ++i) {
        const double us = this->us(at, by_kernel, failed);
        if (us < 0) ++wrong;
        else took.push_back(us);
      }
      std::sort(took.begin(), took.end());
      const double median = took.empty() ? -1 : took[took.size() / 2];
      const double p99 = took.empty() ? -1 : took[took.size() * 99 / 100];
      std::printf(
          "{\"page\":\"%s\",\"waits\":\"%s\",\"passed\":%zu,\"wrong\":%d,\"medianUs\":%.1f,\"p99Us\":%.1f,\"last\":\"%"
          "s\"}\n",
          how, by_kernel ? "kernel" : "stream", took.size(), wrong, median, p99, text(failed).c_str());
      std::fflush(stdout);
      if (failed == CUDA_ERROR_NOT_READY) _exit(3);  // it waits for ever
    }
  }
};

void try_page(const Client& client, const char* how, void* page, unsigned flags) {
  const CUresult registered = cuMemHostRegister(page, kBytes, flags);
  CUdeviceptr at = 0;
  const CUresult mapped = registered ? registered : cuMemHostGetDevicePointer(&at, page, 0);
  std::printf("{\"page\":\"%s\",\"flags\":%u,\"registered\":\"%s\",\"mapped\":\"%s\",\"sameAddress\":%s}\n", how, flags,
              text(registered).c_str(), text(mapped).c_str(),
              at == reinterpret_cast<CUdeviceptr>(page) ? "true" : "false");
  std::fflush(stdout);
  if (!mapped) client.measure(how, at);
  if (!registered) cuMemHostUnregister(page);
}

int client(int socket, int file) {
  if (getuid() == 0 && (setgid(kNobody) || setuid(kNobody))) return 2;
  const bool writes = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != MAP_FAILED;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const int again = open(path, O_RDWR);
  const bool rewrites = again >= 0 && mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) != MAP_FAILED;
  void* page = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0);
  CUdevice device;
  CUcontext context;
  int supported = 0;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context))
    return 2;
  cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, device);
  std::printf("{\"uid\":%u,\"writableMapping\":%s,\"reopenedWritable\":%s,\"readOnlyRegisterSupported\":%d}\n",
              getuid(), writes ? "true" : "false", rewrites ? "true" : "false", supported);
  CUmodule module;
  Client self{socket, static_cast<Word*>(page), nullptr, nullptr};
  if (cuStreamCreate(&self.stream, CU_STREAM_NON_BLOCKING) || cuModuleLoadData(&module, kPoll) ||
      cuModuleGetFunction(&self.poll, module, "poll"))
    return 2;
  try_page(self, "read-only", page, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY);
  try_page(self, "read-only, without the flag", page, CU_MEMHOSTREGISTER_DEVICEMAP);
  return 0;
}

}  // namespace

int main() {
  const int file = memfd_create("readonly", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0 || ftruncate(file, kBytes)) return 2;
  void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (page == MAP_FAILED) return 2;
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)) return 2;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 2;
  if (fork() == 0) {
    close(ends[0]);
    _exit(client(ends[1], file));
  }
  close(ends[1]);
  serve(ends[0], new (page) Word(0));
}
