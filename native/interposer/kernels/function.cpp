#include "interposer/kernels/function.h"

#include "interposer/lookup/entry.h"

namespace cotenant {

NamedFunction named_function(cu::CUfunction handle) noexcept {
  const auto& driver = real();
  const char* name = nullptr;
  if (driver.cuFuncGetName && driver.cuFuncGetName(&name, handle) == cu::CUDA_SUCCESS) return {handle, name};
  int registers = 0;
  if (driver.cuFuncGetAttribute(&registers, cu::CU_FUNC_ATTRIBUTE_NUM_REGS, handle) == cu::CUDA_SUCCESS)
    return {handle, nullptr};
  const auto kernel = reinterpret_cast<cu::CUkernel>(handle);
  cu::CUfunction function = nullptr;
  if (!driver.cuKernelGetFunction || driver.cuKernelGetFunction(&function, kernel) != cu::CUDA_SUCCESS)
    return {nullptr, nullptr};
  if (driver.cuKernelGetName && driver.cuKernelGetName(&name, kernel) != cu::CUDA_SUCCESS) name = nullptr;
  return {function, name};
}

}  // namespace cotenant
