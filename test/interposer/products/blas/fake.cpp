// Multiplies nothing: every product launches a kernel that adds, to the first element of each part of the result that
// it was asked for, how many columns (or matrices) that part has. So a product done once has all its columns once.
#include "fake.h"

#include <dlfcn.h>

#include <algorithm>

#include "driver/abi.h"

using namespace cotenant::cu;

extern "C" FakeBlas fake_blas;
FakeBlas fake_blas;

namespace {

constexpr const char* kKernels = R"(
.version 7.8
.target sm_70
.address_size 64
//! soft ns=p2 effect=add(p0, p1)
.visible .entry fake_gemm_32x128(.param .u64 at, .param .u32 value, .param .u64 ns) { ret; }
//! soft ns=p2 effect=add(p0, p1)
.visible .entry fake_gemm_16x16(.param .u64 at, .param .u32 value, .param .u64 ns) { ret; }
//! soft ns=p0
.visible .entry fake_reduce(.param .u64 ns) { ret; }
)";
constexpr std::int64_t kSms = 132;

template <class Function>
Function driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(library, name));
}

struct Kernels {
  CUfunction gemm, other, reduce;
  Kernels() {
    CUmodule module = nullptr;
    const auto get = driver<CUresult (*)(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction");
    driver<CUresult (*)(CUmodule*, const void*)>("cuModuleLoadData")(&module, kKernels);
    get(&gemm, module, "fake_gemm_32x128");
    get(&other, module, "fake_gemm_16x16");
    get(&reduce, module, "fake_reduce");
  }
};

void launch(CUfunction function, unsigned x, unsigned y, unsigned z, void** parameters) {
  using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              CUstream, void**, void**);
  driver<Launch>("cuLaunchKernel")(function, x, y, z, 256, 1, 1, 0, static_cast<CUstream>(fake_blas.stream), parameters,
                                   nullptr);
}

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

extern "C" {

enum Algorithm { kOther, kThis, kTwoKernels, kNone };

static int product(std::int64_t m, std::int64_t n, std::int64_t batch, const void* a, const void* b, void* c,
                   Algorithm chosen = kNone) {
  FakeBlas& fake = fake_blas;
  static Kernels kernels;
  const int call = __atomic_fetch_add(&fake.calls, 1, __ATOMIC_RELAXED);
  if (call < 4096) fake.call[call] = {n, batch, a, b, c};
  if (fake.status != 0) return fake.status;
  const auto rows = static_cast<unsigned>(divided_up(m, kTileRows));
  const auto columns = static_cast<unsigned>(divided_up(n, kTileColumns));
  const std::int64_t tiles = std::int64_t{rows} * columns * batch;
  auto at = reinterpret_cast<std::uint64_t>(c);
  auto value = static_cast<unsigned>(batch > 1 ? batch : n);
  std::uint64_t ns = static_cast<std::uint64_t>(divided_up(tiles, kSms)) * fake.ns_per_wave + fake.more_ns;
  void* parameters[] = {&at, &value, &ns};
  const bool other = chosen == kNone ? n < fake.other_kernel_below : chosen == kOther;
  const bool two = chosen == kNone ? fake.second_kernel : chosen == kTwoKernels;
  const CUfunction kernel = other ? kernels.other : kernels.gemm;
  if (fake.loops) launch(kernel, static_cast<unsigned>(std::min(tiles, kSms)), 1, 1, parameters);
  else launch(kernel, rows, columns, static_cast<unsigned>(batch), parameters);
  std::uint64_t short_ns = 1000;
  void* of_reduce[] = {&short_ns};
  if (two) launch(kernels.reduce, 1, 1, 1, of_reduce);
  return 0;
}

int cublasGemmEx(void*, int, int, int m, int n, int, const void*, const void* a, int, int, const void* b, int, int,
                 const void*, void* c, int, int, int, int) {
  return product(m, n, 1, a, b, c);
}

int cublasGemmStridedBatchedEx(void*, int, int, int m, int n, int, const void*, const void* a, int, int, long long,
                               const void* b, int, int, long long, const void*, void* c, int, int, long long, int batch,
                               int, int) {
  return product(m, n, batch, a, b, c);
}

// cublasLt: layouts are ours, so these need not look like the real ones.
struct Layout {
  std::uint32_t type;
  std::int32_t order;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int32_t batch;
  std::int64_t stride;
  std::int32_t mode;  // of batches: 0, at a stride
};
struct Description {
  std::int32_t transa, transb;
  std::uint32_t epilogue;
  std::int32_t pointer_mode;
};

int cublasGetStream_v2(void*, void** stream) {
  *stream = fake_blas.stream;
  return 0;
}
int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return 0;
}
int cublasLtMatmulDescCreate(void** description, int, int) {
  *description = new Description{0, 0, 1, 0};
  return 0;
}
int cublasLtMatmulDescDestroy(void* description) {
  delete static_cast<Description*>(description);
  return 0;
}
int cublasLtMatmulDescSetAttribute(void* at, int attribute, const void* value, std::size_t) {
  auto* description = static_cast<Description*>(at);
  if (attribute == 3) description->transa = *static_cast<const std::int32_t*>(value);
  if (attribute == 4) description->transb = *static_cast<const std::int32_t*>(value);
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void* at, int attribute, const void* value, std::size_t) {
  if (attribute == 5) static_cast<Layout*>(at)->batch = *static_cast<const std::int32_t*>(value);
  if (attribute == 6) static_cast<Layout*>(at)->stride = *static_cast<const std::int64_t*>(value);
  if (attribute == 8) static_cast<Layout*>(at)->mode = *static_cast<const std::int32_t*>(value);
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new int;
  return 0;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<int*>(preference);
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) { return 0; }

struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int most, void* into,
                                   int* returned) {
  *returned = fake_blas.algorithms ? std::min(most, 3) : 0;
  for (int i = 0; i < *returned; ++i) {
    Heuristic& result = static_cast<Heuristic*>(into)[i];
    result = {};
    result.algorithm[0] = static_cast<std::uint64_t>(i);
    result.workspace = i == kTwoKernels ? 1u << 20 : 0;
  }
  return 0;
}

int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  *layout = new Layout{static_cast<std::uint32_t>(type), 0, rows, columns, ld, 1, 0, 0};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return 0;
}
int cublasLtMatrixLayoutGetAttribute(void* at, int attribute, void* into, std::size_t, std::size_t*) {
  const auto* layout = static_cast<const Layout*>(at);
  switch (attribute) {
    case 0: *static_cast<std::uint32_t*>(into) = layout->type; return 0;
    case 1: *static_cast<std::int32_t*>(into) = layout->order; return 0;
    case 2: *static_cast<std::uint64_t*>(into) = layout->rows; return 0;
    case 3: *static_cast<std::uint64_t*>(into) = layout->columns; return 0;
    case 4: *static_cast<std::int64_t*>(into) = layout->ld; return 0;
    case 5: *static_cast<std::int32_t*>(into) = layout->batch; return 0;
    case 6: *static_cast<std::int64_t*>(into) = layout->stride; return 0;
    case 8: *static_cast<std::int32_t*>(into) = layout->mode; return 0;
    default: return 7;
  }
}
int cublasLtMatmulDescGetAttribute(void* at, int attribute, void* into, std::size_t, std::size_t*) {
  const auto* description = static_cast<const Description*>(at);
  switch (attribute) {
    case 0: *static_cast<std::int32_t*>(into) = 68; return 0;
    case 2: *static_cast<std::int32_t*>(into) = description->pointer_mode; return 0;
    case 3: *static_cast<std::int32_t*>(into) = description->transa; return 0;
    case 4: *static_cast<std::int32_t*>(into) = description->transb; return 0;
    case 5: *static_cast<std::int32_t*>(into) = 0; return 0;
    case 7: *static_cast<std::uint32_t*>(into) = description->epilogue; return 0;
    default: return 7;
  }
}
int cublasLtMatmul(void*, void* at, const void*, const void* a, void*, const void* b, void* b_layout, const void*,
                   const void* c, void* c_layout, void* d, void* d_layout, const void* algorithm, void* workspace,
                   std::size_t, void*) {
  const auto* layout = static_cast<const Layout*>(d_layout);
  const auto* factor = static_cast<const Layout*>(b_layout);
  const auto* description = static_cast<const Description*>(at);
  const bool agree = static_cast<const Layout*>(c_layout)->columns == layout->columns && c == d &&
                     (description->transb ? factor->rows : factor->columns) == layout->columns;
  const auto chosen = algorithm ? static_cast<Algorithm>(*static_cast<const std::uint64_t*>(algorithm)) : kNone;
  if (chosen == kTwoKernels && !workspace) return 7;
  if (algorithm) fake_blas.workspace = reinterpret_cast<std::uint64_t>(workspace);
  return agree ? product(static_cast<std::int64_t>(layout->rows), static_cast<std::int64_t>(layout->columns),
                         layout->batch, a, b, d, chosen)
               : 7;
}

}  // extern "C"
