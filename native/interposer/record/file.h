// The recording as a file: one JSON document, written whole under another name and renamed.
#pragma once

#include "interposer/record/tape.h"

namespace cotenant::record {

// At the first step: from now on the file is written when the process exits, or is told to by SIGTERM
// or SIGINT where it has no handler of its own.
void expect_end() noexcept;
void forget_end() noexcept;  // in a forked child
// Asks the driver nothing, which may be gone, and waits for no lock, allocates nothing: whoever exits in a signal's
// handler may have interrupted the driver or malloc.
void write_file(const Tape& tape) noexcept;

}  // namespace cotenant::record
