#include "softgpu/driver/code.h"

#include <cstdio>
#include <cstring>

#include "softgpu/driver/driver.h"
#include "softgpu/image/image.h"

namespace cotenant::soft {
namespace {

std::uint64_t argument(const Function& function, const LaunchSpec& spec, unsigned index) {
  const ptx::Parameter& parameter = function.entry->parameters[index];
  std::uint64_t value = 0;
  std::memcpy(&value, spec.arguments.data() + parameter.offset, std::min<std::size_t>(parameter.size, sizeof value));
  return value;
}

std::uint64_t evaluate(const ptx::Expression& e, const Function& function, const LaunchSpec& spec) {
  if (e.parameter < 0) return e.times;
  return argument(function, spec, unsigned(e.parameter)) * e.times / e.over;
}

Effect effect_of(const Function& function, const LaunchSpec& spec) {
  const ptx::Entry& entry = *function.entry;
  Effect effect;
  std::size_t wanted = 0;
  if (entry.effect == "store") effect.kind = Effect::Kind::store, wanted = 2;
  if (entry.effect == "add") effect.kind = Effect::Kind::add, wanted = 2;
  if (entry.effect == "fill") effect.kind = Effect::Kind::fill, wanted = 3;
  if (entry.effect == "fma") effect.kind = Effect::Kind::fma, wanted = 3;
  if (entry.effect_arguments.size() != wanted) return {};
  std::uint64_t* const values[] = {&effect.a, &effect.b, &effect.c};
  for (std::size_t i = 0; i < wanted; ++i) *values[i] = evaluate(entry.effect_arguments[i], function, spec);
  // On a GPU an invalid pointer is an illegal address; here the launch has no effect.
  const std::size_t words = wanted == 3 ? effect.b : 1;
  if (effect.kind != Effect::Kind::none && memory().find(effect.a, words * 4) == nullptr) return {};
  return effect;
}

Resumable resumable_of(const Function& function, const LaunchSpec& spec) {
  if (!function.entry->resumable) return {};
  const auto first = unsigned(function.entry->parameters.size() - 6);
  const auto value = [&](unsigned i) { return argument(function, spec, first + i); };
  return {value(2) * value(3) * value(4), value(0), value(1)};
}

// The duration and effect of one box of a kernel's grid.
void take_slice(const Function& function, KernelWork& work, std::uint64_t blocks) {
  if (!function.entry->sliced) return;
  const auto first = unsigned(function.entry->parameters.size() - 6);
  const auto value = [&](unsigned i) { return argument(function, *work.spec, first + i); };
  const std::uint64_t whole = value(3) * value(4) * value(5);
  if (whole > 0) work.duration = work.duration * blocks / whole;
  bool last = true;
  for (unsigned side = 0; side < 3; ++side) last = last && value(side) + work.spec->grid[side] == value(3 + side);
  if (!last) work.effect = {};
}

// A variant without its own directive has the duration and effect of its original.
void describe_variant(const Driver& d, ptx::Entry& entry) {
  if (entry.described || (!entry.resumable && !entry.sliced)) return;
  const std::string original = entry.name.substr(0, entry.name.rfind("__cotenant_"));
  for (const auto& [handle, module] : d.modules) {
    for (const ptx::Entry& other : module->program.entries) {
      if (other.name != original) continue;
      entry.duration = other.duration;
      entry.sms = other.sms;
      entry.has_sms = other.has_sms;
      entry.meets = other.meets;
      entry.has_meets = other.has_meets;
      entry.effect = other.effect;
      entry.effect_arguments = other.effect_arguments;
      return;
    }
  }
}

}  // namespace

CUresult load_module(const void* image, Context* context, Module** out) {
  auto module = std::make_unique<Module>();
  Driver& d = driver();
  const unsigned device = context == nullptr ? 0 : context->device;
  const CUresult error = image::read(image, d.region.device(device).compute_capability, module->program);
  if (error != CUDA_SUCCESS) return error;
  module->context = context;
  module->library = context == nullptr;
  module->globals.resize(module->program.globals.size());
  for (ptx::Entry& entry : module->program.entries) {
    describe_variant(d, entry);
    auto function = std::make_unique<Function>();
    function->entry = &entry;
    function->name = intern(entry.name);
    function->module = module.get();
    function->arguments.resize(entry.parameter_bytes);
    d.functions.insert(function.get());
    module->functions.push_back(std::move(function));
  }
  *out = module.get();
  d.modules[*out] = std::move(module);
  return CUDA_SUCCESS;
}

bool read_file(const char* path, std::string& bytes) {
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  char part[4096];
  for (std::size_t length; (length = std::fread(part, 1, sizeof part, file)) > 0;) bytes.append(part, length);
  std::fclose(file);
  return true;
}

CUresult load_file(const char* path, Context* context, Module** out) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string bytes;
  return read_file(path, bytes) ? load_module(bytes.c_str(), context, out) : CUDA_ERROR_FILE_NOT_FOUND;
}

void unload_module(Module* module) {
  Driver& d = driver();
  for (const auto& function : module->functions) d.functions.erase(function.get());
  for (const CUdeviceptr global : module->globals) d.memory.release(global);
  d.modules.erase(module);
}

Function* find_function(Module& module, const char* name) {
  for (const auto& function : module.functions) {
    if (function->entry->name == name) return function.get();
  }
  return nullptr;
}

KernelWork kernel_work(const Function& function, std::shared_ptr<const LaunchSpec> spec, unsigned device_sms) {
  const ptx::Entry& entry = *function.entry;
  KernelWork work;
  work.name = function.name;
  work.duration = evaluate(entry.duration, function, *spec);
  const std::uint64_t blocks = std::uint64_t{spec->grid[0]} * spec->grid[1] * spec->grid[2];
  const std::uint64_t sms = entry.has_sms ? evaluate(entry.sms, function, *spec) : blocks;
  work.sms = unsigned(std::max<std::uint64_t>(1, std::min<std::uint64_t>(sms, device_sms)));
  work.effect = effect_of(function, *spec);
  if (entry.has_meets) work.meeting = reinterpret_cast<Meeting*>(evaluate(entry.meets, function, *spec));
  // A kernel that waits for others does not stop before they have begun.
  if (work.meeting == nullptr) work.resumable = resumable_of(function, *spec);
  work.spec = std::move(spec);
  take_slice(function, work, blocks);
  return work;
}

CUresult pack_arguments(const Function& function, void** parameters, void** extra, LaunchSpec& spec) {
  const ptx::Entry& entry = *function.entry;
  spec.arguments.assign(entry.parameter_bytes, 0);
  spec.pointers.clear();
  for (const ptx::Parameter& parameter : entry.parameters) {
    spec.pointers.push_back(spec.arguments.data() + parameter.offset);
  }
  if (extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (; reinterpret_cast<std::uintptr_t>(*extra) != kLaunchParamEnd; extra += 2) {
      const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
      if (key == kLaunchParamBufferPointer) buffer = extra[1];
      else if (key == kLaunchParamBufferSize) size = *static_cast<const std::size_t*>(extra[1]);
      else return CUDA_ERROR_INVALID_VALUE;
    }
    if (buffer != nullptr) std::memcpy(spec.arguments.data(), buffer, std::min(size, spec.arguments.size()));
    return CUDA_SUCCESS;
  }
  if (parameters == nullptr) return entry.parameters.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(spec.pointers[i], parameters[i], entry.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

}  // namespace cotenant::soft
