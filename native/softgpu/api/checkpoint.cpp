// Checkpoints of this process: its memory and its contexts leave the devices, and come back later, possibly to others.
// Only a process itself can call them here; the driver's can be called on any process.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

// Bytes on each device, while the process is checkpointed.
std::uint64_t saved[kMaxDevices];
bool lost = false;  // a restore has failed

CUresult check(const Call& call, int pid) {
  if (call.error != CUDA_SUCCESS) return call.error;
  if (!call.d.initialised) return CUDA_ERROR_NOT_INITIALIZED;
  return pid == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

template <class Use>
void each_root(Driver& d, Use use) {
  for (Context* context : d.contexts)
    if (context->alive && context->root == context) use(*context);
}

void set_state(Driver& d, CUprocessState state) {
  d.process_state = state;
  d.runs.notify_all();
}

unsigned number_of(Driver& d, const CUuuid& uuid) {
  unsigned index = 0;
  const unsigned devices = d.region.shared().devices.load();
  while (index < devices && std::memcmp(d.region.device(index).uuid, uuid.bytes, sizeof uuid.bytes) != 0) ++index;
  return index;
}

// As the driver has it, the pairs must be a permutation of all devices. Pairs of other machines' devices are ignored.
bool read_pairs(Driver& d, const CUcheckpointRestoreArgs* args, unsigned (&now_at)[kMaxDevices]) {
  for (unsigned i = 0; i < kMaxDevices; ++i) now_at[i] = i;
  if (args == nullptr || args->gpuPairsCount == 0) return true;
  const unsigned devices = d.region.shared().devices.load();
  bool from[kMaxDevices] = {};
  bool to[kMaxDevices] = {};
  for (unsigned i = 0; i < args->gpuPairsCount; ++i) {
    const unsigned before = number_of(d, args->gpuPairs[i].oldUuid);
    const unsigned after = number_of(d, args->gpuPairs[i].newUuid);
    if (before == devices || after == devices || from[before] || to[after]) return false;
    from[before] = to[after] = true;
    now_at[before] = after;
  }
  return std::all_of(from, from + devices, [](bool named) { return named; });
}

// All or nothing.
bool charge_again(Region& region) {
  for (unsigned device = 0; device < kMaxDevices; ++device) {
    if (saved[device] == 0 || region.charge(device, saved[device])) continue;
    while (device-- > 0) region.discharge(device, saved[device]);
    return false;
  }
  return true;
}

}  // namespace

CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
  const Call call(Call::Needs::nothing);
  const CUresult error = check(call, pid);
  if (error != CUDA_SUCCESS || state == nullptr) return error != CUDA_SUCCESS ? error : CUDA_ERROR_INVALID_VALUE;
  *state = call.d.process_state;
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs*) {
  const Call call(Call::Needs::nothing);
  const CUresult error = check(call, pid);
  if (error != CUDA_SUCCESS) return error;
  // A driver does not checkpoint clients of MPS.
  if (call.d.settings.refuses_checkpoints || call.d.settings.mps) return CUDA_ERROR_NOT_SUPPORTED;
  if (call.d.process_state != CU_PROCESS_STATE_RUNNING) return CUDA_ERROR_ILLEGAL_STATE;
  set_state(call.d, CU_PROCESS_STATE_LOCKED);
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs*) {
  Call call(Call::Needs::nothing);
  const CUresult error = check(call, pid);
  if (error != CUDA_SUCCESS) return error;
  Driver& d = call.d;
  if (d.process_state != CU_PROCESS_STATE_LOCKED) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<Ticket> tickets;
  each_root(d, [&](Context& context) {
    for (Ticket& ticket : everything(context)) tickets.push_back(std::move(ticket));
  });
  d.engine.wait(call.lock, std::move(tickets));
  each_root(d, [&](Context& context) { d.region.release_context(context.device, context.slot); });
  for (unsigned device = 0; device < kMaxDevices; ++device) {
    saved[device] = d.region.own_bytes(device);
    d.region.discharge(device, saved[device]);
  }
  set_state(d, CU_PROCESS_STATE_CHECKPOINTED);
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* args) {
  const Call call(Call::Needs::nothing);
  const CUresult error = check(call, pid);
  if (error != CUDA_SUCCESS) return error;
  Driver& d = call.d;
  if (d.process_state != CU_PROCESS_STATE_CHECKPOINTED) return CUDA_ERROR_ILLEGAL_STATE;
  unsigned now_at[kMaxDevices];
  if (!read_pairs(d, args, now_at)) return CUDA_ERROR_INVALID_VALUE;
  d.region.exchange(now_at);
  // As driver 580: it still says that the process is checkpointed, which can never go on.
  if (lost) return CUDA_ERROR_OPERATING_SYSTEM;
  lost = d.settings.loses_checkpoints || !charge_again(d.region);
  if (lost) return CUDA_ERROR_OUT_OF_MEMORY;
  each_root(d, [&](Context& context) { context.slot = unsigned(std::max(0, d.region.claim_context(context.device))); });
  set_state(d, CU_PROCESS_STATE_LOCKED);
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs*) {
  const Call call(Call::Needs::nothing);
  const CUresult error = check(call, pid);
  if (error != CUDA_SUCCESS) return error;
  if (call.d.process_state != CU_PROCESS_STATE_LOCKED) return CUDA_ERROR_ILLEGAL_STATE;
  set_state(call.d, CU_PROCESS_STATE_RUNNING);
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
