// 64-bit ARM: see assembly.h. x0 to x8 hold arguments; x9 to x17 are free at the start of a function.
#pragma once

#define COTENANT_FORWARD(name)    \
  "  stp x29, x30, [sp, #-48]!\n" \
  "  mov x29, sp\n"               \
  "  stp x0, x1, [sp, #16]\n"     \
  "  str x2, [sp, #32]\n"         \
  "  mov x3, x30\n"               \
  "  bl cotenant_route_" #name    \
  "\n"                            \
  "  cbnz x0, 1f\n"               \
  "  bl cotenant_real_" #name     \
  "\n"                            \
  "  mov x16, x0\n"               \
  "  ldp x0, x1, [sp, #16]\n"     \
  "  ldr x2, [sp, #32]\n"         \
  "  ldp x29, x30, [sp], #48\n"   \
  "  br x16\n"                    \
  "1:\n"                          \
  "  ldp x29, x30, [sp], #48\n"   \
  "  ret\n"

#define COTENANT_JUMP_BYTES 64
#define COTENANT_COUNTING_JUMP                                                 \
  "  adrp x9, cotenant_counting_calls + 8 * cotenant_counting\n"               \
  "  add x9, x9, :lo12:cotenant_counting_calls + 8 * cotenant_counting\n"      \
  "1: ldxr x10, [x9]\n"                                                        \
  "  add x10, x10, #1\n"                                                       \
  "  stxr w11, x10, [x9]\n"                                                    \
  "  cbnz w11, 1b\n"                                                           \
  "  adrp x9, cotenant_possible_captures\n"                                    \
  "  add x9, x9, :lo12:cotenant_possible_captures\n"                           \
  "2: ldxr x10, [x9]\n"                                                        \
  "  add x10, x10, #1\n"                                                       \
  "  stxr w11, x10, [x9]\n"                                                    \
  "  cbnz w11, 2b\n"                                                           \
  "  adrp x9, cotenant_counting_targets + 8 * cotenant_counting\n"             \
  "  ldr x16, [x9, :lo12:cotenant_counting_targets + 8 * cotenant_counting]\n" \
  "  br x16\n"
