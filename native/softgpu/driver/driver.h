#pragma once
// The driver in this process: all objects that handles name, behind one mutex, and the guard with which each entry
// point begins. Made at first use and never destroyed, because threads may still call it while the process exits.
#include <pthread.h>

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "softgpu/device/memory.h"
#include "softgpu/driver/code.h"
#include "softgpu/driver/graph.h"
#include "softgpu/engine/condition.h"
#include "softgpu/engine/context.h"
#include "softgpu/engine/engine.h"
#include "softgpu/entry/entries.h"
#include "softgpu/entry/thread_state.h"

namespace cotenant::soft {

struct Array {
  std::uintptr_t base = 0;
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  std::size_t element = 0;  // bytes
  bool owned = true;        // not a level of a mipmapped array
};

struct MipmappedArray {
  std::vector<std::unique_ptr<Array>> levels;
};

struct PhysicalMemory {
  int file = -1;  // memfd
  std::size_t size = 0;
  CUmemAllocationProp properties{};
  unsigned references = 1;  // the handle's and one a mapping
};

// Which GPU may access a grain of mapped memory.
struct GrainAccess {
  CUmemAccess_flags of[kMaxDevices] = {};
};

struct Driver {
  Driver();
  ~Driver() = delete;  // never destroyed: see above

  std::mutex mutex;
  bool initialised = false;
  bool forked = false;   // a child made by fork after cuInit: the driver is not usable in it
  bool exiting = false;
  CUprocessState process_state = CU_PROCESS_STATE_RUNNING;  // api/checkpoint.cpp
  Condition runs;  // it is running again
  Settings settings;
  Region region;
  Memory memory;
  Engine engine;
  std::uint64_t ids = 0;

  struct Primary {
    Context* context = nullptr;
    Context* place = nullptr;  // of the first; later ones have the same handle, as the driver's
    unsigned references = 0;
    unsigned flags = 0;
  };
  Primary primary[kMaxDevices];

  std::unordered_set<Context*> contexts;  // dead ones too
  std::unordered_map<CUstream, std::shared_ptr<Stream>> streams;
  std::unordered_set<Event*> events;
  std::unordered_map<Module*, std::unique_ptr<Module>> modules;
  std::unordered_set<Function*> functions;
  std::unordered_map<Graph*, std::unique_ptr<Graph>> graphs;  // children of nodes too
  std::unordered_set<Node*> nodes;
  std::unordered_map<GraphExec*, std::unique_ptr<GraphExec>> execs;
  std::unordered_map<Array*, std::unique_ptr<Array>> arrays;
  std::unordered_map<MipmappedArray*, std::unique_ptr<MipmappedArray>> mipmaps;
  std::unordered_map<GreenContext*, std::unique_ptr<GreenContext>> greens;
  std::unordered_map<Pool*, std::unique_ptr<Pool>> pools;
  Pool* current_pool[kMaxDevices] = {};
  std::unordered_map<CUmemGenericAllocationHandle, PhysicalMemory> physical;
  std::unordered_map<std::uintptr_t, GrainAccess> access;  // by address
  std::vector<std::shared_ptr<Capture>> captures;  // all that are open
};

Driver& driver();

// A program may cancel a thread that is in a call. The thread ends after it: within it would leave a lock behind.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_{PTHREAD_CANCEL_ENABLE};
};

// Created at the start of every entry point: locks the mutex, and sets `error` if the call can't continue.
class Call {
 public:
  enum class Needs { nothing, init, context };
  explicit Call(Needs needs = Needs::context);

  const NotCancelled whole;
  CUresult error = CUDA_SUCCESS;
  Driver& d;
  Context* context = nullptr;  // current; not null after Needs::context without error
  std::unique_lock<std::mutex> lock;

  [[nodiscard]] bool has_device(CUdevice index) const { return index >= 0 && unsigned(index) < d.region.devices(); }
  // The stream a handle means in this call; null with `error` set: none.
  Stream* stream(CUstream handle);
  // The same, for a call that takes a place in the stream's queue: waits while that is full.
  Stream* stream_with_room(CUstream handle);
  void wait(std::vector<Ticket> tickets) {
    d.engine.wait(lock, std::move(tickets));
    wait_while_locked();
  }
  // While the process is locked or checkpointed, its calls block.
  void wait_while_locked();
  // Whether a capture forbids potentially unsafe calls now. If so, `error` is set and the capture breaks.
  bool is_unsafe_in_capture();
};

// Everything submitted to the context so far.
std::vector<Ticket> everything(Context& root);
// The work for which a wait for this stream waits: the legacy stream stands for all blocking ones.
std::vector<Ticket> everything(Stream& stream);

// Queues a work, or adds it to the stream's capture as a node; capture.cpp.
CUresult submit(Driver& d, Stream& stream, Work work);
CUresult submit_node(Driver& d, Stream& stream, CUgraphNodeType type, Work work);
// Queue work in the order that the legacy stream imposes; captures are not considered.
void enqueue(Driver& d, Stream& stream, Work work, std::vector<Ticket> after = {});
void enqueue_plan(Driver& d, Stream& stream, std::shared_ptr<const Plan> plan, const char* name, Ticket after);

// `place`: a dead context whose handle the new one gets.
Context* make_context(Driver& d, unsigned device, unsigned flags, unsigned api_version, CUresult& error,
                      Context* place = nullptr);
void destroy_context(Call& call, Context* context);
std::shared_ptr<Stream> make_stream(Driver& d, Context& context, unsigned flags, int priority);
const char* intern(const std::string& text);

template <class T, class H>
T* object(H handle) {
  return reinterpret_cast<T*>(handle);
}

}  // namespace cotenant::soft
