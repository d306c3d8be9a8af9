#include "interposer/products/call.h"

namespace cotenant {

__constinit thread_local ProductCall* product_call = nullptr;

bool note_product_launch(const Submission& submission) noexcept {
  ProductCall& call = *product_call;
  if (submission.kind == Submission::Kind::kCopy && submission.bus == Bus::kNone) {
    ++call.copies;
  } else if (submission.kind == Submission::Kind::kKernel && submission.shape &&
             call.launches < ProductCall::kMaxLaunches) {
    call.launched[call.launches++] = *submission.shape;
  } else {
    call.other = true;
    ++call.launches;
  }
  return call.asking;
}

}  // namespace cotenant
