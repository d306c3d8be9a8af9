// Measurements of one client with the GPU to itself: the cost and the timing of waits and writes in a stream.
#include <sys/mman.h>

#include "client.h"

namespace {
constexpr int kChain = 250;  // kernels of 20 us queued for one release: 5 ms
}  // namespace

// One wave's cost per iteration and a launch's fixed cost, from chains of two lengths.
void Client::calibrate() {
  CU(cuDeviceGetAttribute(&board_.calibration.sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_));
  const auto sms = static_cast<unsigned>(board_.calibration.sms);
  CUevent start = nullptr, end = nullptr;
  CU(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
  const auto time_us = [&](const Burn& kernel, int launches) {
    CU(cuEventRecord(start, stream_));
    for (int i = 0; i < launches; ++i) launch(stream_, kernel);
    CU(cuEventRecord(end, stream_));
    settle(stream_);
    float ms = 0;
    CU(cuEventElapsedTime(&ms, start, end));
    return static_cast<double>(ms) * 1e3 / launches;
  };
  const Burn small{1000, sms * 8, 0}, large{10000, sms * 8, 0};
  for (const double warm = now_us() + 3e5; now_us() < warm;) time_us(large, 10);
  std::vector<double> smalls, larges;
  for (int i = 0; i < 7; ++i) {
    smalls.push_back(time_us(small, 40));
    larges.push_back(time_us(large, 10));
  }
  Calibration& c = board_.calibration;
  c.us_per_iteration = std::max((median(larges) - median(smalls)) / 9000, 1e-6);
  c.fixed_us = std::clamp(median(smalls) - 1000 * c.us_per_iteration, 0.5, 10.0);

  Json lengths;
  for (const double us : {5., 20., 50., 100., 200., 1000., 5000., 20000.}) {
    std::vector<double> seen;
    for (int i = 0; i < 3; ++i) seen.push_back(time_us(burn(us), us < 1000 ? 60 : 3));
    lengths.show(std::to_string(static_cast<int>(us)) + " us kernel takes", median(seen), "us");
  }
  Json out;
  out.num("us_per_iteration", c.us_per_iteration).num("fixed_us", c.fixed_us).add("kernel_us", lengths);
  tell(out);
  CU(cuEventDestroy(start));
  CU(cuEventDestroy(end));
}

void Client::platform() {
  char name[100] = "";
  int version = 0;
  CU(cuDeviceGetName(name, sizeof name, device_));
  CU(cuDriverGetVersion(&version));
  const auto attribute = [&](CUdevice_attribute which) {
    int value = -1;
    cu.cuDeviceGetAttribute(&value, which, device_);
    return value;
  };
  Json out;
  out.str("device", name).num("driver_version", version);
  out.num("compute_preemption", attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED));
  out.num("async_engines", attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT));
  out.num("host_pointer_is_device_pointer", attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM));
  out.str("register_memfd", outcome(registered_)).flag("words_are_mirrored", pinned_ != nullptr);
  out.str("batch_mem_op", outcome(memops_));

  // As a best-effort client would map the control page: not writable by it, nor by the GPU for it.
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && mprotect(page, 4096, PROT_READ) == 0) {
    const unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    const CUresult code = cu.cuMemHostRegister(page, 4096, flags);
    out.num("read_only_supported", attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED));
    out.str("register_read_only", outcome(code));
    CUdeviceptr at = 0;
    if (code == CUDA_SUCCESS && cu.cuMemHostGetDevicePointer(&at, page, 0) == CUDA_SUCCESS) {
      out.str("wait_on_read_only", outcome(cu.cuStreamWaitValue32(stream_, at, 0, CU_STREAM_WAIT_VALUE_EQ)));
      settle(stream_, 2e6);
      CU(cuMemHostUnregister(page));
    }
  }

  unsigned long long ns = 200000, tick_ns = 0;
  void* args[] = {&ns, &ticket_};
  CU(cuLaunchKernel(spin_, 1, 1, 1, 1, 1, 1, 0, stream_, args, nullptr));
  settle(stream_);
  CU(cuMemcpyDtoH(&tick_ns, ticket_, sizeof tick_ns));
  CU(cuMemsetD8(ticket_, 0, 4096));
  settle(nullptr);
  out.num("globaltimer_step_ns", static_cast<double>(tick_ns));
  printf("  %s, driver %d, memfd registration %s, globaltimer step %llu ns\n", name, version, outcome(registered_),
         tick_ns);
  calibrate();
  tell(out.raw("calibration", std::string(slot_.text)));
}

void Client::open_latency() {
  Json out;
  const auto parked_for = [&](double lo_us, double hi_us) {
    spin_until(now_us() + std::uniform_real_distribution<double>(lo_us, hi_us)(random_));
  };
  const struct {
    const char* label;
    double lo_us, hi_us;
    int count;
  } parks[] = {{"0.2 ms", 100, 300, 400}, {"2 ms", 1500, 2500, 100}, {"20 ms", 18000, 22000, 30}};
  for (const auto& park : parks) {
    std::vector<double> bare, begins, ends;
    for (int i = 0; i < park.count; ++i) {
      clear_words();
      hold().store(1);
      wait_open(stream_);
      write_done(stream_, 1);
      parked_for(park.lo_us, park.hi_us);
      double opened = now_us();
      hold().store(0);
      bare.push_back(await_word(done(), 1) - opened);
      settle(stream_);

      clear_words();
      hold().store(1);
      wait_open(stream_);
      tiny(stream_, 0, 1);
      write_done(stream_, 1);
      parked_for(park.lo_us, park.hi_us);
      opened = now_us();
      hold().store(0);
      begins.push_back(await_word(mark(), 1) - opened);
      ends.push_back(await_word(done(), 1) - opened);
      settle(stream_);
    }
    const std::string after = std::string(" after parking ") + park.label;
    out.add("wait_write_" + std::string(park.label), distribution("hold 0 to done, no kernel," + after, bare));
    out.add("wait_kernel_" + std::string(park.label), distribution("hold 0 to the kernel's store," + after, begins));
    out.add("wait_kernel_write_" + std::string(park.label), distribution("hold 0 to done," + after, ends));
    tell(out);
  }

  // Write done alone: from the last block's own store to the done word, as the CPU sees them.
  const Burn kernel = burn(20);
  std::vector<double> after_tiny, after_burn, tiny_alone, tiny_written;
  for (int i = 0; i < 400; ++i) {
    clear_words();
    tiny(stream_, 0, 1);
    write_done(stream_, 1);
    const double seen = await_word(mark(), 1);
    after_tiny.push_back(await_word(done(), 1) - seen);
    settle(stream_);

    clear_words();
    launch(stream_, kernel, 0, 1);
    write_done(stream_, 1);
    const double last_block = await_word(mark(), 1);
    after_burn.push_back(await_word(done(), 1) - last_block);
    settle(stream_);

    double start = now_us();
    tiny(stream_);
    CU(cuStreamSynchronize(stream_));
    tiny_alone.push_back(now_us() - start);

    clear_words();
    start = now_us();
    tiny(stream_);
    write_done(stream_, 1);
    tiny_written.push_back(await_word(done(), 1) - start);
    settle(stream_);
  }
  out.add("kernel_store_to_done_tiny", distribution("kernel's store to done word, tiny", after_tiny));
  out.add("kernel_store_to_done_full", distribution("kernel's store to done word, full GPU 20 us", after_burn));
  out.add("tiny_sync", distribution("tiny kernel, launch to synchronise", tiny_alone));
  out.add("tiny_done", distribution("tiny kernel, launch to done word", tiny_written));
  tell(out);
}

namespace {
struct Mode {
  const char* name;
  enum What { none, write_wait, wait, write, write_no_barrier, event } what;
};
constexpr Mode kModes[] = {{"write_wait", Mode::write_wait},
                           {"wait", Mode::wait},
                           {"write", Mode::write},
                           {"write_no_barrier", Mode::write_no_barrier},
                           {"event", Mode::event}};
}  // namespace

void Client::chunk_cost() {
  clear_words();
  CUevent start = nullptr, end = nullptr, marker = nullptr;
  CU(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CU(cuEventCreate(&marker, CU_EVENT_DISABLE_TIMING));
  uint32_t n = 0;
  const auto put = [&](CUstream s, Mode::What what) {
    switch (what) {
      case Mode::none: return;
      case Mode::write_wait: return boundary(s, ++n);
      case Mode::wait: return wait_open(s);
      case Mode::write: return write_done(s, ++n);
      case Mode::write_no_barrier: return write_done(s, ++n, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
      case Mode::event: CU(cuEventRecord(marker, s));
    }
  };
  struct Chain {
    std::vector<double> gpu_us, cpu_us;
  };
  const auto run = [&](CUstream s, const Burn& kernel, int kernels, int per_chunk, Mode::What what, Chain& chain) {
    CU(cuEventRecord(start, s));
    const double began = now_us();
    for (int i = 1; i <= kernels; ++i) {
      launch(s, kernel);
      if (i % per_chunk == 0) put(s, what);
    }
    CU(cuEventRecord(end, s));
    chain.cpu_us.push_back(now_us() - began);
    settle(s);
    float ms = 0;
    CU(cuEventElapsedTime(&ms, start, end));
    chain.gpu_us.push_back(static_cast<double>(ms) * 1e3);
  };

  // Refused by some drivers: then it is reported as such and not measured.
  const CUresult no_barrier =
      cu.cuStreamWriteValue32(stream_, on_gpu(done()), ++n, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
  settle(stream_);

  Json out;
  out.str("write_no_barrier", outcome(no_barrier));
  const struct {
    double us;
    int kernels, rounds;
    bool null_stream;
  } plans[] = {{5, 800, 9, false}, {20, 600, 5, false}, {100, 200, 3, false}, {20, 600, 5, true}};
  for (const auto& plan : plans) {
    const CUstream s = plan.null_stream ? nullptr : stream_;
    const Burn kernel = burn(plan.us);
    std::vector<double> boundaries{50, 100, 200, 400};
    if (plan.us == 100) boundaries.erase(boundaries.begin());
    Chain plain;
    std::vector<Chain> marked(boundaries.size() * std::size(kModes));
    for (int round = 0; round < plan.rounds; ++round) {
      for (size_t b = 0; b < boundaries.size(); ++b) {
        run(s, kernel, plan.kernels, 1, Mode::none, plain);  // beside its configurations: clocks drift
        for (size_t m = 0; m < std::size(kModes); ++m) {
          if (kModes[m].what == Mode::write_no_barrier && no_barrier != CUDA_SUCCESS) continue;
          const int per_chunk = std::max(1, static_cast<int>(boundaries[b] / plan.us + .5));
          run(s, kernel, plan.kernels, per_chunk, kModes[m].what, marked[b * std::size(kModes) + m]);
        }
      }
    }
    const std::string label =
        std::to_string(static_cast<int>(plan.us)) + "us" + (plan.null_stream ? "_null_stream" : "");
    const double base = median(plain.gpu_us);
    Json group;
    group.num("plain_us_per_kernel", base / plan.kernels)
        .num("plain_cpu_us_per_kernel", median(plain.cpu_us) / plan.kernels);
    group.num("plain_spread_percent", 100 * (quantile(plain.gpu_us, .9) / quantile(plain.gpu_us, .1) - 1));
    printf("  %s kernels, %.2f us each; loss in percent at a boundary every 50/100/200/400 us\n", label.c_str(),
           base / plan.kernels);
    for (size_t m = 0; m < std::size(kModes); ++m) {
      if (kModes[m].what == Mode::write_no_barrier && no_barrier != CUDA_SUCCESS) continue;
      Json losses;
      printf("    %-18s", kModes[m].name);
      for (size_t b = 0; b < boundaries.size(); ++b) {
        const double loss = 100 * (median(marked[b * std::size(kModes) + m].gpu_us) / base - 1);
        losses.num(std::to_string(static_cast<int>(boundaries[b])), loss);
        printf(" %7.2f", loss);
      }
      printf("\n");
      group.add(kModes[m].name, losses);
    }
    out.add(label, group);
    tell(out);
  }

  // CPU cost: the mean of 200 calls, median of 7 rounds, on an open stream and on a parked one. An
  // event query asks about work done in the first case and pending in the second.
  CUcontext context = nullptr;
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  for (const bool null_stream : {false, true}) {
    const CUstream s = null_stream ? nullptr : stream_;
    const struct {
      const char* name;
      std::function<void()> call;
    } calls[] = {
        {"cuLaunchKernel", [&] { tiny(s); }},
        {"cuStreamBatchMemOp(write+wait)", [&] { boundary(s, ++n); }},
        {"cuStreamWaitValue32", [&] { wait_open(s); }},
        {"cuStreamWriteValue32", [&] { write_done(s, ++n); }},
        {"cuEventRecord", [&] { CU(cuEventRecord(marker, s)); }},
        {"cuEventQuery", [&] { cu.cuEventQuery(marker); }},
        {"cuStreamIsCapturing", [&] { CU(cuStreamIsCapturing(s, &capturing)); }},
        {"cuCtxGetCurrent", [&] { CU(cuCtxGetCurrent(&context)); }},
        {"clock_gettime", [] { now_us(); }},
    };
    for (const bool parked : {false, true}) {
      Json costs;
      printf("  CPU ns a call, %s stream, %s:\n", null_stream ? "NULL" : "non-blocking", parked ? "parked" : "open");
      for (const auto& op : calls) {
        std::vector<double> ns;
        for (int round = 0; round < 7; ++round) {
          if (parked) {
            hold().store(1);
            wait_open(s);
          }
          CU(cuEventRecord(marker, s));
          if (!parked) settle(s);
          const double began = now_us();
          for (int i = 0; i < 200; ++i) op.call();
          ns.push_back((now_us() - began) * 1e3 / 200);
          hold().store(0);
          settle(s);
        }
        printf("    %-34s %8.0f\n", op.name, median(ns));
        costs.num(op.name, median(ns));
      }
      out.add(std::string("cpu_ns_") + (null_stream ? "null_stream" : "stream") + (parked ? "_parked" : "_open"),
              costs);
      tell(out);
    }
  }
  tell(out);
  for (const CUevent event : {start, end, marker}) CU(cuEventDestroy(event));
}

// How much work still runs after the pause flag is stored. Kernels mark their own end, so the answer does
// not depend on the writes under test.
void Client::released() {
  const struct {
    const char* name;
    bool write, early;  // early: the boundary stands one kernel before the chunk's end
  } variants[] = {{"write_wait", true, false},
                  {"wait_only", false, false},
                  {"write_wait_early", true, true},
                  {"wait_only_early", false, true}};
  const Burn kernel = burn(20);
  Json out;
  for (const double chunk_us : {100., 200., 400.}) {
    const auto per_chunk = static_cast<int>(chunk_us / kernel.us + .5);
    for (const auto& variant : variants) {
      std::vector<double> work_us, kernels, boundary_us;
      int late = 0;
      for (int sample = 0; sample < 60; ++sample) {
        clear_words();
        for (int i = 1; i <= kChain; ++i) {
          launch(stream_, kernel, 0, static_cast<uint32_t>(i));
          if (i % per_chunk != (variant.early ? per_chunk - 1 : 0)) continue;
          if (variant.write) boundary(stream_, static_cast<uint32_t>(i));
          else wait_open(stream_);
        }
        spin_until(now_us() + std::uniform_real_distribution<double>(0, 2000)(random_));
        const uint32_t before = mark().load();
        const double stored = now_us();
        hold().store(1);
        uint32_t last = before, last_done = done().load();
        double last_us = stored, last_done_us = stored;
        while (now_us() - last_us < 500) {  // 25 kernels' time without one ending: parked
          const uint32_t kernel_now = mark().load(), done_now = done().load();
          if (kernel_now != last) {
            last = kernel_now;
            last_us = now_us();
          }
          if (done_now != last_done) {
            last_done = done_now;
            last_done_us = now_us();
          }
        }
        hold().store(0);
        settle(stream_);
        if (last == kChain) {
          ++late;  // the store came too late to stop anything
          continue;
        }
        work_us.push_back(last_us - stored);
        kernels.push_back(last - before);
        boundary_us.push_back(last_done_us - stored);
      }
      const std::string label = std::to_string(static_cast<int>(chunk_us)) + "us_" + variant.name;
      Json result = distribution(label, work_us);
      result.num("kernels_p50", median(kernels)).num("kernels_max", quantile(kernels, 1)).num("too_late", late);
      if (variant.write)
        result.num("last_done_p50_us", median(boundary_us)).num("last_done_p99_us", quantile(boundary_us, .99));
      out.add(label, result);
      tell(out);
    }
  }
  tell(out);
}
