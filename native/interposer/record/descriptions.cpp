#include "interposer/record/descriptions.h"

#include <cstdlib>
#include <cstring>

#include "interposer/kernels/function.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/record/pools.h"

namespace cotenant::record {
namespace {

bool has_description(const Kernel& kernel) noexcept {
  Locked locked(tape_lock);
  return kernel.name != nullptr;
}

}  // namespace

void describe_device() noexcept {
  cu::CUdevice ordinal = 0;
  if (real().cuCtxGetDevice(&ordinal) != cu::CUDA_SUCCESS) return;
  {
    Locked locked(tape_lock);
    if (tape.device_known) {
      if (tape.device.ordinal != ordinal) tape.several_devices = true;
      return;
    }
  }
  Device device{};
  const auto ask = [&](int& into, cu::CUdevice_attribute what) {
    return real().cuDeviceGetAttribute(&into, what, ordinal) == cu::CUDA_SUCCESS;
  };
  const bool told = ask(device.major, cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
                    ask(device.minor, cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) &&
                    ask(device.sms, cu::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) &&
                    real().cuDeviceGetName(device.name, sizeof device.name, ordinal) == cu::CUDA_SUCCESS;
  if (!told) device.name[0] = '\0';
  device.ordinal = ordinal;
  Locked locked(tape_lock);
  if (!tape.device_known) tape.device = device;
  tape.device_known = true;
}

void describe(Kernel& kernel) noexcept {
  BesideCaptures beside;
  const auto& [gx, gy, gz, bx, by, bz, shared] = kernel.shape.of;
  const auto [function, name] = named_function(kernel.shape.function);
  const auto ask = [function = function](cu::CUfunction_attribute what) {
    int value = 0;
    const bool told = function && real().cuFuncGetAttribute(&value, what, function) == cu::CUDA_SUCCESS;
    return told ? value : kUnknown;
  };
  const int registers = ask(cu::CU_FUNC_ATTRIBUTE_NUM_REGS);
  const int fixed = ask(cu::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  int blocks = 0;
  const auto occupancy = real().cuOccupancyMaxActiveBlocksPerMultiprocessor;
  const bool fits = function && occupancy &&
                    occupancy(&blocks, function, static_cast<int>(bx * by * bz), shared) == cu::CUDA_SUCCESS &&
                    blocks > 0;
  // The driver's text ends with the code, when that is unloaded.
  char* copy = strdup(name ? name : "unnamed");
  Locked locked(tape_lock);
  kernel.registers = registers;
  kernel.static_shared = fixed;
  kernel.blocks_per_sm = fits ? blocks : kUnknown;
  if (!kernel.name) kernel.name = copy;
  else free(copy);
}

void describe_kernels_of(Graph& graph) noexcept {
  for (std::uint32_t i = graph.first; i < graph.first + graph.count; ++i)
    if (tape.items[i].kind == Kind::kKernel)
      if (Kernel& kernel = tape.kernels[tape.items[i].index]; !has_description(kernel)) describe(kernel);
  graph.described = true;
}

}  // namespace cotenant::record
