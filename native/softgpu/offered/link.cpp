// The linker of code. What it makes is PTX text, which is all that a module is read from here: the inputs' own, and for
// machine code declarations of its kernels. Libraries add nothing that a kernel's launch needs.
#include <cstring>
#include <sstream>

#include "softgpu/driver/driver.h"
#include "softgpu/image/image.h"

namespace cotenant::cu {

using namespace soft;

namespace {

struct Link {
  std::string text;
};

CUlinkState handle(Link* link) { return reinterpret_cast<CUlinkState>(link); }

// The largest power of two that an offset and a size allow, at most 16.
std::size_t alignment(std::size_t offset) {
  std::size_t align = 16;
  while (offset % align != 0) align /= 2;
  return align;
}

void declare(const ptx::Program& program, std::ostream& out) {
  out << ".version " << program.version / 10 << '.' << program.version % 10 << "\n.target sm_" << program.target
      << "\n.address_size 64\n";
  for (const ptx::Global& global : program.globals)
    out << ".visible .global .align 16 .b8 " << global.name << '[' << global.size << "];\n";
  for (const ptx::Entry& entry : program.entries) {
    out << ".visible .entry " << entry.name << '(';
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const ptx::Parameter& parameter = entry.parameters[i];
      out << (i == 0 ? "" : ", ") << ".param .align " << alignment(parameter.offset) << " .b8 p" << i << '['
          << parameter.size << ']';
    }
    out << ")\n.maxntid " << entry.max_threads << ", 1, 1\n{ ret; }\n";
  }
}

CUresult add(CUlinkState state, CUjitInputType type, const void* data, std::size_t size) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (state == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string& text = object<Link>(state)->text;
  if (type == CU_JIT_INPUT_LIBRARY || type == CU_JIT_INPUT_OBJECT) return CUDA_SUCCESS;
  ptx::Program program;
  if (type == CU_JIT_INPUT_PTX) {
    const auto* begin = static_cast<const char*>(data);
    const std::string input(begin, strnlen(begin, size));
    const CUresult error = ptx::parse(input.c_str(), program);
    if (error == CUDA_SUCCESS) text += input + "\n";
    return error;
  }
  const unsigned device = call.context == nullptr ? 0 : call.context->device;
  const CUresult error = image::read(data, call.d.region.device(device).compute_capability, program);
  if (error != CUDA_SUCCESS) return error;
  std::ostringstream out;
  declare(program, out);
  text += out.str();
  return CUDA_SUCCESS;
}

CUresult add_file(CUlinkState state, CUjitInputType type, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string bytes;
  if (!read_file(path, bytes)) return CUDA_ERROR_FILE_NOT_FOUND;
  return add(state, type, bytes.c_str(), bytes.size() + 1);
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned int, CUjit_option*, void**, CUlinkState* stateOut) {
  const Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *stateOut = handle(new Link);
  return CUDA_SUCCESS;
}
CUresult cuLinkCreate(unsigned int numOptions, CUjit_option* options, void** optionValues, CUlinkState* stateOut) {
  return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned int,
                          CUjit_option*, void**) {
  return add(state, type, data, size);
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned int,
                       CUjit_option*, void**) {
  return add(state, type, data, size);
}
CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int, CUjit_option*,
                          void**) {
  return add_file(state, type, path);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned int, CUjit_option*, void**) {
  return add_file(state, type, path);
}

CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  const Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (state == nullptr || cubinOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string& text = object<Link>(state)->text;
  *cubinOut = text.data();
  if (sizeOut != nullptr) *sizeOut = text.size() + 1;  // its end belongs to it
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  const Call call(Call::Needs::init);
  if (call.error == CUDA_SUCCESS) delete object<Link>(state);
  return call.error;
}

}  // namespace cotenant::cu
