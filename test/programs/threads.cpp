// Operations of programs of several threads beside the driver: threads that are cancelled in a call, host functions that want a
// lock which a launching thread holds, queues that are kept full, and other copies of the driver.
#include "threads.h"

#include <pthread.h>

#include <fstream>
#include <mutex>

#include "../interposer/harness.h"

namespace programs {
namespace {

using harness::cuda;

constexpr unsigned kBatch = 200;
constexpr unsigned kBatchesAhead = 5;

std::mutex held;

struct Cancelled {
  CUcontext context;
  const std::function<CUresult()>& call;
  unsigned times;
  std::atomic<bool> began{false};
  std::atomic<bool> in_call{false};
  std::atomic<int> code{0};
};

void* calls_until_cancelled(void* of) {
  auto& own = *static_cast<Cancelled*>(of);
  CUresult code = cuda().cuCtxSetCurrent(own.context);
  own.began = true;
  for (unsigned i = 0; code == CUDA_SUCCESS && i < own.times; ++i) {
    own.in_call = true;
    code = own.call();
    own.in_call = false;
    own.code = code;
    pthread_testcancel();
  }
  own.code = code;
  return nullptr;
}

// A copy of the driver's file, which is another library to the loader; null: there is none.
void* open_copy() {
  const char* path = std::getenv("COTENANT_TEST_COPY");
  return path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

int version_of(void* library) {
  int version = 0;
  const auto ask = reinterpret_cast<CUresult (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  return ask && ask(&version) == CUDA_SUCCESS ? version : 0;
}

}  // namespace

CUresult cancelled(CUcontext context, unsigned times, unsigned after_us, const std::function<CUresult()>& call,
                   const std::function<void()>& let_go) {
  Cancelled own{context, call, times};
  pthread_t thread;
  if (pthread_create(&thread, nullptr, calls_until_cancelled, &own) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
  while (!own.began) usleep(20);
  usleep(after_us);
  pthread_cancel(thread);
  let_go();
  pthread_join(thread, nullptr);
  // A thread that ended within the call has left there what it held.
  return own.in_call ? CUDA_ERROR_UNKNOWN : static_cast<CUresult>(own.code.load());
}

CUresult with_lock(const std::function<CUresult()>& launch) {
  const std::lock_guard<std::mutex> lock(held);
  return launch();
}

void take_lock() { const std::lock_guard<std::mutex> lock(held); }

CUresult keep_full(CUstream stream, unsigned times, const std::function<CUresult()>& launch) {
  CUevent events[kBatchesAhead] = {};
  CUresult code = CUDA_SUCCESS;
  for (CUevent& each : events)
    if (code == CUDA_SUCCESS) code = cuda().cuEventCreate(&each, CU_EVENT_DISABLE_TIMING);
  for (unsigned i = 0; code == CUDA_SUCCESS && i < times; ++i) {
    code = launch();
    if (code != CUDA_SUCCESS || i % kBatch != kBatch - 1) continue;
    const CUevent behind = events[i / kBatch % kBatchesAhead];
    if (i / kBatch >= kBatchesAhead) code = cuda().cuEventSynchronize(behind);
    if (code == CUDA_SUCCESS) code = cuda().cuEventRecord(behind, stream);
  }
  for (CUevent each : events)
    if (each) static_cast<void>(cuda().cuEventDestroy_v2(each));
  return code;
}

CUresult begin_later_capture(CUstream stream, CUstreamCaptureMode mode) {
  using Begin = CUresult (*)(CUstream, CUstreamCaptureMode);
  static const auto begin = reinterpret_cast<Begin>(dlsym(cuda().library, "cuStreamBeginLaterCapture"));
  return begin ? begin(stream, mode) : cuda().cuStreamBeginCapture_v2(stream, mode);
}

CUresult ask_copy() {
  void* copy = open_copy();
  if (!copy) return CUDA_SUCCESS;
  const bool answers = version_of(copy) > 0;
  dlclose(copy);
  return answers ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

void use_copy() {
  void* system = dlopen("libcuda.so.1", RTLD_NOW);
  if (system) static_cast<void>(version_of(system));
  void* copy = open_copy();
  if (!copy) return;
  if (system) dlclose(system);
  cuda().library = copy;
#define HOOK(symbol, params, args) cuda().symbol = reinterpret_cast<decltype(cuda().symbol)>(dlsym(copy, #symbol));
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
}

}  // namespace programs
