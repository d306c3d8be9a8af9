#pragma once
// Streams and their queues. An operation is one piece of work or one graph launch. A stream's operations are numbered from
// 1 and run in order. A ticket names an operation and stands for all work of its stream up to there.
#include <deque>
#include <memory>
#include <vector>

#include "softgpu/engine/condition.h"
#include "softgpu/engine/work.h"

namespace cotenant::soft {

struct Context;
struct Capture;
struct Node;
struct Stream;
struct Operation;

struct Ticket {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;
  [[nodiscard]] bool is_complete() const;
};

// One piece of work on its way through the device.
struct Unit {
  enum class State { waiting, pending, running, moving, calling, parked, done };
  Operation* operation = nullptr;
  const Work* work = nullptr;
  unsigned step = 0;
  unsigned before = 0;  // steps still to finish first
  State state = State::waiting;
  bool blocked = false;  // found too few SMs free when it was ready
  bool moved = false;  // of a copy: its bytes are where they belong
  bool stopped = false;  // of a resumable kernel: before its last block
  bool apart = false;  // of a kernel with a meeting: has arrived at `phase`, and others have not; its end is kNever
  unsigned phase = 0;
  unsigned sms = 0;  // while running
  unsigned word = 0;  // WordsWork: the next one
  Nanos ready = 0;
  Nanos begin = 0;
  Nanos end = 0;
  Nanos remaining = 0;  // of a kernel, when it begins and while its context has no turn
  std::shared_ptr<Mark> mark;
};

struct Operation {
  Stream* stream = nullptr;
  std::uint64_t number = 0;
  Nanos enqueued = 0;
  std::vector<Ticket> after;
  Work work;  // used if plan is null
  std::shared_ptr<const Plan> plan;
  const char* name = "";  // of a graph launch
  std::vector<std::pair<unsigned, std::shared_ptr<Mark>>> marks;  // of a plan's records and awaits, by step
  std::vector<Unit> units;
  std::size_t left = 0;
  bool begun = false;
  Nanos end = 0;
  [[nodiscard]] bool takes_place() const { return plan || soft::takes_place(work); }
};

struct Stream : std::enable_shared_from_this<Stream> {
  Context* context = nullptr;  // a green one for green streams
  CUstream handle = nullptr;
  std::uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool blocking = true;  // synchronises with the context's legacy stream
  bool legacy = false;
  bool detached = false;  // its handle is gone; it still drains

  std::deque<std::unique_ptr<Operation>> queue;
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  unsigned places = 0;  // in the queue: what takes one (work.h)
  Nanos ready = 0;  // when the last completed operation ended

  std::shared_ptr<Capture> capture;
  std::vector<Node*> tail;  // of a capture: what the next node depends on
  CUstreamAttrValue policy{};

  [[nodiscard]] bool is_idle() const { return completed == submitted; }
  Ticket last() { return {shared_from_this(), submitted}; }
};

inline bool Ticket::is_complete() const { return !stream || stream->completed >= number; }

struct Event {
  unsigned flags = 0;
  std::shared_ptr<Mark> mark;  // of the last record; null: never recorded, which counts as done
  std::shared_ptr<Capture> capture;  // the last record was made in this capture
  std::vector<Node*> nodes;  // there: what it stands for
};

// A thread that sleeps until its tickets are complete.
struct Waiter {
  std::vector<Ticket> tickets;
  Condition woken;
  [[nodiscard]] bool is_satisfied() const {
    for (const Ticket& ticket : tickets) {
      if (!ticket.is_complete()) return false;
    }
    return true;
  }
};

}  // namespace cotenant::soft
