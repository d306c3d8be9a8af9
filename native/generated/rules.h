// Generated from src/policy/strict.ts by `npm run update`. Do not edit.
#pragma once

#include "generated/protocol.h"

namespace cotenant::protocol {

// The rules of the strict policy, in mode isolated, before any burst has been seen.
inline void set_strict_rules(Settings& rules) noexcept {
  rules.protect = 1;
  rules.isolated = 1;
  rules.paused = 0;
  rules.whenActive = 0;
  rules.smLimit = 0;
  rules.maxKernelUs = 0;
  rules.chunkUs = 200;
  rules.chunkLaunches = 16;
  rules.activeAheadUs = 0;
  rules.submitUs = 10000;
  rules.submitLaunches = 700;
  rules.kernelsOut = 0;
  rules.resumeDelayUs = 150;
  rules.turnUs = 5000;
  rules.trickleAfterUs = 250000;
  rules.trickleEveryUs = 10000;
  rules.unknownUs = 5000;
  rules.submission = 0;
  rules.sampleEvery = 64;
  rules.copyPieceBytes = 2097152;
  rules.wantKernels = 0;
  rules.budgetUs = 0;
  rules.launchEveryNs = 0;
  rules.besideEveryUs = 0;
  rules.preemptUs = 200;
  rules.graphGates = 2;
  rules.splitProductsUs = 200;
  rules.renewUs = 0;
  rules.shareAfterUs = 250000;
}

}  // namespace cotenant::protocol
