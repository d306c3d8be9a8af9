#pragma once
// The engine of the device in this process: moves work from queues through SMs and copy engines to completion.
//
// pump(now) handles all events up to now in the order of their nominal times. A late call therefore changes when the CPU
// learns of a completion, never what the GPU did. Any thread may pump while it holds
// the driver's mutex: a submitting thread starts its kernel itself, a waiting thread spins for its own deadline. The
// engine's thread only sleeps until the next event and pumps; it uses no CPU while nothing is queued.
#include <deque>
#include <mutex>
#include <vector>

#include "softgpu/device/region.h"
#include "softgpu/device/trace.h"
#include "softgpu/engine/context.h"

namespace cotenant::soft {

class Engine {
 public:
  Engine(std::mutex& mutex, Region& region) : mutex_(mutex), region_(region) {}

  void start(const Settings& settings);  // the threads; called once, by the first context
  void add(Context* context) { contexts_.push_back(context); }
  void remove(Context* context);  // and drops whatever it still has queued

  void enqueue(Stream& stream, std::unique_ptr<Operation> operation);
  void pump(Nanos now);

  // Sleeps until all tickets are complete. `lock` holds the driver's mutex.
  void wait(std::unique_lock<std::mutex>& lock, std::vector<Ticket> tickets);

  Trace& trace() { return trace_; }

 private:
  // One per direction and device; a copy waits for those before it.
  struct CopyEngine {
    std::deque<Unit*> queue;  // the front one is running
    Nanos free = 0;
  };

  // streams (streams.cpp)
  void advance_all();
  bool advance(Stream& stream);
  void begin(Operation& operation, Nanos ready);
  void begin(Unit& unit);
  void finish(Unit& unit, Nanos end);
  void retire(Context& context);

  // work (perform.cpp)
  void poll(Unit& unit, Nanos at);  // words, awaits, records, releases: done, or parked
  bool run_words(Unit& unit);
  void poll_parked(Nanos now);
  void to_helper(Unit& unit);
  void help();

  // kernels (schedule.cpp)
  void queue_kernel(Context& root, Unit& unit);
  void schedule(Context& context, Nanos now);
  void schedule_slices(Context& context, Nanos now);
  void follow_turn(Context& context);
  void freeze(Context& context, Nanos at);
  void start_fitting(Context& context, bool shared);
  bool reserve_shared(Context& context, const Unit& unit, unsigned sms);
  void take_from_stopped(const Context& root);
  void count_busy(Context& context, Nanos at);
  void arrive(Unit& unit, unsigned phase, Nanos at);
  void meet();
  void stop_where_asked(Nanos at);
  void end_kernel(Context& context, Unit& unit);
  [[nodiscard]] Nanos slice_event(Context& context);

  // copies (perform.cpp)
  void queue_copy(Unit& unit, unsigned device, Direction direction);
  void start_copy(CopyEngine& copier);

  bool play_next(Nanos now);
  [[nodiscard]] Nanos next_event(Nanos now);
  void rethink();
  void run();
  [[nodiscard]] Nanos earliest(const Waiter& waiter) const;
  void wake_waiters();

  std::mutex& mutex_;
  Region& region_;
  Trace trace_;
  bool started_ = false;
  bool mps_ = false;
  int client_priority_ = 0;
  std::vector<Context*> contexts_;
  CopyEngine copiers_[kMaxDevices][3];
  std::vector<Unit*> parked_;
  std::vector<Waiter*> waiters_;
  std::deque<Unit*> helper_queue_;
  Condition helper_bell_;
  Unit* helping_ = nullptr;  // the one the helper works on, mutex released
  Condition helped_;
  Nanos parked_since_ = 0;
  Nanos reaped_ = 0;
  unsigned driving_ = 0;  // waiters that will pump in time themselves
  Nanos planned_ = 0;  // when the engine's thread means to wake
  bool sleeping_ = false;
};

// The data a copy or fill moves, and a kernel's effect; perform.cpp. No lock needed.
void move(const CopyWork& copy);
void move(const FillWork& fill);
void apply(const Effect& effect);

}  // namespace cotenant::soft
