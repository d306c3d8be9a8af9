#include "interposer/calls/forks.h"

#include "interposer/best_effort/chunk_log.h"
#include "interposer/graphs/stoppable_graphs.h"
#include "interposer/high/holding.h"
#include "interposer/high/requests.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lifetime/gang.h"
#include "interposer/lifetime/helper.h"
#include "interposer/parking/parking.h"
#include "interposer/quota/graph_memory.h"
#include "interposer/quota/quota.h"
#include "interposer/record/tape.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"
#include "interposer/variants/variants.h"

namespace cotenant {
namespace {

void in_child() {
  chunk_log::forget();
  forget_gpus();
  forget_holding();
  forget_report();
  forget_streams();
  forget_captures();
  forget_graphs();
  forget_gang();
  forget_attachments();
  forget_helper();
  forget_variants();
  quota_forget();
  forget_graph_memory();
  forget_parking();
}

// The function that glibc's pthread_atfork calls. It is weak, because musl does not have it and would not start a
// program without it.
extern "C" __attribute__((weak)) int __register_atfork(void (*before)(), void (*parent)(), void (*child)(),
                                                       void* object);
extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

}  // namespace

void expect_forks(Role role) noexcept {
  if (__register_atfork)
    __register_atfork(nullptr, nullptr, role == Role::kRecord ? record::in_child : in_child, __dso_handle);
}

}  // namespace cotenant
