#include "interposer/calls/launches.h"

namespace cotenant {

namespace {

// The application's function; one of the two is set.
struct Wanted {
  cu::CUhostFn function;
  cu::CUstreamCallback callback;
  void* data;
};

}  // namespace

struct HostCall {
  std::atomic<bool> taken{false};
  Stream* stream{nullptr};
  std::uint64_t upto{0};
  std::uint64_t at_ns{0};  // when it was submitted
  Wanted wanted{};
};

namespace {

// A fixed pool. If no entry is free, a host function goes to the driver unwrapped.
constexpr std::uint32_t kHostCalls = 1024;
HostCall pool[kHostCalls];
std::atomic<std::uint32_t> next{0};

HostCall* take(cu::CUstream handle, NullStream meaning, const BehindOthers& order) noexcept {
  if (role() != Role::kHigh || is_capturing(handle, meaning)) return nullptr;
  Stream* stream = stream_of(handle, meaning);
  if (!stream) return nullptr;
  for (int tries = 0; tries < 8; ++tries) {
    HostCall& call = pool[next.fetch_add(1, std::memory_order_relaxed) % kHostCalls];
    if (call.taken.exchange(true, std::memory_order_acquire)) continue;
    call.stream = stream;
    call.upto = order.settled(*stream);
    call.at_ns = now_ns();
    return &call;
  }
  return nullptr;
}

// When a host function runs, all earlier work of its stream is complete. Driver calls are not allowed in it.
Wanted finish(void* wrapped) noexcept {
  auto* call = static_cast<HostCall*>(wrapped);
  const Wanted wanted = call->wanted;
  high_observe_unseen(*call->stream, call->upto, call->at_ns);
  unwrap(call);
  return wanted;
}

}  // namespace

HostCall* wrap_host_function(cu::CUstream stream, NullStream meaning, cu::CUhostFn function, void* data,
                             const BehindOthers& order) noexcept {
  HostCall* call = take(stream, meaning, order);
  if (!call) return nullptr;
  call->wanted = {function, nullptr, data};
  return call;
}

HostCall* wrap_callback(cu::CUstream stream, NullStream meaning, cu::CUstreamCallback callback, void* data,
                        const BehindOthers& order) noexcept {
  HostCall* call = take(stream, meaning, order);
  if (!call) return nullptr;
  call->wanted = {nullptr, callback, data};
  return call;
}

void run_host_function(void* wrapped) {
  const Wanted call = finish(wrapped);
  call.function(call.data);
}

void run_callback(cu::CUstream stream, cu::CUresult status, void* wrapped) {
  const Wanted call = finish(wrapped);
  call.callback(stream, status, call.data);
}

void unwrap(HostCall* wrapped) noexcept { wrapped->taken.store(false, std::memory_order_release); }

}  // namespace cotenant
