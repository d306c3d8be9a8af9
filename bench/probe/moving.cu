// Two questions before memory of a best-effort client is moved out while its streams are held.
//
//   moving held GB    Can a thread of the client copy, unmap and map memory while each stream stands at a wait and launches
//                     are queued behind it; also while another thread is blocked in a launch because the queue is full?
//   moving mover GB   Can another process take the client's pieces, copy them to its own pinned memory and back? What do
//                     export, import, mapping, pinning and its context cost?
//
// Each line is a step, its time in ms, and what it says. A watchdog opens the hold after 3 s, so that a step that waits for
// the hold shows about 3,000 ms.
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    CUresult result = (call);                                                        \
    if (result != CUDA_SUCCESS) {                                                    \
      const char* name = "?";                                                        \
      cuGetErrorName(result, &name);                                                 \
      std::printf("line %d: %s failed with %s\n", __LINE__, #call, name);            \
      std::fflush(stdout);                                                           \
      _exit(1);                                                                      \
    }                                                                                \
  } while (0)

namespace {

constexpr size_t kPiece = size_t{64} << 20;

extern "C" __global__ void add_one(unsigned* words, size_t count) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
    words[i] += 1;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Step>
double timed(const char* what, size_t bytes, Step step) {
  double begin = now_ms();
  step();
  double ms = now_ms() - begin;
  if (bytes != 0)
    std::printf("%-58s %9.1f ms  %5.1f GB/s\n", what, ms, bytes / ms / 1e6);
  else
    std::printf("%-58s %9.1f ms\n", what, ms);
  std::fflush(stdout);
  return ms;
}

struct Pieces {
  CUdevice device;
  CUdeviceptr base = 0;
  size_t bytes;
  std::vector<CUmemGenericAllocationHandle> handles;
  bool shareable;

  Pieces(CUdevice device, size_t bytes, bool shareable) : device(device), bytes(bytes), shareable(shareable) {
    CHECK(cuMemAddressReserve(&base, bytes, 0, 0, 0));
    handles.resize(bytes / kPiece);
  }
  void create() {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    if (shareable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    for (auto& handle : handles) CHECK(cuMemCreate(&handle, kPiece, &prop, 0));
  }
  void map() {
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (size_t i = 0; i < handles.size(); i++) CHECK(cuMemMap(base + i * kPiece, kPiece, 0, handles[i], 0));
    CHECK(cuMemSetAccess(base, bytes, &access, 1));
  }
  void unmap() { CHECK(cuMemUnmap(base, bytes)); }
  void release() {
    for (auto handle : handles) CHECK(cuMemRelease(handle));
  }
};

size_t free_bytes() {
  size_t free = 0, total = 0;
  CHECK(cuMemGetInfo(&free, &total));
  return free;
}

char* host_pages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(pages, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(pages);
}

void touch(char* pages, size_t bytes) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++)
    threads.emplace_back([=] { std::memset(pages + bytes / 8 * t, 1, bytes / 8); });
  for (auto& thread : threads) thread.join();
}

CUcontext start(CUdevice* device) {
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(device, 0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, *device));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

void held(size_t bytes, bool full) {
  CUdevice device;
  CUcontext context = start(&device);
  Pieces pieces(device, bytes, false);
  pieces.create();
  pieces.map();
  CHECK(cuMemsetD32(pieces.base, 7, bytes / 4));
  char* host = host_pages(bytes);
  touch(host, bytes);
  timed("pin (cuMemHostRegister)", bytes, [&] { CHECK(cuMemHostRegister(host, bytes, 0)); });
  auto* word = reinterpret_cast<unsigned*>(host_pages(1 << 21));
  *word = 0;
  CHECK(cuMemHostRegister(word, 1 << 21, CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr seen;
  CHECK(cuMemHostGetDevicePointer(&seen, word, 0));

  auto* words = reinterpret_cast<unsigned*>(pieces.base);
  std::vector<CUstream> streams(4);
  for (auto& stream : streams) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUstream mine;
  CHECK(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
  add_one<<<1, 32, 0, streams[0]>>>(words, 32);
  CHECK(cuCtxSynchronize());
  for (auto stream : streams) CHECK(cuStreamWaitValue32(stream, seen, 1, CU_STREAM_WAIT_VALUE_GEQ));
  std::atomic<int> launched{0};
  int each = full ? 4000 : 100;
  std::thread launcher([&] {
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < each; i++)
      for (auto stream : streams) {
        add_one<<<1, 32, 0, stream>>>(words, 32);
        launched++;
      }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::printf("launches queued behind the waits: %d of %d\n", launched.load(), each * 4);
  std::atomic<bool> opened{false}, over{false};
  std::thread watchdog;
  auto guard = [&] {
    if (watchdog.joinable()) watchdog.join();
    over = false;
    watchdog = std::thread([&] {
      for (int i = 0; i < 300 && !over; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (!over) {
        opened = true;
        *reinterpret_cast<volatile unsigned*>(word) = 1;
      }
    });
  };
  auto step = [&](const char* what, size_t moved, auto&& work) {
    guard();
    timed(what, moved, work);
    over = true;
    if (opened) std::printf("  the hold was opened in this step or before\n");
  };
  step("copy out, on a stream of its own, synchronised", bytes, [&] {
    for (size_t at = 0; at < bytes; at += kPiece)
      CHECK(cuMemcpyDtoHAsync(host + at, pieces.base + at, kPiece, mine));
    CHECK(cuStreamSynchronize(mine));
  });
  step("cuMemUnmap", 0, [&] { pieces.unmap(); });
  size_t before = free_bytes();
  step("cuMemRelease", 0, [&] { pieces.release(); });
  std::printf("freed %.2f GB\n", (free_bytes() - before) / 1e9);
  step("cuMemCreate", 0, [&] { pieces.create(); });
  step("cuMemMap and cuMemSetAccess", 0, [&] { pieces.map(); });
  step("copy back, synchronised", bytes, [&] {
    for (size_t at = 0; at < bytes; at += kPiece)
      CHECK(cuMemcpyHtoDAsync(pieces.base + at, host + at, kPiece, mine));
    CHECK(cuStreamSynchronize(mine));
  });
  watchdog.join();
  *reinterpret_cast<volatile unsigned*>(word) = 1;
  launcher.join();
  CHECK(cuCtxSynchronize());
  unsigned value = 0;
  CHECK(cuMemcpyDtoH(&value, pieces.base + bytes / 2, 4));
  std::printf("a word that nothing changed: %u (7)\n", value);
}

void send_fd(int socket, int fd) {
  char byte = 0;
  iovec io = {&byte, 1};
  char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(socket, &message, 0) != 1) _exit(2);
}

int receive_fd(int socket) {
  char byte;
  iovec io = {&byte, 1};
  char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, 0) != 1) _exit(2);
  int fd;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

void say(int socket) {
  if (write(socket, "x", 1) != 1) _exit(2);
}

void hear(int socket) {
  char byte;
  if (read(socket, &byte, 1) != 1) _exit(2);
}

/** The client of a mover: its streams are held while the mover copies. */
void lend(int socket, size_t bytes) {
  CUdevice device;
  start(&device);
  Pieces pieces(device, bytes, true);
  pieces.create();
  pieces.map();
  CHECK(cuMemsetD32(pieces.base, 7, bytes / 4));
  auto* word = reinterpret_cast<unsigned*>(host_pages(1 << 21));
  *word = 0;
  CHECK(cuMemHostRegister(word, 1 << 21, CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr seen;
  CHECK(cuMemHostGetDevicePointer(&seen, word, 0));
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuCtxSynchronize());
  CHECK(cuStreamWaitValue32(stream, seen, 1, CU_STREAM_WAIT_VALUE_GEQ));
  hear(socket);
  timed("client: export and send", 0, [&] {
    for (auto handle : pieces.handles) {
      int fd = -1;
      CHECK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
      send_fd(socket, fd);
      close(fd);
    }
  });
  hear(socket);
  std::thread watchdog([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    *reinterpret_cast<volatile unsigned*>(word) = 1;
  });
  timed("client: unmap and release, with a wait in a stream", 0, [&] {
    pieces.unmap();
    pieces.release();
  });
  watchdog.join();
  say(socket);
  // New pieces under the old address, filled by the mover.
  hear(socket);
  timed("client: create and map", 0, [&] {
    pieces.create();
    pieces.map();
  });
  timed("client: export and send", 0, [&] {
    for (auto handle : pieces.handles) {
      int fd = -1;
      CHECK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
      send_fd(socket, fd);
      close(fd);
    }
  });
  hear(socket);
  unsigned values[2] = {};
  CHECK(cuMemcpyDtoH(&values[0], pieces.base, 4));
  CHECK(cuMemcpyDtoH(&values[1], pieces.base + bytes - 4, 4));
  std::printf("client: first and last word afterwards: %u %u (7 7)\n", values[0], values[1]);
  std::fflush(stdout);
}

void mover(size_t bytes) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) _exit(2);
  pid_t child = fork();
  if (child == 0) {
    lend(sockets[1], bytes);
    _exit(0);
  }
  int socket = sockets[0];
  size_t before_context = 0;
  CUdevice device;
  timed("mover: context", 0, [&] { start(&device); });
  before_context = free_bytes();
  char* pool = host_pages(bytes);
  timed("mover: touch the pool, 8 threads", bytes, [&] { touch(pool, bytes); });
  timed("mover: pin the pool", bytes, [&] { CHECK(cuMemHostRegister(pool, bytes, 0)); });
  std::printf("mover: pinning took %.3f GB of the GPU's memory\n", (double(before_context) - double(free_bytes())) / 1e9);
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Pieces pieces(device, bytes, true);
  auto take = [&] {
    for (auto& handle : pieces.handles) {
      int fd = receive_fd(socket);
      CHECK(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{fd}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
      close(fd);
    }
  };
  std::this_thread::sleep_for(std::chrono::seconds(1));
  say(socket);
  timed("mover: receive and import", 0, take);
  timed("mover: map", 0, [&] { pieces.map(); });
  timed("mover: copy out", bytes, [&] {
    for (size_t at = 0; at < bytes; at += kPiece)
      CHECK(cuMemcpyDtoHAsync(pool + at, pieces.base + at, kPiece, stream));
    CHECK(cuStreamSynchronize(stream));
  });
  timed("mover: unmap and release", 0, [&] {
    pieces.unmap();
    pieces.release();
  });
  size_t held = free_bytes();
  say(socket);
  hear(socket);
  std::printf("mover: free memory rose by %.2f GB when the client released\n", (double(free_bytes()) - double(held)) / 1e9);
  say(socket);
  timed("mover: receive and import, again", 0, take);
  timed("mover: map, again", 0, [&] { pieces.map(); });
  timed("mover: copy back", bytes, [&] {
    for (size_t at = 0; at < bytes; at += kPiece)
      CHECK(cuMemcpyHtoDAsync(pieces.base + at, pool + at, kPiece, stream));
    CHECK(cuStreamSynchronize(stream));
  });
  timed("mover: unmap and release, again", 0, [&] {
    pieces.unmap();
    pieces.release();
  });
  say(socket);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("client ended with %d\n", status);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "moving held|full|mover GB\n");
    return 2;
  }
  size_t bytes = size_t(std::atoi(words[2])) << 30;
  if (std::strcmp(words[1], "mover") == 0)
    mover(bytes);
  else
    held(bytes, std::strcmp(words[1], "full") == 0);
}
