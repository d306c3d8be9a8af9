// Runs kernels and their variants on a GPU, for run.py: g++ -O2 -std=c++17 runner.cpp -lcuda.
//   runner PLAN_FOLDER FIRST_CASE SECONDS RESULTS [times]
// One line of JSON a case, appended as soon as it is done (stdout is for kernels that print).
// "times": nothing is compared. What it compares is memory, bit for bit; what it measures is
// said at each measurement. plan.ts says what a plan is.
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

// What a buffer holds before a launch, where the plan only names it.
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

// ---- launches

struct Kernel {
  CUfunction function{nullptr};
  int registers{0}, shared{0}, blocks{0};  // blocks on an SM
};

Kernel kernel_in(CUmodule module, const std::string& name, const Case& one) {
  Kernel kernel;
  CU(cuModuleGetFunction(&kernel.function, module, name.c_str()));
  CU(cuFuncGetAttribute(&kernel.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel.function));
  CU(cuFuncGetAttribute(&kernel.shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.function));
  if (one.shared > 0)
    CU(cuFuncSetAttribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(one.shared)));
  const int threads = static_cast<int>(one.block[0] * one.block[1] * one.block[2]);
  CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&kernel.blocks, kernel.function, threads, one.shared));
  return kernel;
}

struct Grid {
  unsigned of[3];
  std::uint64_t blocks() const { return std::uint64_t{of[0]} * of[1] * of[2]; }
};

struct Runner {
  Case& one;
  Kernel original, sliced, persistent;

  void launch(const Kernel& kernel, const Grid& grid, std::vector<void*> more = {}) {
    std::vector<void*> pointers;
    for (auto& arg : one.args) pointers.push_back(arg.data());
    pointers.insert(pointers.end(), more.begin(), more.end());
    CU(cuLaunchKernel(kernel.function, grid.of[0], grid.of[1], grid.of[2], one.block[0], one.block[1], one.block[2],
                      one.shared, stream, pointers.data(), nullptr));
  }

  // In boxes of `width` blocks along `axis`, whole rows of the others.
  void launch_slices(Grid grid, int axis, unsigned width) {
    for (unsigned first = 0; first < grid.of[axis]; first += width) {
      unsigned from[3] = {};
      from[axis] = first;
      Grid box = grid;
      box.of[axis] = std::min(width, grid.of[axis] - first);
      launch(sliced, box, {&from[0], &from[1], &from[2], &grid.of[0], &grid.of[1], &grid.of[2]});
    }
  }

  void launch_workers(Grid grid, unsigned workers, std::uint32_t epoch) {
    launch(persistent, {{workers + 1, 1, 1}}, {&control, &flag, &grid.of[0], &grid.of[1], &grid.of[2], &epoch});
  }

  void reset() {
    for (const auto& buffer : one.buffers) CU(cuMemcpyDtoDAsync(buffer.at, buffer.pristine, buffer.bytes, stream));
    CU(cuStreamSynchronize(stream));
  }

  // What is there now is what is wanted.
  void keep() {
    for (const auto& buffer : one.buffers) CU(cuMemcpyDtoDAsync(buffer.wanted, buffer.at, buffer.bytes, stream));
    CU(cuStreamSynchronize(stream));
  }

  // Where buffers differ from what is wanted, in words: "buffer 1, byte 64"; nothing where they do not.
  std::string difference() {
    for (std::size_t i = 0; i < one.buffers.size(); ++i) {
      auto& buffer = one.buffers[i];
      CUdeviceptr out = control + 128;
      std::uint64_t words = buffer.bytes / 4, first = ~std::uint64_t{0};
      CU(cuMemcpyHtoDAsync(out, &first, 8, stream));
      void* arguments[] = {&buffer.at, &buffer.wanted, &words, &out};
      if (words) CU(cuLaunchKernel(differs, 1024, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
      CU(cuStreamSynchronize(stream));
      CU(cuMemcpyDtoH(&first, out, 8));
      unsigned char got[4] = {}, want[4] = {};
      const std::size_t rest = buffer.bytes % 4;
      if (rest) {
        CU(cuMemcpyDtoH(got, buffer.at + words * 4, rest));
        CU(cuMemcpyDtoH(want, buffer.wanted + words * 4, rest));
        if (first == ~std::uint64_t{0} && std::memcmp(got, want, 4) != 0) first = words;
      }
      if (first != ~std::uint64_t{0}) return "buffer " + std::to_string(i) + ", byte " + std::to_string(first * 4);
    }
    return "";
  }

  // Runs to the end, however often it is stopped; how often blocks were left to a later launch. `within`: stops come
  // at random moments of that many us after each launch; 0: none; below: before the first.
  int run_stopped(const Grid& grid, unsigned workers, double within) {
    CU(cuMemsetD32Async(control, 0, 2, stream));
    int resumed = 0;
    for (std::uint32_t epoch = 1;; ++epoch) {
      const bool stops = within != 0 && epoch <= kStopsOfARun;
      *host_words = stops && within < 0 && epoch == 1 ? 1 : 0;
      launch_workers(grid, workers, epoch);
      if (stops && within > 0) {
        spin(std::uniform_real_distribution<double>(0, within)(chance));
        *host_words = 1;
      }
      CU(cuStreamSynchronize(stream));
      *host_words = 0;
      if (claimed(epoch) >= grid.blocks()) return resumed;
      ++resumed;
    }
  }

  // Blocks claimed until the launch of that epoch ended: the word in which the next one goes on.
  std::uint32_t claimed(std::uint32_t epoch) {
    std::uint32_t next = 0;
    CU(cuMemcpyDtoH(&next, control + 4 * (1 - (epoch & 1)), 4));
    return next;
  }

  // GPU time between events around it.
  double time_us(const std::function<void()>& run) {
    CU(cuEventRecord(begin, stream));
    run();
    CU(cuEventRecord(end, stream));
    CU(cuStreamSynchronize(stream));
    float ms = 0;
    CU(cuEventElapsedTime(&ms, begin, end));
    return ms * 1e3;
  }
};

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

// ---- one case

class Json {
 public:
  template <class T>
  Json& put(const char* name, const T& value) {
    out_ << (first_ ? "{" : ", ") << '"' << name << "\": " << value;
    first_ = false;
    return *this;
  }
  Json& text(const char* name, const std::string& value) { return put(name, '"' + value + '"'); }
  Json& list(const char* name, const std::vector<double>& all) {
    std::ostringstream text;
    for (std::size_t i = 0; i < all.size(); ++i) text << (i ? ", " : "") << all[i];
    return put(name, '[' + text.str() + ']');
  }
  std::string done() { return first_ ? "{}" : out_.str() + "}"; }

 private:
  std::ostringstream out_;
  bool first_{true};
};

struct Compared {
  int runs{0}, resumed{0};
  std::vector<std::string> differences;
};

// Slices of one and two blocks, few and many workers, stops before the first block and at random moments.
Compared compare(Runner& runner, const Grid& grid, bool thorough, double original_us) {
  Compared found;
  const auto same = [&](const std::string& what, const std::function<int()>& run) {
    runner.reset();
    found.resumed += run();
    ++found.runs;
    CU(cuStreamSynchronize(stream));
    const std::string where = runner.difference();
    if (!where.empty()) found.differences.push_back('"' + what + ": " + where + " differs\"");
  };
  if (runner.sliced.function) {
    const int axis = grid.of[0] >= grid.of[2] ? 0 : 2;
    for (unsigned width : {1u, 2u, std::max(1u, grid.of[axis] / 3)})
      if (thorough || width > 2)
        same("slices of " + std::to_string(width), [&] {
          runner.launch_slices(grid, axis, width);
          return 0;
        });
  }
  if (runner.persistent.function) {
    const unsigned places = static_cast<unsigned>(runner.persistent.blocks * sms - 1);
    for (unsigned workers : thorough ? std::vector<unsigned>{1, 2, 5, places} : std::vector<unsigned>{places, places / 2}) {
      const std::string who = std::to_string(workers) + " workers";
      same(who, [&] { return runner.run_stopped(grid, workers, 0); });
      same(who + ", stopped before the first block", [&] { return runner.run_stopped(grid, workers, -1); });
      for (int i = 0; i < 3; ++i)
        same(who + ", stopped at random", [&] {
          const double within = thorough ? 12 : 10 + original_us;
          return runner.run_stopped(grid, workers, within);
        });
    }
  }
  return found;
}

std::string compared_json(const Compared& found) {
  std::string differences;
  for (const auto& one : found.differences) differences += (differences.empty() ? "" : ", ") + one;
  return Json().put("runs", found.runs).put("resumed", found.resumed).put("differences", '[' + differences + ']').done();
}

// Does machine code that another assembler made of the same PTX leave the same memory?
bool as_given(Runner& runner, const Grid& grid) {
  CUmodule module = nullptr;
  CU(cuModuleLoadData(&module, read_file(folder + "/" + runner.one.cubin).data()));
  runner.reset();
  runner.launch(kernel_in(module, runner.one.kernel, runner.one), grid);
  CU(cuStreamSynchronize(stream));
  const bool same = runner.difference().empty();
  CU(cuModuleUnload(module));
  return same;
}

// The original until it takes long enough: with more data where that is known how, else its grid repeated along an axis
// that it does not read, so that each repetition does the same again. `grown` has the data, and must outlive the runner.
Grid long_grid(Runner& runner, const Case& small, Case& grown, double& us) {
  Grid grid{{small.grid[0], small.grid[1], small.grid[2]}};
  const auto time = [&] {
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
      runner.reset();
      all.push_back(runner.time_us([&] { runner.launch(runner.original, grid); }));
    }
    return median(all);
  };
  // What is short is all overhead, so it is stepped up carefully.
  const auto factor_for = [&] { return us < 20 ? 16 : kTargetUs / us * 1.05; };
  us = time();
  if (small.repeat == "none") return grid;
  if (small.repeat == "grow") {
    double factor = 1;
    for (int i = 0; i < 8 && us < kTargetUs * 0.9; ++i) {
      const double wanted_factor = factor * factor_for();
      Case next;
      if (!grow(small, static_cast<unsigned>(wanted_factor) + 1, next)) break;
      factor = static_cast<unsigned>(wanted_factor) + 1;
      grown = next;
      grid.of[0] = grown.grid[0];
      us = time();
    }
    return grid;
  }
  const int axis = small.repeat[0] - 'x';
  const std::uint64_t most = axis == 0 ? (1u << 31) - 1 : 65535;
  for (int i = 0; i < 8 && us < kTargetUs * 0.9; ++i) {
    const auto more = static_cast<std::uint64_t>(grid.of[axis] * factor_for()) + 1;
    const std::uint64_t others = grid.blocks() / grid.of[axis];
    const std::uint64_t fits = std::min(most, ((std::uint64_t{1} << 31) - 1) / others);
    if (grid.of[axis] >= fits) break;
    grid.of[axis] = static_cast<unsigned>(std::min(more, fits));
    us = time();
  }
  return grid;
}

void measure(Runner& runner, const Grid& grid, Json& json) {
  Case& one = runner.one;
  const unsigned places = runner.persistent.function ? static_cast<unsigned>(runner.persistent.blocks * sms - 1) : 0;
  const std::vector<unsigned> workers =
      places ? std::vector<unsigned>{places, static_cast<unsigned>(std::max(1, runner.persistent.blocks * 3 / 4) * sms - 1),
                                     static_cast<unsigned>(std::max(1, runner.persistent.blocks / 2) * sms - 1)}
             : std::vector<unsigned>{};
  const int axis = one.repeat.size() > 1 ? (grid.of[0] >= grid.of[1] ? 0 : 1) : one.repeat[0] - 'x';
  std::vector<double> original, whole, four;
  std::vector<std::vector<double>> persistent(workers.size());
  *host_words = 0;
  for (int i = 0; i < kTimings; ++i) {
    runner.reset();
    original.push_back(runner.time_us([&] { runner.launch(runner.original, grid); }));
    for (std::size_t w = 0; w < workers.size(); ++w) {
      runner.reset();
      CU(cuMemsetD32Async(control, 0, 2, stream));
      persistent[w].push_back(runner.time_us([&] { runner.launch_workers(grid, workers[w], 1); }));
    }
    if (runner.sliced.function) {
      runner.reset();
      whole.push_back(runner.time_us([&] { runner.launch_slices(grid, axis, grid.of[axis]); }));
      runner.reset();
      const unsigned width = std::max(1u, (grid.of[axis] + 3) / 4);
      four.push_back(runner.time_us([&] { runner.launch_slices(grid, axis, width); }));
    }
  }
  const double alone = median(original);
  json.put("original us", alone);
  std::string table;
  for (std::size_t w = 0; w < workers.size(); ++w)
    table += (w ? ", " : "") + Json().put("workers", workers[w]).put("us", median(persistent[w])).done();
  if (places) json.put("preempt", '[' + table + ']');
  if (runner.sliced.function) json.put("slice whole us", median(whole)).put("slice in four us", median(four));

  // Blocks alone on the GPU, from the grid's first to its last: the longest. And what a block takes where all places are
  // taken: by what the whole grid took, and so much more for the longest as it is longer than they are on average.
  std::vector<double> blocks;
  const std::uint64_t all = grid.blocks();
  for (int i = 0; i < (runner.sliced.function ? kPositions : 1); ++i) {
    const std::uint64_t number = (all - 1) * static_cast<unsigned>(i) / (kPositions - 1);
    unsigned at[] = {static_cast<unsigned>(number % grid.of[0]), static_cast<unsigned>(number / grid.of[0] % grid.of[1]),
                     static_cast<unsigned>(number / grid.of[0] / grid.of[1])};
    Grid size = grid;
    std::vector<double> times;
    for (int k = 0; k < 3; ++k)
      times.push_back(runner.time_us([&] {
        if (runner.sliced.function)
          runner.launch(runner.sliced, {{1, 1, 1}}, {&at[0], &at[1], &at[2], &size.of[0], &size.of[1], &size.of[2]});
        else
          runner.launch(runner.original, {{1, 1, 1}});
      }));
    blocks.push_back(median(times));
  }
  const double longest = *std::max_element(blocks.begin(), blocks.end());
  const double mean = std::accumulate(blocks.begin(), blocks.end(), 0.0) / static_cast<double>(blocks.size());
  const double resident = std::min<double>(static_cast<double>(runner.original.blocks) * sms, static_cast<double>(all));
  json.put("longest block us", longest);
  json.put("longest block under load us", alone * resident / static_cast<double>(all) * longest / mean);

  if (!places) return;
  stage("stopping");
  // From the store of the flag until the GPU writes a word behind the kernel; only launches that did stop.
  std::vector<double> samples;
  for (int i = 0; i < kTurnarounds; ++i) {
    const double lasts = median(persistent[0]);
    CU(cuMemsetD32Async(control, 0, 2, stream));
    CU(cuStreamSynchronize(stream));
    *host_words = 0;
    host_words[16] = 0;
    runner.launch_workers(grid, places, 1);
    CU(cuStreamWriteValue32(stream, gone, 1, 0));
    spin(4 + std::uniform_real_distribution<double>(0.1, 0.8)(chance) * lasts);
    if (host_words[16]) continue;
    const double raised = now_us();
    *host_words = 1;
    while (!host_words[16]) {
    }
    const double took = now_us() - raised;
    CU(cuStreamSynchronize(stream));
    *host_words = 0;
    if (runner.claimed(1) < grid.blocks()) samples.push_back(took);
  }
  std::sort(samples.begin(), samples.end());
  json.list("turnaround us", samples);
}

void run(Case& small, CUmodule module) {
  Case one = small;
  Runner runner{one, kernel_in(module, one.kernel, one), {}, {}};
  if (one.has("slice")) runner.sliced = kernel_in(module, one.kernel + "__cotenant_slice", one);
  if (one.has("preempt")) runner.persistent = kernel_in(module, one.kernel + "__cotenant_preempt", one);
  Json json;
  json.text("name", one.name);
  const auto uses = [](const Kernel& k) {
    return Json().put("registers", k.registers).put("shared", k.shared).put("blocks", k.blocks).done();
  };
  json.put("uses", uses(runner.original));
  if (runner.sliced.function) json.put("slice uses", uses(runner.sliced));
  if (runner.persistent.function) json.put("preempt uses", uses(runner.persistent));

  // Does the original itself leave the same memory twice?
  const auto twice = [&](const Grid& grid) {
    for (int i = 0; i < 2; ++i) {
      runner.reset();
      runner.launch(runner.original, grid);
      CU(cuStreamSynchronize(stream));
      if (i > 0) return runner.difference().empty();
      runner.keep();
    }
    return false;
  };
  const Grid given{{one.grid[0], one.grid[1], one.grid[2]}};
  stage("small grid");
  const bool repeats = compares && twice(given);
  if (compares) json.put("repeats", repeats ? "true" : "false");
  if (repeats) json.put("small", compared_json(compare(runner, given, true, 0)));
  if (repeats && !one.cubin.empty()) json.put("as the given machine code", as_given(runner, given) ? "true" : "false");

  stage("making it long");
  double us = 0;
  const Grid grid = long_grid(runner, small, one, us);
  json.put("blocks", grid.blocks());
  json.text("made long", one.repeat == "grow" ? "more data" : one.repeat == "none" ? "no" : "repeated");
  json.put("long", us >= kShortestUs ? "true" : "false");
  stage("measuring");
  measure(runner, grid, json);
  stage("long grid");
  if (compares && us < 50e3 && twice(grid)) json.put("large", compared_json(compare(runner, grid, false, us)));
  std::fprintf(results, "%s\n", json.done().c_str());
  std::fflush(results);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || !(results = std::fopen(argv[4], "a"))) return 2;
  folder = argv[1];
  compares = argc == 5;
  const int first = std::atoi(argv[2]);
  const double until = now_us() + std::atof(argv[3]) * 1e6;
  const std::string blob = read_file(folder + "/inputs.bin");
  inputs.assign(blob.begin(), blob.end());

  CU(cuInit(0));
  CUdevice device = 0;
  CUcontext context = nullptr;
  CU(cuDeviceGet(&device, 0));
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));
  CU(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CU(cuMemAlloc(&windows, kWindow * kWindows));
  CU(cuMemAlloc(&pristine, 2 * kMostBytes));
  CU(cuMemAlloc(&wanted, kMostBytes));
  CU(cuModuleGetFunction(&differs, compiled(kDiffers), "differs"));
  CU(cuMemAlloc(&control, 256));
  void* words = nullptr;
  CU(cuMemHostAlloc(&words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(words, 0, 4096);
  host_words = static_cast<volatile std::uint32_t*>(words);
  CU(cuMemHostGetDevicePointer(&flag, words, 0));
  gone = flag + 64;

  std::ifstream plan(folder + "/plan.txt");
  std::string line, loaded;
  CUmodule module = nullptr;
  Case one;
  for (int number = -1; std::getline(plan, line);) {
    std::istringstream words_of(line);
    std::string key;
    words_of >> key;
    if (key == "case") {
      one = Case{};
      one.name = line.substr(5);
      pristine_used = 0;
      if (++number < first) continue;
      if (now_us() > until) return 0;
      // A hang ends the process; run.py goes on with the next case.
      std::fprintf(results, "{\"began\": %d, \"name\": \"%s\"}\n", number, one.name.c_str());
      std::fflush(results);
      alarm(kSecondsOfACase);
    }
    if (number < first) continue;
    if (key == "file") words_of >> one.file;
    else if (key == "kernel") words_of >> one.kernel;
    else if (key == "grid") words_of >> one.grid[0] >> one.grid[1] >> one.grid[2];
    else if (key == "block") words_of >> one.block[0] >> one.block[1] >> one.block[2];
    else if (key == "shared") words_of >> one.shared;
    else if (key == "repeat") words_of >> one.repeat >> one.grows;
    else if (key == "variants") one.variants = line;
    else if (key == "cubin") words_of >> one.cubin;
    else if (key != "case" && key != "end") argument(one, key, words_of);
    if (key != "end") continue;
    if (one.file != loaded) {
      if (module) CU(cuModuleUnload(module));
      module = nullptr;
      module = compiled(read_file(folder + "/" + one.file));
      loaded = one.file;
    }
    CU(cuMemsetD8Async(windows, 0, kWindow * std::max<std::size_t>(1, one.buffers.size()), stream));
    CU(cuStreamSynchronize(stream));
    run(one, module);
    alarm(0);
  }
  return 0;
}
