#include "interposer/parking/parking.h"

#include <algorithm>
#include <cstring>

#include "generated/protocol.h"
#include "interposer/base/clock.h"
#include "interposer/base/thread.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/lookup/unhooked.h"
#include "interposer/movable/blocks.h"
#include "interposer/movable/movable.h"
#include "interposer/movable/own_memory.h"
#include "interposer/parking/closing.h"
#include "interposer/parking/host_memory.h"
#include "interposer/parking/host_pool.h"
#include "interposer/parking/moving.h"
#include "interposer/parking/process_move.h"
#include "interposer/parking/transfer.h"
#include "interposer/state/current.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using namespace cu;
using protocol::ParkState;

constexpr std::uint32_t kLookUs = 5'000;
constexpr std::uint32_t kSeldomUs = 50'000;  // where only a command is looked for
constexpr std::uint64_t kQueueEndsNs = 10'000'000'000;  // queued work is about 10 ms, but a request may hold it
constexpr std::uint64_t kRetryNs = 100'000'000;  // memory that does not fit, or cannot be pinned now
constexpr std::uint64_t kServiceRetryNs = 5'000'000;

std::atomic<bool> started{false};
std::atomic<bool> agent_gone{false};
std::atomic<ParkState> state{ParkState::kOpen};

bool take(Block& block) noexcept { return block.own ? take_own(block) : take_pieces(block); }
CUresult make(Block& block) noexcept { return block.own ? make_own(block) : make_pieces(block); }

class Parking {
 public:
  void look() noexcept {
    Gpu* gpu = gpu_at_work();
    const Link* link = gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
    if (!link) return;
    if (role() == Role::kHigh) look_at_service(*gpu, *link);
    else obey(*gpu, *link);
    // Pinning takes a while, and the agent needs to know before what can be parked: a service is told its free memory by that.
    publish(*link);
    if (!is_movable() || is_checkpointed()) return;
    keep_pool_right();
    publish(*link);
  }

 private:
  void obey(Gpu& gpu, const Link& link) noexcept {
    auto& slot = link.memory();
    const std::uint32_t asked = slot.parkAsked.load(std::memory_order_acquire);
    // A wish of the last agent ends with it.
    if (agent_gone.exchange(false, std::memory_order_acq_rel)) ignored_ = asked;
    if ((asked & 1) == 0) ignored_ = dealt_with_ = 0;  // an agent to which the client is new counts from 0
    if (is_process_lost()) {
      become(slot, ParkState::kReturning);
      return answer(link, asked);
    }
    const bool park = (asked & 1) != 0 && asked != ignored_ && link.attached;
    if (!park && asked != ignored_ && link.attached && moves_on(gpu, slot, asked) && relocate(gpu, link)) return;
    if (park && is(ParkState::kReturning)) become(slot, ParkState::kParked);  // it has not fitted meanwhile
    if (park && asked != dealt_with_) park_memory(gpu, link, asked);
    if (!park && !is(ParkState::kOpen)) return_memory(gpu, link);
    if (!park && !is(ParkState::kOpen)) return;
    answer(link, asked);
  }

  // A reader of the answer also sees the memory that has been moved.
  void answer(const Link& link, std::uint32_t asked) noexcept {
    publish(link);
    link.memory().parkAnswered.store(asked, std::memory_order_release);
  }

  // It parks itself when it has been idle for long, and returns when a call wants its memory.
  void look_at_service(Gpu& gpu, const Link& link) noexcept {
    auto& slot = link.memory();
    const auto& own = link.high();
    const std::uint64_t now = now_ns();
    const std::uint64_t bursts = own.bursts.load(std::memory_order_relaxed);
    const std::uint64_t work = bursts + own.launches.load(std::memory_order_relaxed) +
                               own.copies.load(std::memory_order_relaxed) + movable_bytes().asked;
    if (work != work_ || own.busySince.load(std::memory_order_relaxed) != 0) idle_since_ = now;
    work_ = work;
    if (is(ParkState::kOpen)) {
      if (woken_ != 0 && bursts > bursts_) {
        slot.firstAnswerNs.store(now - woken_, std::memory_order_relaxed);
        slot.woken.fetch_add(1, std::memory_order_relaxed);
        woken_ = 0;
      }
      if (now - idle_since_ < environment().park_after_ns || movable_bytes().physical == 0) return;
      park_memory(gpu, link, 0);
      if (is(ParkState::kOpen)) idle_since_ = now;  // it is tried again as much later
      return;
    }
    if (wanted_since() == 0) return;
    woken_ = wanted_since();
    bursts_ = bursts;
    return_memory(gpu, link);
    if (is(ParkState::kOpen)) {
      idle_since_ = now_ns();
      slot.memoryWanted.store(0, std::memory_order_relaxed);
    }
    // Somebody has taken its place: the agent parks best-effort clients for it.
    else if (slot.memoryWanted.load(std::memory_order_relaxed) == 0)
      slot.memoryWanted.store(bytes_parked(), std::memory_order_relaxed);
  }

  static bool is(ParkState wanted) noexcept { return state.load(std::memory_order_relaxed) == wanted; }

  // Whether it is to go on with another GPU. A command is tried once.
  bool moves_on(const Gpu& gpu, const protocol::Movable& slot, std::uint32_t asked) noexcept {
    if (asked == moved_) return false;
    moved_ = asked;
    stays_ = {};
    to_.read(slot.moveTo);
    return to_.is_set() && !(to_ == gpu.identity.uuid);
  }

  // To the GPU `to_`. Its memory is on the host meanwhile. True: it is there, where the memory that was parked returns next.
  bool relocate(Gpu& gpu, const Link& link) noexcept {
    if (is(ParkState::kOpen)) park_memory(gpu, link, 0);
    stays_ = why_;
    if (is(ParkState::kOpen)) return false;
    stays_ = {};
    if (!saved_ && !take_process(gpu, link, true, stays_)) return false;
    saved_ = true;
    if (!bring_process_to(gpu, to_, stays_)) return false;
    saved_ = false;
    moved_ = 0;  // the agent there counts from 0
    retry_at_ = 0;
    return true;
  }

  void become(protocol::Movable& slot, ParkState next) noexcept {
    state.store(next, std::memory_order_relaxed);
    slot.parkState.store(static_cast<std::uint32_t>(next), std::memory_order_relaxed);
  }

  // Parks the client, or more of one that is parked.
  void park_memory(Gpu& gpu, const Link& link, std::uint32_t asked) noexcept {
    const Moving lock;
    auto& slot = link.memory();
    const std::uint64_t began = now_ns();
    const std::uint64_t bytes = slot.parkBytes.load(std::memory_order_relaxed);
    const bool was_open = is(ParkState::kOpen);
    become(slot, ParkState::kParking);
    why_ = {};
    dealt_with_ = asked;
    const bool moved = was_open ? leave_gpu(gpu, link, bytes) : saved_ || move_out(link, bytes);
    become(slot, moved || !was_open ? ParkState::kParked : ParkState::kOpen);
    if (moved && was_open) slot.parkedSinceNs.store(began, std::memory_order_relaxed);
    if (moved) slot.parkNs.store(now_ns() - began, std::memory_order_relaxed);
  }

  // By the driver's checkpoint where its memory is not movable, or cannot be parked and all of it is wanted.
  bool leave_gpu(Gpu& gpu, const Link& link, std::uint64_t bytes) noexcept {
    if (may_park(bytes) && fill_pool(bytes)) return close_and_move(gpu, link, bytes);
    if (bytes != 0 || role() == Role::kHigh) return false;
    Reason refused{};
    saved_ = take_process(gpu, link, false, refused);
    if (!saved_ && !is_movable()) why_ = refused;
    if (saved_) why_ = {};
    return saved_;
  }

  // Work that is not seen could not be waited for.
  bool may_park(std::uint64_t bytes) noexcept {
    if (choose_blocks(bytes) == 0) give_reason(why_, "it has no movable memory");
    else if (unhooked_calls() > 0) give_reason(why_, "it submits work by functions that Cotenant does not replace");
    else if ((caveats() & static_cast<std::uint32_t>(protocol::Caveat::kPastUs)) != 0)
      give_reason(why_, "it has loaded a library past Cotenant");
    else return true;
    return false;
  }

  // Host memory for what is to be parked, which is chosen here.
  bool fill_pool(std::uint64_t bytes) noexcept {
    const std::uint64_t needed = choose_blocks(bytes);
    const Current current(pool_context());
    while (pool_bytes() < needed)
      if (!pool_grow(needed, why_)) return false;
    return true;
  }

  bool close_and_move(Gpu& gpu, const Link& link, std::uint64_t bytes) noexcept {
    const bool closed = role() == Role::kHigh ? close_if_idle(gpu, why_) : close_for_moving(gpu, kQueueEndsNs, why_);
    if (!closed) return false;
    if (move_out(link, bytes)) return true;
    open_after_moving(gpu);
    return false;
  }

  bool move_out(const Link& link, std::uint64_t bytes) noexcept {
    // The program may have allocated since the pool was filled.
    if (!fill_pool(bytes)) return false;
    const Current current(pool_context());
    Pauses pauses(link);
    if (!current.is() || !copy_blocks_out(link, pauses)) {
      give_reason(why_, "the driver did not copy its memory");
      return false;
    }
    take_chosen(link, pauses);
    return true;
  }

  // A block that the driver does not take is still there with its content.
  static void take_chosen(const Link& link, Pauses& pauses) noexcept {
    const BesideCaptures beside;
    std::uint64_t parked = bytes_parked();
    each_block([&](Block& block) {
      if (block.leaves) pauses.let_requests_pass();
      if (block.leaves) block.parked = take(block);
      if (block.leaves && block.parked) parked += block.bytes;
      // Services are told what is free while this goes on.
      link.memory().parkedBytes.store(parked, std::memory_order_relaxed);
      block.leaves = false;
      return true;
    });
  }

  void return_memory(Gpu& gpu, const Link& link) noexcept {
    auto& slot = link.memory();
    const std::uint64_t began = now_ns();
    if (began < retry_at_) return;
    retry_at_ = began + (role() == Role::kHigh ? kServiceRetryNs : kRetryNs);
    become(slot, ParkState::kReturning);
    // Not under the lock: a thread that ends a context may hold it, and waits for the driver.
    if (saved_ && !bring_process(gpu, why_)) return;
    saved_ = false;
    const Moving lock;
    const CUcontext known = pool_context();
    // Own memory outlives the program's last context.
    const RetainedPrimary primary(known ? nullptr : &gpu.identity.ordinal);
    const Current current(known ? known : primary.context());
    if (!current.is() && movable_bytes().physical > 0) return;
    if (!make_all()) return;
    slot.parkedBytes.store(0, std::memory_order_relaxed);  // it has its place, though not its content
    why_ = {};
    publish_reason(slot);  // it fits: nobody need be parked for it
    if (!copy_blocks_in(link)) {
      give_reason(why_, "the driver does not copy its memory back");
      return;
    }
    each_block([](Block& block) {
      block.parked = false;
      return true;
    });
    slot.parkedSinceNs.store(0, std::memory_order_relaxed);
    slot.returnNs.store(now_ns() - began, std::memory_order_relaxed);
    become(slot, ParkState::kOpen);
    open_after_moving(gpu);
    retry_at_ = 0;
  }

  // All or nothing: what is made before the rest fits would only stand in the way of others.
  bool make_all() noexcept {
    const BesideCaptures beside;
    std::uint64_t needed = 0;
    bool all = true;
    each_block([&](Block& block) {
      if (!block.parked) return true;
      needed += block.bytes;
      if (!block.there) all = all && make(block) == CUDA_SUCCESS;
      return true;
    });
    if (all && restore_access() == CUDA_SUCCESS) return true;
    each_block([](Block& block) {
      if (block.parked) static_cast<void>(take(block));
      return true;
    });
    give_reason(why_, "its %.1f GiB do not fit now", static_cast<double>(needed) / (1 << 30));
    return false;
  }

  void keep_pool_right() noexcept {
    if (is(ParkState::kOpen)) keep_pool();
    else give_spare_pool();
  }

  void keep_pool() noexcept {
    drop_stale_pool();
    const std::uint64_t needed = movable_bytes().physical;
    const std::uint64_t have = pinned();
    if (have >= needed && have <= needed + needed / 4 + kSurplus) return;
    if (now_ns() < retry_at_) return;
    const Moving lock;
    const Current current(pool_context());
    if (!current.is()) return;
    if (have > needed) return pool_shrink(needed);
    Reason ignored{};
    if (!pool_grow(needed, ignored)) retry_at_ = now_ns() + 10 * kRetryNs;
  }

  // While it is parked in part, the rest of its pool is of no use to it. Where the host runs short of memory, another client may be
  // unable to pin what it needs to be parked, and this one would wait for its turn for ever.
  void give_spare_pool() noexcept {
    const std::uint64_t now = now_ns();
    if (!is(ParkState::kParked) || now < spare_at_) return;
    spare_at_ = now + kRetryNs;
    const Moving lock;
    const std::uint64_t used = pool_used();
    const std::uint64_t spare = pool_bytes() - std::min(pool_bytes(), used);
    if (spare < kSurplus || pool_is_stale() || !host_memory_is_short()) return;
    const Current current(pool_context());
    if (current.is()) pool_shrink(used + spare - std::min(spare, kGivenAtOnce));
  }

  void publish(const Link& link) noexcept {
    auto& slot = link.memory();
    const MovableBytes bytes = movable_bytes();
    slot.movable.store(is_movable() ? 1 : 0, std::memory_order_relaxed);
    slot.unmovable.store(unmovable_kinds(), std::memory_order_relaxed);
    slot.movableBytes.store(bytes.physical, std::memory_order_relaxed);
    slot.movableAsked.store(bytes.asked, std::memory_order_relaxed);
    slot.parkedBytes.store(is(ParkState::kOpen) ? 0 : bytes_out(link), std::memory_order_relaxed);
    slot.byDriver.store(saved_ ? 1 : 0, std::memory_order_relaxed);
    // A thread that ends a context waits for the driver then, with the lock.
    if (!is_checkpointed()) slot.pinnedBytes.store(pinned(), std::memory_order_relaxed);
    slot.parkState.store(static_cast<std::uint32_t>(state.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    publish_reason(slot);
  }
  [[nodiscard]] std::uint64_t bytes_out(const Link& link) const noexcept {
    return saved_ ? link.best_effort().memoryUsed.load(std::memory_order_relaxed) : bytes_parked();
  }
  // People read it; the agent may read it while it is written.
  void publish_reason(protocol::Movable& slot) const noexcept {
    const Reason& told = why_.text[0] != '\0' ? why_ : stays_;
    std::memcpy(slot.parkReason, told.text, sizeof slot.parkReason);
  }

  // A context that ends takes the pool with it, in another thread.
  static std::uint64_t pinned() noexcept {
    const Moving alone;
    return pool_bytes();
  }
  static void drop_stale_pool() noexcept {
    const Moving alone;
    if (pool_is_stale()) pool_lost_context(false);
  }

  static constexpr std::uint64_t kSurplus = std::uint64_t{256} << 20;
  static constexpr std::uint64_t kGivenAtOnce = std::uint64_t{512} << 20;  // a command waits meanwhile
  std::uint32_t ignored_{0};
  std::uint32_t dealt_with_{0};  // the last command to park
  std::uint32_t moved_{0};  // the last command to return, perhaps to another GPU
  Uuid to_;
  Reason stays_{};  // why it is not on another GPU
  bool saved_{false};  // by the driver
  std::uint64_t retry_at_{0};
  std::uint64_t spare_at_{0};
  // State of a service.
  std::uint64_t work_{0};  // what it has submitted, as a number that grows
  std::uint64_t idle_since_{0};
  std::uint64_t woken_{0};  // since when a call has waited for its memory; 0: none that was not answered since
  std::uint64_t bursts_{0};  // when it woke
  Reason why_{};
};

void* run(void*) {
  static Parking parking;
  for (;; nap_us(is_movable() || is_parked() ? kLookUs : kSeldomUs)) parking.look();
}

}  // namespace

void start_parking() noexcept {
  if (!started.exchange(true) && !start_thread(run)) started.store(false);
}

void parking_lost_agent() noexcept { agent_gone.store(true, std::memory_order_release); }

bool is_parked() noexcept { return state.load(std::memory_order_relaxed) != ParkState::kOpen; }

std::uint64_t parked_bytes() noexcept {
  return state.load(std::memory_order_relaxed) == ParkState::kParked ? bytes_parked() : 0;
}

void forget_parking() noexcept {
  started.store(false, std::memory_order_relaxed);
  agent_gone.store(false, std::memory_order_relaxed);
  state.store(ParkState::kOpen, std::memory_order_relaxed);
  forget_checkpoint();
  forget_moving();
  forget_pool();
  forget_closing();
  forget_blocks();
  forget_movable();
  forget_own_memory();
}

}  // namespace cotenant
