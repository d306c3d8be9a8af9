// The operations of a program. A line is `THREAD OPERATION NUMBERS`; the meaning of the numbers stands above each. A
// stream's number 0..7 is the null stream of that context.
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "../interposer/harness.h"
#include "memory.h"
#include "threads.h"

namespace programs {
namespace {

using harness::cuda;

constexpr unsigned kContexts = 8;
constexpr unsigned kKernels = 8;

struct Context {
  CUcontext handle = nullptr;
  CUmodule module = nullptr;
  CUfunction kernels[kKernels] = {};
};

struct HostCall {
  unsigned lane, number;
  std::uint64_t sees;   // a host buffer; kObjects: none
  std::uint64_t until;  // a word that must be set; kObjects: none
};

Context contexts[kContexts];
CUstream streams[kObjects];
CUevent events[kObjects];
CUgraph graphs[kObjects];
CUgraphNode nodes[kObjects][32];
unsigned node_counts[kObjects];
CUgraphExec execs[kObjects];
HostCall calls[kLines];
Results* results = nullptr;

// Each thread takes every so-many-th word, then its block lasts for `ns`. On the software GPU the line above a kernel says
// what it does, on a real one its code. fma does not commute, so it shows the order.
#define PARAMETERS "(.param .u64 at, .param .u64 n, .param .u32 value, .param .u64 ns)"
#define BEGIN                                                                                              \
  " {\n.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"                                \
  "mov.u64 %d7, %globaltimer; ld.param.u64 %d0, [at]; cvta.to.global.u64 %d0, %d0;\n"                      \
  "ld.param.u64 %d1, [n]; ld.param.u32 %r0, [value]; ld.param.u64 %d2, [ns];\n"                            \
  "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;\n"            \
  "mad.lo.u32 %r5, %r1, %r2, %r3; mul.lo.u32 %r6, %r4, %r2; cvt.u64.u32 %d3, %r5; cvt.u64.u32 %d4, %r6;\n" \
  "NEXT: setp.ge.u64 %p, %d3, %d1; @%p bra SPIN; shl.b64 %d5, %d3, 2; add.u64 %d5, %d0, %d5;\n"
#define END                            \
  "add.u64 %d3, %d3, %d4; bra NEXT;\n" \
  "SPIN: mov.u64 %d6, %globaltimer; sub.u64 %d6, %d6, %d7; setp.lt.u64 %p, %d6, %d2; @%p bra SPIN;\nret; }\n"
#define FMA                                                                                                 \
  BEGIN                                                                                                     \
  "ld.global.f32 %f0, [%d5]; mov.b32 %f1, %r0; fma.rn.f32 %f0, %f0, %f1, 0f3F800000; st.global.f32 [%d5], " \
  "%f0;\n" END
const char* const kText =
    ".version 7.8\n.target sm_70\n.address_size 64\n"
    "//! soft ns=p3 effect=fma(p0, p1, p2)\n.visible .entry fma" PARAMETERS FMA
    "//! soft ns=p3 effect=fma(p0, p1, p2)\n.visible .entry fma_too" PARAMETERS FMA
    "//! soft ns=p3 effect=fill(p0, p1, p2)\n.visible .entry fill" PARAMETERS BEGIN "st.global.u32 [%d5], %r0;\n" END
    // One word, by the first thread.
    "//! soft ns=p3 effect=add(p0, p2)\n.visible .entry add" PARAMETERS BEGIN
    "setp.ne.u64 %p, %d3, 0; @%p bra SPIN; red.global.add.u32 [%d5], %r0; bra SPIN;\n" END;
const char* const kNames[] = {"fma", "fma_too", "fill", "add"};

void called(void* data) {
  const HostCall& call = *static_cast<const HostCall*>(data);
  while (call.until < kObjects && word(call.until).load(std::memory_order_acquire) == 0) usleep(50);
  const std::uint32_t at = results->called[call.lane].fetch_add(1);
  if (at >= kPerLane) return;
  const std::uint64_t saw = call.sees < kObjects ? digest(place(call.sees)) : 0;
  results->calls[call.lane][at].store(saw ^ (call.number * 0x9e3779b97f4a7c15ull));
}

void called_with_lock(void* data) {
  take_lock();
  called(data);
}

void called_back(CUstream, CUresult, void* data) { called(data); }

struct Kernel {
  CUdeviceptr at;
  std::uint64_t n;
  float value;
  std::uint64_t ns;
  void* parameters[4] = {&at, &n, &value, &ns};
  CUfunction function;
  unsigned blocks;
  // CONTEXT KERNEL BUFFER WORDS VALUE US BLOCKS
  explicit Kernel(const std::uint64_t* of)
      : at(place(of[2]).at),
        n(of[3]),
        value(static_cast<float>(of[4]) / 4),
        ns(of[5] * 1000),
        function(contexts[of[0]].kernels[of[1]]),
        blocks(static_cast<unsigned>(of[6])) {
    if (of[1] >= 2) {  // fill and add take whole numbers
      const auto whole = static_cast<std::uint32_t>(of[4]);
      std::memcpy(&value, &whole, sizeof value);
    }
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  CUDA_KERNEL_NODE_PARAMS_v2 node() {
    CUDA_KERNEL_NODE_PARAMS_v2 p{};
    p.func = function;
    p.gridDimX = blocks;
    p.blockDimX = 64;
    p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = parameters;
    return p;
  }
};

// STREAM HOW TIMES CONTEXT KERNEL BUFFER WORDS VALUE US BLOCKS
CUresult launch(const Line& line) {
  const CUstream stream = streams[line.of[0]];
  Kernel kernel(&line.of[3]);
  CUresult code = CUDA_SUCCESS;
  CUlaunchConfig config{kernel.blocks, 1, 1, 64, 1, 1, 0, stream, nullptr, 0};
  for (std::uint64_t i = 0; code == CUDA_SUCCESS && i < line.of[2]; ++i) switch (line.of[1]) {
      case 0: code = cuda().cuLaunchKernelEx(&config, kernel.function, kernel.parameters, nullptr); break;
      case 1:
        code = cuda().cuLaunchCooperativeKernel(kernel.function, 4, 1, 1, 64, 1, 1, 0, stream, kernel.parameters);
        break;
      default:
        code = cuda().cuLaunchKernel(kernel.function, kernel.blocks, 1, 1, 64, 1, 1, 0, stream, kernel.parameters,
                                     nullptr);
    }
  return code;
}

CUresult launch_once(const Kernel& kernel, CUstream stream) {
  return cuda().cuLaunchKernel(kernel.function, kernel.blocks, 1, 1, 64, 1, 1, 0, stream,
                               const_cast<void**>(kernel.parameters), nullptr);
}

// Launches the same again and again. STREAM TIMES AFTER_US CONTEXT KERNEL BUFFER WORDS VALUE US BLOCKS
CUresult cancel_launches(const Line& line) {
  const CUstream stream = streams[line.of[0]];
  const Kernel kernel(&line.of[3]);
  const auto launch = [&] { return launch_once(kernel, stream); };
  const CUresult first = launch();
  if (first != CUDA_SUCCESS) return first;
  return cancelled(contexts[line.of[3]].handle, static_cast<unsigned>(line.of[1]), static_cast<unsigned>(line.of[2]),
                   launch, [] {});
}

// Waits for a stream that waits for a word. STREAM WORD AFTER_US CONTEXT
CUresult cancel_wait(const Line& line) {
  return cancelled(
      contexts[line.of[3]].handle, 1, static_cast<unsigned>(line.of[2]),
      [&] { return cuda().cuStreamSynchronize(streams[line.of[0]]); },
      [&] { word(line.of[1]).store(1, std::memory_order_release); });
}

// STREAM HOW TIMES CONTEXT KERNEL BUFFER WORDS VALUE US BLOCKS
CUresult keep_queue_full(const Line& line) {
  const Kernel kernel(&line.of[3]);
  return keep_full(streams[line.of[0]], static_cast<unsigned>(line.of[2]),
                   [&] { return launch_once(kernel, streams[line.of[0]]); });
}

// GRAPH AS
CUresult show_nodes(const Line& line) {
  std::size_t count = 0;
  const CUresult code = cuda().cuGraphGetNodes(graphs[line.of[0]], nullptr, &count);
  results->digests[line.of[1] % kObjects].store(count + 1);
  return code;
}

// A block of 2,048 threads: the driver refuses. STREAM CONTEXT
CUresult refused(const Line& line) {
  void* none[4] = {};
  return cuda().cuLaunchKernel(contexts[line.of[1]].kernels[0], 1, 1, 1, 2048, 1, 1, 0, streams[line.of[0]], none,
                               nullptr);
}

// CONTEXT HOW: 0 the primary one, else one of its own
CUresult make_context(const Line& line) {
  Context& to = contexts[line.of[0]];
  CUresult code =
      line.of[1] == 0 ? cuda().cuDevicePrimaryCtxRetain(&to.handle, 0) : cuda().cuCtxCreate_v2(&to.handle, 0, 0);
  if (code == CUDA_SUCCESS) code = cuda().cuCtxSetCurrent(to.handle);
  if (code == CUDA_SUCCESS) code = cuda().cuModuleLoadData(&to.module, kText);
  for (unsigned i = 0; code == CUDA_SUCCESS && i < 4; ++i)
    code = cuda().cuModuleGetFunction(&to.kernels[i], to.module, kNames[i]);
  return code;
}

// CONTEXT HOW: 0 releases the primary one, 1 destroys, 2 by the name of before CUDA 4
CUresult end_context(const Line& line) {
  const CUcontext handle = contexts[line.of[0]].handle;
  if (line.of[1] == 0) return cuda().cuDevicePrimaryCtxRelease_v2(0);
  return line.of[1] == 1 ? cuda().cuCtxDestroy_v2(handle) : cuda().cuCtxDestroy(handle);
}

// The forms without _v2 are refused where the driver has them switched off, as it has by default.
CUresult wait_word(CUstream stream, std::uint64_t index, std::uint64_t how) {
  const CUdeviceptr at = word_on_device(index);
  if (how == 0) return cuda().cuStreamWaitValue32_v2(stream, at, 1, CU_STREAM_WAIT_VALUE_GEQ);
  CUstreamBatchMemOpParams one{};
  one.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  one.waitValue.address = at;
  one.waitValue.value = 1;
  one.waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
  return cuda().cuStreamBatchMemOp_v2(stream, 1, &one, 0);
}

// LANE NUMBER SEES UNTIL
HostCall& host_call(const Line& line, std::size_t at) {
  HostCall& call = calls[line.number];
  call = {static_cast<unsigned>(line.of[at]), static_cast<unsigned>(line.of[at + 1]), line.of[at + 2], line.of[at + 3]};
  return call;
}

// Adds a node after the nodes whose bits are set. GRAPH AFTER KIND ...
CUresult add_node(const Line& line) {
  const std::uint64_t graph = line.of[0];
  std::vector<CUgraphNode> after;
  for (unsigned i = 0; i < node_counts[graph]; ++i)
    if (line.of[1] >> i & 1) after.push_back(nodes[graph][i]);
  CUgraphNode& to = nodes[graph][node_counts[graph]++];
  const CUcontext context = contexts[line.of[3]].handle;
  switch (line.of[2]) {
    case 0: {  // CONTEXT KERNEL BUFFER WORDS VALUE US BLOCKS
      Kernel kernel(&line.of[3]);
      const auto p = kernel.node();
      return cuda().cuGraphAddKernelNode_v2(&to, graphs[graph], after.data(), after.size(), &p);
    }
    case 1: {  // CONTEXT TO BYTES VALUE
      CUDA_MEMSET_NODE_PARAMS p{place(line.of[4]).at, 0, static_cast<unsigned>(line.of[6]), 4, line.of[5] / 4, 1};
      return cuda().cuGraphAddMemsetNode(&to, graphs[graph], after.data(), after.size(), &p, context);
    }
    case 2: {  // CONTEXT TO FROM BYTES
      CUDA_MEMCPY3D p{};
      const Place& into = place(line.of[4]);
      const Place& from = place(line.of[5]);
      p.srcMemoryType = from.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      p.srcHost = from.host;
      p.srcDevice = from.at;
      p.dstMemoryType = into.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      p.dstHost = into.host;
      p.dstDevice = into.at;
      p.WidthInBytes = p.srcPitch = p.dstPitch = line.of[6];
      p.Height = p.srcHeight = p.dstHeight = p.Depth = 1;
      return cuda().cuGraphAddMemcpyNode(&to, graphs[graph], after.data(), after.size(), &p, context);
    }
    case 3: {  // CONTEXT LANE NUMBER SEES UNTIL
      CUDA_HOST_NODE_PARAMS p{called, &host_call(line, 4)};
      return cuda().cuGraphAddHostNode(&to, graphs[graph], after.data(), after.size(), &p);
    }
    default: return cuda().cuGraphAddEmptyNode(&to, graphs[graph], after.data(), after.size());
  }
}

// EXEC GRAPH HOW
CUresult instantiate(const Line& line) {
  CUgraphExec* to = &execs[line.of[0]];
  const CUgraph graph = graphs[line.of[1]];
  if (line.of[2] == 0) return cuda().cuGraphInstantiateWithFlags(to, graph, 0);
  CUDA_GRAPH_INSTANTIATE_PARAMS p{};
  return cuda().cuGraphInstantiateWithParams(to, graph, &p);
}

// EXEC GRAPH NODE and a kernel: another value and duration for one node of an executable graph
CUresult update_node(const Line& line) {
  Kernel kernel(&line.of[3]);
  const auto p = kernel.node();
  return cuda().cuGraphExecKernelNodeSetParams_v2(execs[line.of[0]], nodes[line.of[1]][line.of[2]], &p);
}

CUresult not_not_ready(CUresult code) { return code == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : code; }

CUresult poll(CUstream stream) {
  CUresult code;
  while ((code = cuda().cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) sched_yield();
  return code;
}

// BUFFER AS
CUresult show(const Line& line) {
  results->digests[line.of[1] % kObjects].store(digest(place(line.of[0])));
  return CUDA_SUCCESS;
}

using Operation = CUresult (*)(const Line&);
using Numbers = const std::vector<std::uint64_t>&;

#define OPERATION(expression)              \
  [](const Line& line) -> CUresult {       \
    [[maybe_unused]] Numbers of = line.of; \
    return expression;                     \
  }

const std::map<std::string, Operation>& operations() {
  static const auto& all = *new std::map<std::string, Operation>{
      {"context", make_context},
      {"use", OPERATION(cuda().cuCtxSetCurrent(contexts[of[0]].handle))},
      {"end-context", end_context},
      {"sync-context", OPERATION(cuda().cuCtxSynchronize())},
      // STREAM FLAGS PRIORITY
      {"stream", OPERATION(of[2] ? cuda().cuStreamCreateWithPriority(&streams[of[0]], static_cast<unsigned>(of[1]), -1)
                                 : cuda().cuStreamCreate(&streams[of[0]], static_cast<unsigned>(of[1])))},
      // STREAM HOW: 1 by the name of before CUDA 4
      {"end-stream", OPERATION(of[1] ? cuda().cuStreamDestroy(streams[of[0]]) : cuda().cuStreamDestroy_v2(streams[of[0]]))},
      {"sync", OPERATION(cuda().cuStreamSynchronize(streams[of[0]]))},
      {"poll", OPERATION(poll(streams[of[0]]))},
      {"query", OPERATION(not_not_ready(cuda().cuStreamQuery(streams[of[0]])))},
      // EVENT FLAGS
      {"event", OPERATION(cuda().cuEventCreate(&events[of[0]], static_cast<unsigned>(of[1])))},
      {"end-event", OPERATION(cuda().cuEventDestroy_v2(events[of[0]]))},
      {"record", OPERATION(cuda().cuEventRecord(events[of[0]], streams[of[1]]))},
      {"wait", OPERATION(cuda().cuStreamWaitEvent(streams[of[1]], events[of[0]], 0))},
      {"sync-event", OPERATION(cuda().cuEventSynchronize(events[of[0]]))},
      {"query-event", OPERATION(not_not_ready(cuda().cuEventQuery(events[of[0]])))},
      {"launch", launch},
      {"launch-with-lock", [](const Line& line) { return with_lock([&] { return launch(line); }); }},
      {"cancel-launches", cancel_launches},
      {"cancel-wait", cancel_wait},
      {"keep-full", keep_queue_full},
      {"ask-copy", OPERATION(ask_copy())},
      {"refused", refused},
      // STREAM LANE NUMBER SEES UNTIL
      {"host", OPERATION(cuda().cuLaunchHostFunc(streams[of[0]], called, &host_call(line, 1)))},
      {"host-with-lock", OPERATION(cuda().cuLaunchHostFunc(streams[of[0]], called_with_lock, &host_call(line, 1)))},
      {"callback", OPERATION(cuda().cuStreamAddCallback(streams[of[0]], called_back, &host_call(line, 1), 0))},
      // STREAM WORD HOW
      {"wait-word", OPERATION(wait_word(streams[of[0]], of[1], of[2]))},
      {"write-word", OPERATION(cuda().cuStreamWriteValue32_v2(streams[of[0]], word_on_device(of[1]), 1, 0))},
      {"poke", OPERATION((word(of[0]).store(1, std::memory_order_release), CUDA_SUCCESS))},
      {"sleep", OPERATION((usleep(static_cast<useconds_t>(of[0])), CUDA_SUCCESS))},
      // STREAM and what memory.cpp says
      {"allocate", [](const Line& line) { return allocate({line.thread, line.number, {}, {line.of.begin() + 1, line.of.end()}}, streams[line.of[0]]); }},
      {"release", [](const Line& line) { return release({line.thread, line.number, {}, {line.of.begin() + 1, line.of.end()}}, streams[line.of[0]]); }},
      {"copy", [](const Line& line) { return copy({line.thread, line.number, {}, {line.of.begin() + 1, line.of.end()}}, streams[line.of[0]]); }},
      {"memset", [](const Line& line) { return fill({line.thread, line.number, {}, {line.of.begin() + 1, line.of.end()}}, streams[line.of[0]]); }},
      {"show", show},
      // STREAM MODE
      {"capture", OPERATION(cuda().cuStreamBeginCapture_v2(streams[of[0]], static_cast<CUstreamCaptureMode>(of[1])))},
      {"capture-later", OPERATION(begin_later_capture(streams[of[0]], static_cast<CUstreamCaptureMode>(of[1])))},
      {"show-nodes", show_nodes},
      // STREAM GRAPH
      {"end-capture", OPERATION(cuda().cuStreamEndCapture(streams[of[0]], &graphs[of[1]]))},
      {"graph", OPERATION(cuda().cuGraphCreate(&graphs[of[0]], 0))},
      {"node", add_node},
      {"end-graph", OPERATION(cuda().cuGraphDestroy(graphs[of[0]]))},
      {"instantiate", instantiate},
      {"launch-graph", OPERATION(cuda().cuGraphLaunch(execs[of[0]], streams[of[1]]))},
      {"update-node", update_node},
      // EXEC GRAPH
      {"update", [](const Line& line) {
         CUgraphExecUpdateResultInfo info{};
         return cuda().cuGraphExecUpdate_v2(execs[line.of[0]], graphs[line.of[1]], &info);
       }},
      {"end-exec", OPERATION(cuda().cuGraphExecDestroy(execs[of[0]]))},
  };
  return all;
}

}  // namespace

void use_results(Results& to) { results = &to; }
bool known(const std::string& operation) { return operations().count(operation) != 0; }
CUresult execute(const Line& line) { return operations().at(line.operation)(line); }

}  // namespace programs
