// The recording as a file: one JSON document, written whole under another name and renamed.
#pragma once

#include "interposer/record/tape.h"

namespace cotenant::record {

// Called at the first step. From then on the file is written when the process exits, or on SIGTERM or SIGINT if the
// program has no handler of its own for it.
void expect_end() noexcept;
void forget_end() noexcept;  // in a forked child
// Makes no driver call, because the driver may be gone. Waits for no lock and allocates nothing, because a program that
// exits in a signal handler may have interrupted the driver or malloc.
void write_file(const Tape& tape) noexcept;

}  // namespace cotenant::record
