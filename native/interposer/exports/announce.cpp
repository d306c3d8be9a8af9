// The functions that a program may call itself (include/cotenant.h): it announces a request, tells how its requests get on,
// or says that it starts up or serves.
#include "include/cotenant.h"

#include <algorithm>

#include "interposer/base/clock.h"
#include "interposer/high/holding.h"
#include "interposer/high/requests.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/helper_state.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kLongestUs = 100'000;  // an announcement that no request follows ends after this

// Null: the current GPU is unknown. Unlike current_context() this never attaches, which may take some time.
Gpu* current_gpu() noexcept {
  cu::CUcontext handle = nullptr;
  if (!real().cuCtxGetCurrent || real().cuCtxGetCurrent(&handle) != cu::CUDA_SUCCESS || !handle) return nullptr;
  const Context* context = context_of(handle);
  return context ? context->gpu.get() : nullptr;
}

void announce(std::uint32_t us) noexcept {
  const std::uint64_t until = now_ns() + std::uint64_t{std::min(us, kLongestUs)} * 1000;
  bool news = false;
  if (Gpu* gpu = current_gpu()) news = high_announce(*gpu, until);
  else
    for (std::uint32_t i = 0; i < gpu_count(); ++i) news = high_announce(gpu_at(i), until) || news;
  if (news) wake_helper();
}

}  // namespace
}  // namespace cotenant

// Uses the role only if it has been decided: a process that has never asked for the driver stays unchanged. Without the
// helper thread nobody would end an announcement.
extern "C" void cotenant_announce(unsigned int microseconds) {
  using namespace cotenant;
  if (decided_role.load(std::memory_order_relaxed) != Role::kHigh) return;
  if (microseconds > 0 && gpu_count() > 0 && helper_runs()) announce(microseconds);
}

extern "C" cotenant_request cotenant_request_begin(void) { return cotenant::request_begins(cotenant::now_ns()); }
extern "C" cotenant_request cotenant_request_began(unsigned long long microseconds_ago) {
  constexpr unsigned long long kMaxAgoUs = 3'600'000'000;
  const std::uint64_t now = cotenant::now_ns();
  return cotenant::request_begins(now - std::min<std::uint64_t>(now, 1000 * std::min(microseconds_ago, kMaxAgoUs)));
}
extern "C" void cotenant_request_progress(cotenant_request request, unsigned int units) {
  cotenant::request_progresses(request, units, cotenant::now_ns());
}
extern "C" void cotenant_request_end(cotenant_request request) { cotenant::request_ends(request, cotenant::now_ns()); }
extern "C" void cotenant_request_fail(cotenant_request request) { cotenant::request_fails(request); }

extern "C" void cotenant_starting(void) { cotenant::high_starts(); }
extern "C" void cotenant_ready(void) { cotenant::high_serves(); }
