#include "driver.h"

#include <dlfcn.h>

#include <string>

Driver cu;

void Driver::load() {
  void* library = nullptr;
  for (const char* path :
       {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1"}) {
    if ((library = dlopen(path, RTLD_NOW))) break;
  }
  if (!library) throw std::runtime_error("libcuda.so.1 cannot be loaded");
#define FN(name)                                                  \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name)); \
  if (!name) throw std::runtime_error("libcuda.so.1 has no " #name);
  DRIVER_FUNCTIONS(FN)
#undef FN
}

const char* error_name(CUresult code) {
  const char* name = nullptr;
  if (cu.cuGetErrorName) cu.cuGetErrorName(code, &name);
  return name ? name : "unknown error";
}

void check(CUresult code, const char* call) {
  if (code == CUDA_SUCCESS) return;
  throw CudaError(std::string(call) + ": " + error_name(code) + " (" + std::to_string(code) + ")");
}

// The multiply-adds keep x positive and finite; the store on a negative x only keeps them alive.
const char kPtx[] = R"ptx(
.version 7.8
.target sm_70
.address_size 64

.visible .entry burn(.param .u32 iterations, .param .u64 ticket, .param .u64 mark, .param .u32 value)
{
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<3>;
  .reg .f32 %f<4>;
  ld.param.u32 %r0, [iterations];
  ld.param.u64 %rd0, [ticket];
  mov.u32 %r1, %tid.x;
  cvt.rn.f32.u32 %f0, %r1;
  mov.f32 %f1, 0f3F7FBE77;
  mov.f32 %f2, 0f3F800000;
again:
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  fma.rn.f32 %f0, %f0, %f1, %f2;
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra again;
  setp.lt.f32 %p1, %f0, 0f00000000;
  @%p1 st.global.f32 [%rd0], %f0;
  setp.eq.u64 %p0, %rd0, 0;
  @%p0 bra finish;
  bar.sync 0;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra finish;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  membar.gl;
  atom.global.inc.u32 %r3, [%rd0], %r2;
  setp.ne.u32 %p0, %r3, %r2;
  @%p0 bra finish;
  ld.param.u64 %rd1, [mark];
  ld.param.u32 %r4, [value];
  st.volatile.global.u32 [%rd1], %r4;
  membar.sys;
finish:
  ret;
}

.visible .entry tiny(.param .u64 mark, .param .u32 value)
{
  .reg .pred %p<1>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<1>;
  ld.param.u64 %rd0, [mark];
  ld.param.u32 %r0, [value];
  setp.eq.u64 %p0, %rd0, 0;
  @%p0 bra finish;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra finish;
  st.volatile.global.u32 [%rd0], %r0;
  membar.sys;
finish:
  ret;
}

.visible .entry spin_ns(.param .u64 ns, .param .u64 out)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [ns];
  ld.param.u64 %rd1, [out];
  mov.u64 %rd2, %globaltimer;
  mov.u64 %rd3, %rd2;
  mov.u64 %rd6, 0x7fffffffffffffff;
again:
  mov.u64 %rd4, %globaltimer;
  sub.u64 %rd5, %rd4, %rd3;
  mov.u64 %rd3, %rd4;
  setp.eq.u64 %p0, %rd5, 0;
  @%p0 bra same;
  min.u64 %rd6, %rd6, %rd5;
same:
  sub.u64 %rd5, %rd4, %rd2;
  setp.lt.u64 %p1, %rd5, %rd0;
  @%p1 bra again;
  setp.eq.u64 %p0, %rd1, 0;
  @%p0 bra finish;
  st.global.u64 [%rd1], %rd6;
finish:
  ret;
}
)ptx";
