// The price of MPS by itself for a request of many short kernels. One process of bench/mps/mps.py: it makes its graphs, says
// `ready`, and for each line of stdin ("core N" or "all N": N replays of each case) prints a row of JSON for each case, then `done`.
// Times in us: `us` from the launch to the end of the synchronise, `launchUs` of the launch call, `spanUs` on the GPU from the
// first kernel to the last.
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "beside.h"

namespace {

double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

struct Wide {
  float word[1000];  // 4,000 bytes of parameters
};

__global__ void stamp(unsigned long long* at) { *at = now_ns(); }
__global__ void tiny(float* out) {
  if (threadIdx.x > 2000) *out = 1;  // never
}
__global__ void wide(Wide of, float* out) {
  if (of.word[threadIdx.x] > 1e30f) *out = 1;
}
__global__ void burn(int iterations, float* out) {
  const float x = multiply_adds(iterations, static_cast<float>(threadIdx.x));
  if (x < 0) *out = x;
}
__global__ void read(const uint4* from, int words, uint4* out) {
  unsigned seen = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < words; i += static_cast<int>(gridDim.x * blockDim.x)) {
    seen ^= from[i].x;
  }
  if (seen == 0x12345678) out[0].x = seen;
}
__global__ void copy(const uint4* from, uint4* to, int words) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < words; i += static_cast<int>(gridDim.x * blockDim.x)) {
    to[i] = from[i];
  }
}
__global__ void stack(int at, float* out) {  // an array that is indexed lies in local memory
  float mine[256];
  for (int i = 0; i < 256; ++i) mine[i] = static_cast<float>(i * at);
  if (mine[(at * 7) & 255] > 1e30f) *out = 1;
}
template <int kWhich>
__global__ void code(float* out) {  // 16 kB of instructions each
  float x = static_cast<float>(threadIdx.x + kWhich);
#pragma unroll
  for (int i = 0; i < 1024; ++i) x = fmaf(x, 0.999f, static_cast<float>(i + kWhich));
  if (x < -1e30f) *out = x;
}
__global__ void dependent(float* out) {
  cudaGridDependencySynchronize();
  if (threadIdx.x > 2000) *out = 1;
  cudaTriggerProgrammaticLaunchCompletion();
}

constexpr int kMany = 600;
constexpr size_t kWeights = size_t{600} << 20;

struct Case {
  std::string name;
  bool core;
  int kernels;
  std::function<void(cudaStream_t)> fill;  // launches the kernels
  int priority = 0;                        // of the stream that is captured and launched into
  unsigned long long flags = 0;            // of instantiation
  bool null_stream = false, plain = false, upload = false;
  int parts = 1;  // as many graphs, one after the other

  cudaStream_t stream = nullptr;
  std::vector<cudaGraphExec_t> graphs{};
};

class Client {
 public:
  Client() {
    CUDA(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    CUDA(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, 0));
    CUDA(cudaMalloc(&weights_, kWeights));
    CUDA(cudaMemset(weights_, 1, kWeights));
    CUDA(cudaHostAlloc(&stamps_, 2 * sizeof *stamps_, cudaHostAllocDefault));
    CUDA(cudaFuncSetAttribute(burn, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
    CUDA(cudaDeviceGetStreamPriorityRange(&lowest_, &highest_));
    CUDA(cudaStreamCreateWithFlags(&capture_, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
    calibrate();
    add_cases();
    for (Case& each : cases_) {
      each.fill(capture_);  // loads its kernels
      CUDA(cudaStreamSynchronize(capture_));
    }
    cases_.erase(std::remove_if(cases_.begin(), cases_.end(), [this](Case& each) { return !make(each); }), cases_.end());
    for (Case& each : cases_) replay(each, 3);
  }

  void measure(bool all, int replays) {
    for (Case& each : cases_) {
      if (!all && !each.core) continue;
      const Times times = replay(each, replays);
      printf("{\"case\": \"%s\", \"kernels\": %d, ", each.name.c_str(), each.kernels);
      list("us", times.total, ", ");
      list("launchUs", times.launch, ", ");
      list("spanUs", times.span, "}\n");
    }
  }

 private:
  static constexpr int kShared = 200 << 10;
  struct Times {
    std::vector<double> total, launch, span;
  };

  static void list(const char* name, const std::vector<double>& values, const char* after) {
    printf("\"%s\": [", name);
    for (size_t i = 0; i < values.size(); ++i) printf("%s%.1f", i ? "," : "", values[i]);
    printf("]%s", after);
  }

  // Iterations of `burn` that take 20 us; others may be starting meanwhile.
  void calibrate() {
    double took = 1e9;
    for (int i = 0; i < 50; ++i) {
      stamp<<<1, 1, 0, capture_>>>(stamps_);
      burn<<<sms_, 256, 0, capture_>>>(10000, weights_);
      stamp<<<1, 1, 0, capture_>>>(stamps_ + 1);
      CUDA(cudaStreamSynchronize(capture_));
      took = std::min(took, static_cast<double>(stamps_[1] - stamps_[0]) / 1e3);
    }
    iterations_ = static_cast<int>(10000 * 20 / took);
  }

  template <typename... Of>
  void attributed(cudaStream_t stream, int blocks, cudaLaunchAttribute attribute, void (*kernel)(Of...), Of... of) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, kernel, of...));
  }

  template <int... kWhich>
  void codes(cudaStream_t stream, std::integer_sequence<int, kWhich...>) {
    (code<kWhich><<<sms_, 128, 0, stream>>>(weights_), ...);
  }

  Case& add(const char* name, bool core, int kernels, std::function<void(cudaStream_t)> fill) {
    cases_.push_back(Case{name, core, kernels, std::move(fill)});
    return cases_.back();
  }

  void add_cases() {
    cases_.reserve(40);
    const auto many = [this](int blocks) {
      return [this, blocks](cudaStream_t stream) {
        for (int i = 0; i < kMany; ++i) tiny<<<blocks, 256, 0, stream>>>(weights_);
      };
    };
    const auto each_sm = many(sms_);
    add("one block", true, kMany, many(1));
    add("a block an SM", true, kMany, each_sm);
    add("20 us", false, 100, [this](cudaStream_t stream) {
      for (int i = 0; i < 100; ++i) burn<<<sms_, 256, 0, stream>>>(iterations_, weights_);
    });
    add("weights", true, 300, [this](cudaStream_t stream) {
      constexpr int kWords = (2 << 20) / sizeof(uint4);
      const auto* from = reinterpret_cast<const uint4*>(weights_);
      for (int i = 0; i < 300; ++i) read<<<2 * sms_, 256, 0, stream>>>(from + size_t(i) * kWords, kWords, reinterpret_cast<uint4*>(weights_));
    });
    add("programmatic", true, kMany, [this](cudaStream_t stream) {
      cudaLaunchAttribute early = {};
      early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      early.val.programmaticStreamSerializationAllowed = 1;
      for (int i = 0; i < kMany; ++i) attributed(stream, sms_, early, dependent, weights_);
    });
    add("one by one", false, kMany, each_sm).plain = true;

    add("8 blocks an SM", false, kMany, many(8 * sms_));
    add("4000 bytes of parameters", false, kMany, [this](cudaStream_t stream) {
      static const Wide of = {};
      for (int i = 0; i < kMany; ++i) wide<<<sms_, 256, 0, stream>>>(of, weights_);
    });
    add("200 kB of shared memory in turn", false, kMany, [this](cudaStream_t stream) {
      for (int i = 0; i < kMany; ++i) burn<<<sms_, 256, i % 2 ? kShared : 0, stream>>>(1, weights_);
    });
    add("copies in L2", false, 300, [this](cudaStream_t stream) {
      constexpr int kWords = (1 << 20) / sizeof(uint4);
      auto* at = reinterpret_cast<uint4*>(weights_);
      for (int i = 0; i < 300; ++i) copy<<<2 * sms_, 256, 0, stream>>>(at + (i & 3) * kWords, at + ((i + 1) & 3) * kWords, kWords);
    });
    add("local memory", false, kMany, [this](cudaStream_t stream) {
      for (int i = 0; i < kMany; ++i) stack<<<sms_, 128, 0, stream>>>(i + 1, weights_);
    });
    add("16 kernels' code", false, 592, [this](cudaStream_t stream) {
      for (int i = 0; i < 592; i += 16) codes(stream, std::make_integer_sequence<int, 16>());
    });
    add("clusters of 2", false, kMany, [this](cudaStream_t stream) {
      cudaLaunchAttribute cluster = {};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {2, 1, 1};
      for (int i = 0; i < kMany; ++i) attributed(stream, sms_ / 2 * 2, cluster, tiny, weights_);
    });
    add("fills between", false, kMany, [this](cudaStream_t stream) {
      for (int i = 0; i < kMany / 2; ++i) {
        tiny<<<sms_, 256, 0, stream>>>(weights_);
        CUDA(cudaMemsetAsync(weights_, 0, 64 << 10, stream));
      }
    });
    add("two branches", false, kMany, [this](cudaStream_t stream) {
      for (int i = 0; i < kMany; i += 4) {
        tiny<<<sms_, 256, 0, stream>>>(weights_);
        CUDA(cudaEventRecord(fork_, stream));
        CUDA(cudaStreamWaitEvent(beside_, fork_));
        tiny<<<sms_, 256, 0, stream>>>(weights_);
        tiny<<<sms_, 256, 0, beside_>>>(weights_);
        CUDA(cudaEventRecord(join_, beside_));
        CUDA(cudaStreamWaitEvent(stream, join_));
        tiny<<<sms_, 256, 0, stream>>>(weights_);
      }
    });
    add("highest priority", false, kMany, each_sm).priority = highest_;
    add("lowest priority", false, kMany, each_sm).priority = lowest_;
    add("nodes' priority", false, kMany, each_sm).flags = cudaGraphInstantiateFlagUseNodePriority;
    cases_.back().priority = highest_;
    add("freed by itself", false, kMany, each_sm).flags = cudaGraphInstantiateFlagAutoFreeOnLaunch;
    add("launchable by the GPU", false, kMany, each_sm).flags = cudaGraphInstantiateFlagDeviceLaunch;
    add("uploaded", false, kMany, each_sm).upload = true;
    add("NULL stream", false, kMany, each_sm).null_stream = true;
    add("in 6 graphs", false, kMany, [this](cudaStream_t stream) {
      for (int i = 0; i < 100; ++i) tiny<<<sms_, 256, 0, stream>>>(weights_);
    }).parts = 6;
  }

  // Whether the driver makes it executable.
  bool make(Case& of) {
    if (!of.null_stream) CUDA(cudaStreamCreateWithPriority(&of.stream, cudaStreamNonBlocking, of.priority));
    if (of.plain) return true;
    for (int part = 0; part < of.parts; ++part) {
      cudaGraph_t graph = nullptr;
      cudaStream_t into = of.priority ? of.stream : capture_;
      CUDA(cudaStreamBeginCapture(into, cudaStreamCaptureModeThreadLocal));
      if (part == 0) stamp<<<1, 1, 0, into>>>(stamps_);
      of.fill(into);
      if (part == of.parts - 1) stamp<<<1, 1, 0, into>>>(stamps_ + 1);
      CUDA(cudaStreamEndCapture(into, &graph));
      cudaGraphExec_t made = nullptr;
      cudaError_t code = cudaGraphInstantiate(&made, graph, of.flags);
      if (code == cudaSuccess && of.flags == cudaGraphInstantiateFlagDeviceLaunch) code = cudaGraphUpload(made, of.stream);
      if (code != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", of.name.c_str(), cudaGetErrorString(code));
        cudaGetLastError();
        return false;
      }
      CUDA(cudaGraphDestroy(graph));
      of.graphs.push_back(made);
    }
    return true;
  }

  Times replay(Case& of, int replays) {
    Times times;
    for (int i = 0; i < replays; ++i) {
      if (of.upload) {
        CUDA(cudaGraphUpload(of.graphs[0], of.stream));
        CUDA(cudaStreamSynchronize(of.stream));
      }
      const double begin = now_us();
      if (of.plain) {
        stamp<<<1, 1, 0, of.stream>>>(stamps_);
        of.fill(of.stream);
        stamp<<<1, 1, 0, of.stream>>>(stamps_ + 1);
      }
      for (cudaGraphExec_t graph : of.graphs) CUDA(cudaGraphLaunch(graph, of.stream));
      const double launched = now_us();
      CUDA(cudaStreamSynchronize(of.stream));
      times.total.push_back(now_us() - begin);
      times.launch.push_back(launched - begin);
      times.span.push_back(static_cast<double>(stamps_[1] - stamps_[0]) / 1e3);
    }
    return times;
  }

  int sms_ = 0, lowest_ = 0, highest_ = 0, iterations_ = 1;
  float* weights_ = nullptr;
  unsigned long long* stamps_ = nullptr;
  cudaStream_t capture_ = nullptr, beside_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  std::vector<Case> cases_;
};

}  // namespace

int main() {
  Client client;
  printf("ready\n");
  fflush(stdout);
  char word[16];
  int replays = 0;
  while (scanf("%15s %d", word, &replays) == 2) {
    client.measure(strcmp(word, "all") == 0, replays);
    printf("done\n");
    fflush(stdout);
  }
}
