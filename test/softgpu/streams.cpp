// Order within a stream, between streams and the NULL stream, per-thread streams, priorities, events, host functions.
#include <atomic>
#include <thread>

#include "client.h"

CASE("order") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const CUdeviceptr word = gpu.memory(4);
  for (unsigned i = 1; i <= 20; ++i) gpu.write(s, i % 3 == 0 ? 300 : 5, word, i);
  unsigned seen = 0;
  OK(cuMemcpyDtoHAsync_v2(&seen, word, 4, s));
  OK(cuStreamSynchronize(s));
  EXPECT(seen == 20, "the last store of a stream is the one that stays");
  report("{\"seen\":%u}", seen);
}

CASE("duration") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  CUevent a = nullptr, b = nullptr;
  OK(cuEventCreate(&a, 0));
  OK(cuEventCreate(&b, 0));
  OK(cuEventRecord(a, s));
  for (int i = 0; i < 100; ++i) gpu.run(s, 50);
  OK(cuEventRecord(b, s));
  OK(cuEventSynchronize(b));
  float ms = 0;
  OK(cuEventElapsedTime(&ms, a, b));
  // The device's own clock, so a slow machine cannot stretch it: only the enqueueing of the first kernel can.
  EXPECT(ms >= 5.0f, "a hundred kernels of 50 us take at least 5 ms of the device");
  report("{\"ms\":%.3f}", double(ms));
}

CASE("full-queue") {
  const Gpu gpu;
  const CUstream held = gpu.stream();
  const CUstream other = gpu.stream();
  const CUdeviceptr word = gpu.memory(4);
  const Word hold;
  OK(cuStreamWaitValue32_v2(held, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  CUevent event = nullptr;
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  std::atomic<unsigned> launched{0};
  constexpr unsigned kAll = 3000;
  std::thread thread([&] {
    OK(cuCtxSetCurrent(gpu.context));
    for (unsigned i = 1; i <= kAll; ++i) {
      gpu.write(held, 1, word, i);
      OK(cuEventRecord(event, held));  // takes no place
      launched = i;
    }
  });
  while (launched.load() < 1020) rest(100);
  gpu.run(other, 10);
  OK(cuStreamSynchronize(other));  // a full queue blocks nobody else
  rest(50'000);
  EXPECT(launched.load() == 1020, "1,020 launches fit behind a wait");
  hold.set(1);
  thread.join();
  unsigned seen = 0;
  OK(cuMemcpyDtoHAsync_v2(&seen, word, 4, held));
  OK(cuStreamSynchronize(held));
  EXPECT(seen == kAll, "every launch took place");
  report("{\"launched\":%u}", launched.load());
}

CASE("full-queue-destroyed") {
  const Gpu gpu;
  const CUstream held = gpu.stream();
  const Word hold;
  OK(cuStreamWaitValue32_v2(held, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  std::atomic<unsigned> launched{0};
  CUresult last = CUDA_SUCCESS;
  std::thread thread([&] {
    OK(cuCtxSetCurrent(gpu.context));
    std::uint64_t ns = 1000;
    unsigned sms = 1;
    void* parameters[] = {&ns, &sms};
    for (; last == CUDA_SUCCESS; ++launched)
      last = api().cuLaunchKernel(gpu.work, 1, 1, 1, 32, 1, 1, 0, held, parameters, nullptr);
  });
  while (launched.load() < 1020) rest(100);
  rest(10'000);
  OK(cuStreamDestroy_v2(held));
  hold.set(1);
  thread.join();
  EXPECT(last == CUDA_ERROR_INVALID_HANDLE, "a launch that waited for a stream learns that it is gone");
  report("{}");
}

CASE("old-destroy-waits") {
  const Gpu gpu;
  for (const bool old : {true, false}) {
    const CUstream s = gpu.stream();
    CUevent end = nullptr;
    OK(cuEventCreate(&end, 0));
    gpu.run(s, 20'000);
    OK(cuEventRecord(end, s));
    if (old) OK(cuStreamDestroy(s));
    else OK(cuStreamDestroy_v2(s));
    EXPECT((api().cuEventQuery(end) == CUDA_SUCCESS) == old, "only the form of before CUDA 4 waits for the work");
    OK(cuEventSynchronize(end));
  }
  report("{}");
}

CASE("null-stream-waits-for-blocking-streams") {
  const Gpu gpu;
  const CUstream blocking = gpu.stream(CU_STREAM_DEFAULT);
  const CUstream apart = gpu.stream(CU_STREAM_NON_BLOCKING);
  const Word hold;
  OK(cuStreamWaitValue32_v2(blocking, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  gpu.run(nullptr, 10);
  gpu.run(apart, 10);
  OK(cuStreamSynchronize(apart));
  EXPECT(!done(nullptr), "the NULL stream waits for a blocking stream that is held");
  hold.set(1);
  OK(cuStreamSynchronize(nullptr));
  EXPECT(done(blocking), "the blocking stream is done when the NULL stream is");
  report("{}");
}

CASE("blocking-streams-wait-for-null-stream") {
  const Gpu gpu;
  const CUstream blocking = gpu.stream(CU_STREAM_DEFAULT);
  const CUstream apart = gpu.stream(CU_STREAM_NON_BLOCKING);
  const Word hold;
  OK(cuStreamWaitValue32_v2(stream_legacy(), hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  gpu.run(blocking, 10);
  gpu.run(apart, 10);
  OK(cuStreamSynchronize(apart));
  rest(2000);
  EXPECT(!done(blocking), "a blocking stream waits for the NULL stream that is held");
  hold.set(1);
  OK(cuStreamSynchronize(blocking));
  report("{}");
}

CASE("per-thread-streams") {
  const Gpu gpu;
  const Word hold;
  OK(cuStreamWaitValue32_v2_ptsz(nullptr, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  std::thread other([&] {
    OK(cuCtxSetCurrent(gpu.context));
    std::uint64_t ns = 1000;
    unsigned sms = 1;
    void* parameters[] = {&ns, &sms};
    OK(cuLaunchKernel_ptsz(gpu.work, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
    OK(cuStreamSynchronize_ptsz(nullptr));
    OK(cuStreamSynchronize(stream_per_thread()));
  });
  other.join();
  EXPECT(api().cuStreamQuery_ptsz(nullptr) == CUDA_ERROR_NOT_READY, "a thread's own stream is not another thread's");
  EXPECT(api().cuStreamQuery(stream_per_thread()) == CUDA_ERROR_NOT_READY,
         "the handle 2 means the thread's own stream in either family");
  hold.set(1);
  OK(cuStreamSynchronize_ptsz(nullptr));
  report("{}");
}

CASE("events") {
  const Gpu gpu;
  const CUstream a = gpu.stream(), b = gpu.stream();
  const Word hold;
  CUevent event = nullptr, never = nullptr;
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cuEventCreate(&never, 0));
  OK(cuEventQuery(never));
  OK(cuStreamWaitValue32_v2(a, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuEventRecord(event, a));
  GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  OK(cuStreamWaitEvent(b, event, 0));
  gpu.run(b, 10);
  rest(2000);
  EXPECT(!done(b), "a stream waits for an event of a held stream");
  OK(cuEventRecord(event, gpu.stream()));  // recorded again: b waits for the record it saw
  OK(cuEventSynchronize(event));
  EXPECT(!done(b), "a wait is for the record made before it, not for a later one");
  hold.set(1);
  OK(cuStreamSynchronize(b));
  float ms = 0;
  GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, event));
  OK(cuEventDestroy_v2(event));
  GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
  report("{}");
}

CASE("host-functions") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  struct GateView {
    std::atomic<int> count{0};
    CUresult inside = CUDA_SUCCESS;
  } seen;
  const Hold hold;
  hold.close(s);
  OK(cuLaunchHostFunc(
      s,
      [](void* data) {
        auto* mine = static_cast<GateView*>(data);
        rest(3000);
        mine->inside = api().cuCtxSynchronize();
        ++mine->count;
      },
      &seen));
  OK(cuStreamAddCallback(
      s,
      [](CUstream, CUresult status, void* data) {
        if (status == CUDA_SUCCESS && static_cast<GateView*>(data)->count == 1) ++static_cast<GateView*>(data)->count;
      },
      &seen, 0));
  rest(2000);
  EXPECT(seen.count == 0, "a host function waits for the work before it");
  hold.open();
  OK(cuStreamSynchronize(s));
  EXPECT(seen.count == 2, "host functions ran in order before the stream was done");
  EXPECT(seen.inside == CUDA_ERROR_NOT_PERMITTED, "CUDA calls inside a host function are refused");
  report("{}");
}

CASE("priorities") {
  const Gpu gpu;
  int least = 0, greatest = 0;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  const CUstream low = gpu.stream(CU_STREAM_NON_BLOCKING, least), high = gpu.stream(CU_STREAM_NON_BLOCKING, greatest);
  const Hold hold;
  CUevent after_low = nullptr, after_high = nullptr;
  OK(cuEventCreate(&after_low, 0));
  OK(cuEventCreate(&after_high, 0));
  hold.close(low);
  hold.close(high);
  gpu.run(low, 2000);
  gpu.run(high, 2000);
  OK(cuEventRecord(after_low, low));
  OK(cuEventRecord(after_high, high));
  hold.open();
  OK(cuCtxSynchronize());
  float ms = 0;
  OK(cuEventElapsedTime(&ms, after_high, after_low));
  EXPECT(ms > 0, "the stream of higher priority gets the SMs first though it asked later");
  report("{\"ms\":%.3f}", double(ms));
}

CASE("concurrency") {
  const Gpu gpu;
  CUevent begin = nullptr, end = nullptr;
  OK(cuEventCreate(&begin, 0));
  OK(cuEventCreate(&end, 0));
  float ms[2] = {};
  for (int round = 0; round < 2; ++round) {
    const CUstream a = gpu.stream(), b = gpu.stream();
    const Hold hold;
    hold.close(a);
    OK(cuEventRecord(begin, a));
    OK(cuStreamWaitEvent(b, begin, 0));
    const unsigned sms = round == 0 ? 60 : 70;  // of 132
    gpu.run(a, 4000, sms);
    gpu.run(b, 4000, sms);
    OK(cuEventRecord(end, a));
    OK(cuStreamWaitEvent(b, end, 0));
    OK(cuEventRecord(end, b));
    hold.open();
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms[round], begin, end));
  }
  EXPECT(ms[0] >= 4.0f && ms[0] < 8.0f, "two kernels that fit together run together");
  EXPECT(ms[1] >= 8.0f, "two kernels that do not fit together run one after the other");
  report("{\"together\":%.3f,\"apart\":%.3f}", double(ms[0]), double(ms[1]));
}

CASE("green-context") {
  const Gpu gpu;
  CUdevResource all{}, part{}, rest_of{};
  unsigned groups = 1;
  OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  OK(cuDevSmResourceSplitByCount(&part, &groups, &all, &rest_of, 0, 62));
  EXPECT(part.sm.smCount == 64 && rest_of.sm.smCount == 132 - 64, "partitions come in steps of 8");
  CUdevResourceDesc desc = nullptr;
  OK(cuDevResourceGenerateDesc(&desc, &part, 1));
  CUgreenCtx green = nullptr;
  OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUstream s = nullptr;
  OK(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
  CUevent a = nullptr, b = nullptr;
  OK(cuEventCreate(&a, 0));
  OK(cuEventCreate(&b, 0));
  const Hold hold;
  hold.close(s);
  OK(cuEventRecord(a, s));
  gpu.run(s, 10000);  // 132 SMs: three waves on 64
  OK(cuEventRecord(b, s));
  hold.open();
  OK(cuStreamSynchronize(s));
  float ms = 0;
  OK(cuEventElapsedTime(&ms, a, b));
  EXPECT(ms >= 29.9f && ms < 31.0f, "a kernel for 132 SMs takes three times as long on 64");
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {16, 1, 1};
  std::uint64_t ns = 1;
  unsigned sms = 1;
  void* parameters[] = {&ns, &sms};
  CUdevResource small{};
  groups = 1;
  OK(cuDevSmResourceSplitByCount(&small, &groups, &all, nullptr, 0, 8));
  OK(cuDevResourceGenerateDesc(&desc, &small, 1));
  CUgreenCtx tiny = nullptr;
  OK(cuGreenCtxCreate(&tiny, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUstream t = nullptr;
  OK(cuGreenCtxStreamCreate(&t, tiny, CU_STREAM_NON_BLOCKING, 0));
  CUlaunchConfig config{16, 1, 1, 32, 1, 1, 0, t, &cluster, 1};
  GIVES(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernelEx(&config, gpu.work, parameters, nullptr));
  config.hStream = gpu.stream();
  OK(cuLaunchKernelEx(&config, gpu.work, parameters, nullptr));
  OK(cuGreenCtxDestroy(green));
  GIVES(CUDA_ERROR_INVALID_HANDLE, cuGreenCtxDestroy(green));
  report("{\"ms\":%.3f}", double(ms));
}

// Many threads submit, wait and query at once; each must find its own stores.
CASE("threads") {
  const Gpu gpu;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      OK(cuCtxSetCurrent(gpu.context));
      const CUstream s = gpu.stream(t % 2 == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
      const CUdeviceptr word = gpu.memory(4);
      for (unsigned i = 1; i <= 50; ++i) {
        gpu.write(s, 3, word, t * 1000 + i);
        if (i % 7 == 0) OK(cuStreamSynchronize(s));
        if (i % 5 == 0) done(s);
      }
      unsigned seen = 0;
      OK(cuMemcpyDtoHAsync_v2(&seen, word, 4, s));
      OK(cuStreamSynchronize(s));
      if (seen == t * 1000 + 50) ++good;
      OK(cuStreamDestroy_v2(s));
      OK(cuMemFree_v2(word));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(good == 8, "every thread found its own last store");
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
