#include "interposer/calls/forks.h"

#include <pthread.h>

#include "interposer/best_effort/chunk_log.h"
#include "interposer/graphs/stoppable_graphs.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lifetime/gang.h"
#include "interposer/lifetime/helper.h"
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
  forget_streams();
  forget_captures();
  forget_graphs();
  forget_gang();
  forget_attachments();
  forget_helper();
  forget_variants();
  quota_forget();
  forget_graph_memory();
}

}  // namespace

void expect_forks(Role role) noexcept {
  pthread_atfork(nullptr, nullptr, role == Role::kRecord ? record::in_child : in_child);
}

}  // namespace cotenant
