#include "interposer/lookup/beside_captures.h"

#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

void exchange_mode(cu::CUstreamCaptureMode& mode) noexcept {
  if (real().cuThreadExchangeStreamCaptureMode) static_cast<void>(real().cuThreadExchangeStreamCaptureMode(&mode));
}

}  // namespace

BesideCaptures::BesideCaptures() noexcept : mode_(cu::CU_STREAM_CAPTURE_MODE_RELAXED) { exchange_mode(mode_); }
BesideCaptures::~BesideCaptures() { exchange_mode(mode_); }

}  // namespace cotenant
