#pragma once
// Loaded code: a module belongs to a context, a library to all of them. A function and a kernel are the same thing
// here, so that a launch can accept either handle.
#include <memory>
#include <string>
#include <vector>

#include "softgpu/engine/work.h"
#include "softgpu/ptx/ptx.h"

namespace cotenant::soft {

struct Context;
struct Module;

struct Function {
  const ptx::Entry* entry = nullptr;
  const char* name = nullptr;  // interned
  Module* module = nullptr;
  int dynamic_shared_limit = 48 << 10;
  int carveout = -1;
  bool non_portable_clusters = false;
  int cluster_width = 0;
  // Arguments for launches through the functions of the first releases.
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<unsigned char> arguments;
};

struct Module {
  bool library = false;
  Context* context = nullptr;
  ptx::Program program;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<CUdeviceptr> globals;  // as program.globals; allocated when asked for
};

// Loads `image`; the module is found by its handle until unload.
CUresult load_module(const void* image, Context* context, Module** out);
bool read_file(const char* path, std::string& bytes);
CUresult load_file(const char* path, Context* context, Module** out);
void unload_module(Module* module);
Function* find_function(Module& module, const char* name);

// The duration and effects of one launch of `function` with the arguments in `spec`.
KernelWork kernel_work(const Function& function, std::shared_ptr<const LaunchSpec> spec, unsigned device_sms);

// Copies the arguments of a launch (kernelParams or extra) into `spec`.
CUresult pack_arguments(const Function& function, void** parameters, void** extra, LaunchSpec& spec);

}  // namespace cotenant::soft
