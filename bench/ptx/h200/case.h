// One case of a plan on the GPU: its module, its arguments, and the buffers that they point to.
#pragma once

#include <cuda.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr double kTargetUs = 300;          // of the original's time, if repeating its grid gets it there
constexpr double kShortestUs = 200;
constexpr int kTimings = 11;               // interleaved repeats
constexpr int kTurnarounds = 40;
constexpr int kPositions = 8;              // blocks that are timed alone
constexpr std::size_t kWindow = 1u << 30;  // between buffers: indices that made-up arguments lead astray stay mapped
constexpr int kWindows = 24;
constexpr std::size_t kMostBytes = 1600u << 20;  // of a case's buffers together
constexpr int kStopsOfARun = 12;           // then it runs to its end
constexpr unsigned kSecondsOfACase = 8;

std::FILE* results = nullptr;
bool compares = true;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(results, "{\"fault\": \"%s: %s\"}\n", what, name ? name : "?");
  std::fflush(results);
  _exit(4);
}
#define CU(call) check((call), #call)

// So that the last line says where a kernel ended the process.
void stage(const char* what) {
  std::fprintf(results, "{\"stage\": \"%s\"}\n", what);
  std::fflush(results);
}

using Clock = std::chrono::steady_clock;
double now_us() { return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count(); }
void spin(double us) {
  for (const double end = now_us() + us; now_us() < end;) {
  }
}

struct Buffer {
  CUdeviceptr at;
  std::size_t bytes;
  CUdeviceptr pristine;
  CUdeviceptr wanted;
  int argument;  // whose bytes hold the address
};

struct Case {
  std::string name, file, kernel, repeat, variants;
  std::string cubin;  // the original as somebody else assembled it
  std::vector<std::pair<std::string, std::string>> forms;  // other preemptible forms: what they are called, their files
  unsigned grid[3]{}, block[3]{}, shared{};
  std::vector<std::vector<unsigned char>> args;
  std::vector<Buffer> buffers;
  std::vector<CUtexObject> textures;
  int grows = -1;  // the argument that grows with the grid; -1: none
  bool has(const char* variant) const { return variants.find(variant) != std::string::npos; }
};

std::string folder;
std::vector<unsigned char> inputs;
CUdeviceptr windows = 0, pristine = 0, wanted = 0, control = 0;
std::size_t pristine_used = 0;
volatile std::uint32_t* host_words = nullptr;  // [0] the flag, [16] what the GPU writes when a kernel is gone
CUdeviceptr flag = 0, gone = 0;
CUstream stream = nullptr;
CUevent begin = nullptr, end = nullptr;
int sms = 0;
std::mt19937 chance(1);

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<unsigned char> hex(const std::string& text) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<unsigned char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Contents of a buffer before a launch, where the plan only names them.
std::vector<unsigned char> fill(const std::string& how, std::size_t bytes) {
  std::vector<unsigned char> data(bytes, 0);
  const auto unit = [](std::size_t i) {
    return static_cast<float>((static_cast<std::uint32_t>((i + 1) * 0x9e3779b1u) >> 8) & 0xffff) / 32768 - 1;
  };
  if (how == "floats") {
    for (std::size_t i = 0; i < bytes / 4; ++i) {
      const float value = unit(i);
      std::memcpy(&data[4 * i], &value, 4);
    }
  } else if (how == "bf16") {
    for (std::size_t i = 0; i < bytes / 2; ++i) {
      const float value = unit(i);
      std::memcpy(&data[2 * i], reinterpret_cast<const char*>(&value) + 2, 2);
    }
  } else if (how == "f16") {  // multiples of 1/1024 in [1, 2), either sign: every bit pattern is a plain number
    for (std::size_t i = 0; i < bytes / 2; ++i) {
      const std::uint32_t h = static_cast<std::uint32_t>((i + 1) * 0x9e3779b1u);
      const std::uint16_t bits = static_cast<std::uint16_t>(0x3c00 | ((h >> 8) & 0x3ff) | ((h >> 3) & 0x8000));
      std::memcpy(&data[2 * i], &bits, 2);
    }
  } else if (how == "fp8") {  // e4m3 near 1
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::uint32_t h = static_cast<std::uint32_t>((i + 1) * 0x9e3779b1u);
      data[i] = static_cast<unsigned char>(0x30 | ((h >> 9) & 0xf) | ((h >> 4) & 0x80));
    }
  }
  return data;
}

std::size_t aligned(std::size_t bytes) { return (bytes + 255) & ~std::size_t{255}; }

Buffer place(Case& one, const std::vector<unsigned char>& data) {
  const std::size_t i = one.buffers.size();
  if (i >= kWindows || pristine_used + aligned(data.size()) > kMostBytes)
    check(CUDA_ERROR_INVALID_VALUE, "too many or too large buffers");
  Buffer buffer{windows + i * kWindow + (1u << 20), data.size(), pristine + pristine_used, wanted + pristine_used,
                static_cast<int>(one.args.size())};
  pristine_used += aligned(data.size());
  CU(cuMemcpyHtoD(buffer.pristine, data.data(), data.size()));
  one.buffers.push_back(buffer);
  return buffer;
}

std::vector<unsigned char> at(std::size_t offset, std::size_t bytes) {
  return {inputs.begin() + static_cast<long>(offset), inputs.begin() + static_cast<long>(offset + bytes)};
}

std::vector<unsigned char> word(CUdeviceptr value) {
  std::vector<unsigned char> bytes(8);
  std::memcpy(bytes.data(), &value, 8);
  return bytes;
}

CUtexObject texture(std::size_t width, std::size_t height, const std::vector<unsigned char>& texels) {
  CUDA_RESOURCE_DESC resource{};
  if (height == 1) {
    CUdeviceptr memory = 0;
    CU(cuMemAlloc(&memory, texels.size()));
    CU(cuMemcpyHtoD(memory, texels.data(), texels.size()));
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, texels.size()};
  } else {
    CUDA_ARRAY_DESCRIPTOR shape{width, height, CU_AD_FORMAT_FLOAT, 1};
    CUarray array = nullptr;
    CU(cuArrayCreate(&array, &shape));
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = copy.WidthInBytes = width * 4;
    copy.Height = height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    CU(cuMemcpy2D(&copy));
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
  }
  CUDA_TEXTURE_DESC how{};
  for (auto& mode : how.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject made = 0;
  CU(cuTexObjectCreate(&made, &resource, &how, nullptr));
  return made;
}

void argument(Case& one, const std::string& kind, std::istringstream& rest) {
  std::string how;
  std::size_t bytes = 0, offset = 0;
  if (kind == "bytes") {
    rest >> how;
    one.args.push_back(hex(how));
  } else if (kind == "buffer") {
    rest >> bytes >> how;
    if (how == "at") rest >> offset;
    one.args.push_back(word(place(one, how == "at" ? at(offset, bytes) : fill(how, bytes)).at));
  } else if (kind == "struct") {
    std::size_t pointer = 0;
    std::string data;
    rest >> data >> pointer >> bytes >> how >> offset;
    auto value = hex(data);
    const auto address = word(place(one, at(offset, bytes)).at);
    std::copy(address.begin(), address.end(), value.begin() + static_cast<long>(pointer));
    one.args.push_back(value);
  } else if (kind == "texture") {
    std::size_t width = 0, height = 0;
    rest >> width >> height >> how >> offset;
    one.textures.push_back(texture(width, height, at(offset, width * height * 4)));
    one.args.push_back(word(one.textures.back()));
  }
}

CUmodule compiled(const std::string& text) {
  char log[400] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  const CUresult result = cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
  for (char& c : log)
    if (c == '"' || c == '\\' || (c > 0 && c < ' ')) c = ' ';
  check(result, log);
  return module;
}

std::map<std::string, CUmodule> modules;

CUmodule module_in(const std::string& file) {
  CUmodule& module = modules[file];
  if (!module) module = compiled(read_file(folder + "/" + file));
  return module;
}

void unload_all() {
  for (const auto& [file, module] : modules) CU(cuModuleUnload(module));
  modules.clear();
}

// The case with `factor` times its blocks in x, its buffers as often what they were, and the number that says how much
// there is. False: that does not fit.
bool grow(const Case& from, unsigned factor, Case& to) {
  std::size_t bytes = 0;
  for (const auto& buffer : from.buffers) {
    bytes += aligned(buffer.bytes * factor);
    if (buffer.bytes * factor > kWindow - (2u << 20)) return false;
  }
  std::uint32_t number = 0;
  if (from.grows >= 0) std::memcpy(&number, from.args[static_cast<std::size_t>(from.grows)].data(), 4);
  const std::uint64_t most = std::max<std::uint64_t>(number, from.grid[0]) * factor;
  if (bytes > kMostBytes || most >= 1u << 31) return false;
  to = from;
  to.grid[0] *= factor;
  number *= factor;
  if (from.grows >= 0) std::memcpy(to.args[static_cast<std::size_t>(from.grows)].data(), &number, 4);
  // Behind what is there: the small ones are made again from it.
  std::size_t used = aligned(pristine_used);
  for (auto& buffer : to.buffers) {
    const CUdeviceptr source = buffer.pristine;
    buffer.pristine = pristine + kMostBytes + used - aligned(pristine_used);
    buffer.wanted = wanted + (buffer.pristine - pristine - kMostBytes);
    CU(cuMemcpyDtoD(buffer.pristine, source, buffer.bytes));
    std::size_t have = buffer.bytes;
    buffer.bytes *= factor;
    while (have < buffer.bytes) {
      const std::size_t more = std::min(have, buffer.bytes - have);
      CU(cuMemcpyDtoD(buffer.pristine + have, buffer.pristine, more));
      have += more;
    }
    used += aligned(buffer.bytes);
  }
  return true;
}

// Compares words of two buffers; the lowest that differs.
constexpr char kDiffers[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry differs(.param .u64 a, .param .u64 b, .param .u64 words, .param .u64 out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [words];
  ld.param.u64 %rd4, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd5, %r4;
  mov.u32 %r5, %nctaid.x;
  mul.lo.s32 %r5, %r5, %r2;
  cvt.u64.u32 %rd6, %r5;
L:
  setp.ge.u64 %p1, %rd5, %rd3;
  @%p1 ret;
  shl.b64 %rd7, %rd5, 2;
  add.s64 %rd8, %rd1, %rd7;
  add.s64 %rd9, %rd2, %rd7;
  ld.global.u32 %r6, [%rd8];
  ld.global.u32 %r7, [%rd9];
  setp.ne.u32 %p2, %r6, %r7;
  @%p2 red.global.min.u64 [%rd4], %rd5;
  add.s64 %rd5, %rd5, %rd6;
  bra L;
}
)";

CUfunction differs = nullptr;

}  // namespace
