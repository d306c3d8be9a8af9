#include "softgpu/runtime/tables.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "softgpu/entry/entries.h"
#include "softgpu/entry/say.h"
#include "softgpu/runtime/proof.h"
#include "softgpu/runtime/storage.h"

namespace cotenant::soft::runtime {

using namespace cu;

namespace {

// The table of functions with which the runtime loads code where the driver has no libraries.
CUresult load_wrapper(CUmodule* module, const void* wrapper) { return cuModuleLoadData(module, wrapper); }
CUresult load_wrapper_more(CUmodule* module, const void* wrapper, void*, void*, unsigned) {
  return cuModuleLoadData(module, wrapper);
}
CUresult load_container(const void* container, CUmodule* module, void*, void*, unsigned) {
  return cuModuleLoadData(module, container);
}
CUresult primary_context(CUcontext* context, CUdevice device) { return cuDevicePrimaryCtxRetain(context, device); }

// Tools register for these; there are none.
CUresult nothing() { return CUDA_SUCCESS; }

std::uint32_t hook_words[1024];
unsigned char hook_bytes[14];

void hook_words_at(void** at, std::size_t* count) {
  *at = hook_words;
  *count = sizeof hook_words / sizeof *hook_words;
}

void hook_bytes_at(void** at, std::size_t* count) {
  *at = hook_bytes;
  *count = sizeof hook_bytes;
}

CUresult device_of(CUcontext context, CUdevice* device) { return cuCtxGetDevice_v2(device, context); }

CUresult check_context(CUcontext, std::uint32_t* flags, const void**) {
  if (flags != nullptr) *flags = 0;
  return CUDA_SUCCESS;
}

CUresult prove(std::uint32_t version, std::uint64_t seconds, std::uint64_t (*answer)[2]);

const char* const kNames[] = {"CUDART_INTERFACE", "TOOLS_RUNTIME_CALLBACK_HOOKS",
                              "TOOLS_TLS",        "CONTEXT_CHECKS",
                              "INTEGRITY_CHECK",  "TOOLS_CONTEXT"};

template <unsigned Table, std::size_t Slot>
CUresult lacking() {
  static Once once;
  say(once, "the software GPU lacks function %zu of the driver's table %s, which this CUDA runtime calls: it may fail",
      Slot, kNames[Table]);
  return CUDA_ERROR_NOT_SUPPORTED;
}

struct Slot {
  std::size_t index;
  void* function;
};

template <class F>
void* address(F function) {
  return reinterpret_cast<void*>(function);
}

template <unsigned Table, std::size_t... I>
std::array<void*, sizeof...(I)> filled(std::index_sequence<I...>, std::initializer_list<Slot> slots) {
  std::array<void*, sizeof...(I)> table = {address(&lacking<Table, I>)...};
  table[0] = reinterpret_cast<void*>(sizeof table);  // each begins with its size
  for (const Slot& slot : slots) table[slot.index] = slot.function;
  return table;
}

template <unsigned Table, std::size_t Size>
std::array<void*, Size> filled(std::initializer_list<Slot> slots) {
  return filled<Table>(std::make_index_sequence<Size>(), slots);
}

const auto kRuntime = filled<0, 13>({{1, address(&load_wrapper)},
                                     {2, address(&primary_context)},
                                     {6, address(&load_wrapper_more)},
                                     {7, address(&nothing)},
                                     {8, address(&load_container)},
                                     {12, address(&nothing)}});
const auto kHooks = filled<1, 7>(
    {{1, address(&nothing)}, {2, address(&hook_words_at)}, {4, address(&nothing)}, {6, address(&hook_bytes_at)}});
const auto kThreads = filled<2, 4>({{2, address(&cuCtxGetCurrent)}});
const auto kChecks = filled<3, 4>({{2, address(&check_context)}, {3, address(&nothing)}});
const auto kProof = filled<4, 3>({{1, address(&prove)}});
const auto kContexts = filled<5, 95>({{3, address(&device_of)}, {4, address(&cuCtxGetId)}});
const std::array<void*, 4> kStorage = {address(&keep), address(&forget), address(&recall), nullptr};  // without a size

CUresult prove(std::uint32_t version, std::uint64_t seconds, std::uint64_t (*answer)[2]) {
  return answer_to({version, seconds, kRuntime.data(), kProof.data(), address(&prove)}, *answer);
}

struct Known {
  unsigned char id[16];
  const void* table;
};

const Known kTables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9}, kRuntime.data()},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66}, kHooks.data()},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc}, kThreads.data()},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e}, kChecks.data()},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2}, kProof.data()},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2},
     kContexts.data()},
    // Two that are asked for and done without: by the runtime, and by libraries that compile.
    {{0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28}, nullptr},
    {{0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9}, nullptr},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93}, kStorage.data()},
};

}  // namespace

const void* find_table(const CUuuid& id) {
  for (const Known& known : kTables) {
    if (std::memcmp(known.id, id.bytes, sizeof known.id) == 0) return known.table;
  }
  char text[2 * sizeof id.bytes + 1];
  for (unsigned i = 0; i < sizeof id.bytes; ++i)
    std::snprintf(text + std::size_t{2} * i, 3, "%02x", static_cast<unsigned char>(id.bytes[i]));
  static Once once;
  say(once,
      "the software GPU has no table %s of NVIDIA's driver, which a library here asks for: it may fail, as cuFFT does",
      text);
  return nullptr;
}

}  // namespace cotenant::soft::runtime
