// x86-64: see assembly.h.
#pragma once

#define COTENANT_FORWARD(name)   \
  "  push %rdi\n"                \
  "  push %rsi\n"                \
  "  push %rdx\n"                \
  "  mov 24(%rsp), %rcx\n"       \
  "  call cotenant_route_" #name \
  "\n"                           \
  "  test %rax, %rax\n"          \
  "  jnz 1f\n"                   \
  "  call cotenant_real_" #name  \
  "\n"                           \
  "  pop %rdx\n"                 \
  "  pop %rsi\n"                 \
  "  pop %rdi\n"                 \
  "  jmp *%rax\n"                \
  "1:\n"                         \
  "  add $24, %rsp\n"            \
  "  ret\n"

#define COTENANT_JUMP_BYTES 32
#define COTENANT_COUNTING_JUMP                                          \
  "  lock incq cotenant_counting_calls + 8 * cotenant_counting(%rip)\n" \
  "  lock incq cotenant_possible_captures(%rip)\n"                      \
  "  jmp *cotenant_counting_targets + 8 * cotenant_counting(%rip)\n"
