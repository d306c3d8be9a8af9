#include "interposer/parking/moving.h"

#include <pthread.h>

#include "interposer/movable/blocks.h"
#include "interposer/movable/movable.h"
#include "interposer/parking/host_pool.h"
#include "interposer/parking/parking.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using namespace cu;

pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;  // held while memory moves, or a context ends
std::atomic<std::uintptr_t> used_context{0};  // the one in which the pool is registered

}  // namespace

Moving::Moving() noexcept { pthread_mutex_lock(&moving); }
Moving::~Moving() { pthread_mutex_unlock(&moving); }

EndsMemory::EndsMemory() noexcept : held_(is_movable()) {
  if (held_) pthread_mutex_lock(&moving);
}
EndsMemory::~EndsMemory() {
  if (held_) pthread_mutex_unlock(&moving);
}

void parking_context_ended(CUcontext context) noexcept {
  if (!is_movable() || !context) return;
  movable_context_ended(context);
  each_block([&](Block& block) {
    if (block.context == context) block.context = nullptr;
    return true;
  });
  std::uintptr_t ended = reinterpret_cast<std::uintptr_t>(context);
  if (used_context.compare_exchange_strong(ended, 0)) pool_lost_context(is_parked());
}

void parking_context_joins(CUcontext green, CUcontext context) noexcept {
  if (!is_movable() || green == context) return;
  each_block([&](Block& block) {
    if (block.context == green) block.context = context;
    return true;
  });
  std::uintptr_t ended = reinterpret_cast<std::uintptr_t>(green);
  used_context.compare_exchange_strong(ended, reinterpret_cast<std::uintptr_t>(context));
}

CUcontext pool_context() noexcept {
  auto* known = reinterpret_cast<CUcontext>(used_context.load(std::memory_order_relaxed));
  if (!known)
    each_block([&](Block& block) {
      known = block.context;
      return !known;
    });
  if (Gpu* gpu = known ? nullptr : gpu_at_work()) known = primary_context(gpu->identity.ordinal);
  used_context.store(reinterpret_cast<std::uintptr_t>(known), std::memory_order_relaxed);
  return known;
}

void forget_moving() noexcept {
  pthread_mutex_init(&moving, nullptr);
  used_context.store(0, std::memory_order_relaxed);
}

}  // namespace cotenant
