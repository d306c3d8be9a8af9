// NVIDIA's own occupancy calculator over lines of
//   major minor threads-per-SM shared-per-SM shared-per-block-opted-in reserved threads registers static dynamic
// one answer a line, -1 for what it refuses to answer.
#include <cuda_occupancy.h>
#include <climits>
#include <cstdio>

int main() {
  int major, minor, per_sm, threads, registers;
  unsigned long shared, opted_in, reserved, fixed, dynamic;
  while (std::scanf("%d %d %d %lu %lu %lu %d %d %lu %lu", &major, &minor, &per_sm, &shared, &opted_in, &reserved,
                    &threads, &registers, &fixed, &dynamic) == 10) {
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = per_sm;
    device.regsPerBlock = 65536;
    device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = opted_in;
    device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = INT_MAX;
    function.numRegs = registers;
    function.sharedSizeBytes = fixed;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = dynamic;
    function.numBlockBarriers = 1;
    cudaOccDeviceState state;
    cudaOccResult result;
    const auto error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic);
    std::printf("%d\n", error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1);
  }
}
