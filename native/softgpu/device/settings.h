#pragma once
// All settings from the environment, read once at cuInit.
#include <string>

#include "softgpu/device/clock.h"

namespace cotenant::soft {

struct Settings {
  unsigned devices = 1;
  unsigned sms = 132;
  unsigned serial = 0;  // part of the UUIDs: devices of folders with different ones are not taken for each other
  unsigned compute_capability = 90;  // 10 * major + minor
  std::uint64_t memory = std::uint64_t{16} << 30;
  const char* visible = nullptr;  // CUDA_VISIBLE_DEVICES
  std::string directory;  // of the shared file
  std::string trace;      // file; empty: none
  bool refuses_edges = false;  // cuGraphAddDependencies fails, as a driver's may
  unsigned refused_registers = 0;  // so many calls of cuMemHostRegister fail
  bool refuses_clones = false;  // cuGraphClone fails
  bool refuses_checkpoints = false;  // cuCheckpointProcessLock fails
  bool loses_checkpoints =
      false;  // cuCheckpointProcessRestore fails, as if another process had taken the memory meanwhile
  unsigned queue = 1020;  // launches, copies and writes that a stream holds behind the one that runs, as an H200 does
  unsigned unmap_us = 0;  // how long cuMemUnmap takes
  bool mps = false;  // contexts of different processes run at the same instant
  unsigned thread_percentage = 100;  // of the SMs, for this process; mode mps
  int client_priority = 0;  // 0 normal, 1 below; mode mps
};

Settings read_settings();

}  // namespace cotenant::soft
