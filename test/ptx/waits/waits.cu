// Kernels that wait for a block that may not have been started (wait_...), and such that end whatever other blocks do, or
// wait only for one that is at work (ends_...). All have the same parameters: words that begin as 0, words that begin
// as 1, 2, 3, ..., results, and how many words each has. Compiled with and without -G, whose code keeps every function.
#define CALLED __noinline__ __device__

CALLED int look(volatile int *p) { return *p; }
CALLED int number_at(const int *p) { return *p; }
CALLED int look_deeper(volatile int *p) { return look(p) + 0; }
CALLED int look_around(const int *p) { return __ldcg(p); }
CALLED bool take(int *p) { return atomicCAS(p, 1, 0) == 1; }
CALLED bool take_by_exchange(int *p) { return atomicExch(p, 0) != 0; }
CALLED void give(int *p) { atomicExch(p, 1); }
CALLED void look_again(volatile int *p, int *rounds) {
  if (*p == 0) {
    ++*rounds;
    look_again(p, rounds);
    ++*rounds;
  }
}
struct Flag {
  volatile int *word;
  CALLED bool is_set() const { return look(word) != 0; }
  CALLED void wait() const {
    while (!is_set()) {
    }
  }
};
__device__ bool isLast() { return blockIdx.x == gridDim.x - 1; }

#define KERNEL extern "C" __global__ void
#define PARAMETERS (int *zero, int *numbers, int *out, int n)

KERNEL wait_two_calls_deep PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) atomicExch(zero, 1);
  while (look_deeper(zero) == 0) {
  }
  out[blockIdx.x] = 1;
}

KERNEL wait_in_a_method PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) atomicExch(zero, 1);
  Flag flag{zero};
  flag.wait();
  out[blockIdx.x] = 1;
}

KERNEL wait_with_another_cache PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) atomicExch(zero, 1);
  int rounds = 0;
  while (look_around(zero) == 0) out[n - 1] = ++rounds & 0;
  out[blockIdx.x] = 1;
}

KERNEL wait_for_a_token PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) {
    for (int i = 0; i + 1 < gridDim.x; i++) give(zero + i);
  } else {
    while (!take(zero + blockIdx.x)) {
    }
  }
  out[blockIdx.x] = 1;
}

KERNEL wait_for_a_token_passed_on PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) give(zero);
  else {
    while (!take_by_exchange(zero)) {
    }
    give(zero);
  }
  out[blockIdx.x] = 1;
}

KERNEL wait_in_itself PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) atomicExch(zero, 1);
  int rounds = 0;
  look_again(zero, &rounds);
  out[blockIdx.x] = rounds >= 0;
}

KERNEL wait_for_all_to_have_come PARAMETERS {
  __shared__ int here;
  if (threadIdx.x == 0) atomicAdd(zero, 1);
  do {
    __syncthreads();
    if (threadIdx.x == 0) here = look_around(zero);
    __syncthreads();
  } while (here < gridDim.x);
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}

KERNEL wait_over_a_ring PARAMETERS {
  if (threadIdx.x) return;
  atomicExch(zero + blockIdx.x, 1);
  int at = 0, seen = 0;
  while (seen < gridDim.x) {
    seen = look_around(zero + at) ? seen + 1 : 0;
    at = at + 1 == gridDim.x ? 0 : at + 1;
  }
  out[blockIdx.x] = 1;
}

KERNEL wait_for_so_many_rounds PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) atomicExch(zero, 1);
  for (int i = 0; i < 1 << 30; i++)
    if (look(zero)) break;
  out[blockIdx.x] = look(zero);
}

KERNEL wait_for_the_next_block PARAMETERS {
  if (threadIdx.x) return;
  volatile int *own = zero + 2 * blockIdx.x;
  if (blockIdx.x > 0) own[-1] = 1;
  own[2] = 5;
  if (!isLast())
    while (own[1] == 0) {
    }
  out[blockIdx.x] = 1;
}

KERNEL wait_by_counting_down PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) atomicAdd(zero, (int)gridDim.x - 1);
  else
    while (atomicSub(zero, 1) <= 0) atomicAdd(zero, 1);
  out[blockIdx.x] = 1;
}

KERNEL wait_by_plain_reads PARAMETERS {
  if (threadIdx.x) return;
  if (isLast()) zero[0] = 1;
  int ready = 0;
  while (!ready) {
    __threadfence();
    ready = zero[0];
  }
  out[blockIdx.x] = 1;
}

KERNEL wait_for_higher_blocks PARAMETERS {
  if (threadIdx.x) return;
  volatile int *sums = zero;
  sums[blockIdx.x] = 1;
  int sum = 1;
  for (int b = blockIdx.x + 1; b < gridDim.x;)
    if (sums[b]) sum += sums[b++];
  out[blockIdx.x] = sum;
}

KERNEL ends_look_back PARAMETERS {
  if (threadIdx.x) return;
  volatile int *sums = zero;
  int sum = 1;
  if (blockIdx.x > 0) {
    while (sums[blockIdx.x - 1] == 0) {
    }
    sum += sums[blockIdx.x - 1];
  }
  sums[blockIdx.x] = sum;
  out[blockIdx.x] = sum;
}

KERNEL ends_update_in_a_loop PARAMETERS {
  int *word = zero + threadIdx.x % 4, old = *word, seen;
#pragma unroll 1
  do {
    seen = old;
    old = atomicCAS(word, seen, seen + numbers[threadIdx.x % n]);
  } while (old != seen);
}

KERNEL ends_lock PARAMETERS {
  if (threadIdx.x) return;
  while (atomicCAS(zero, 0, 1) != 0) {
  }
  __threadfence();
  *(volatile int *)out += 3;
  __threadfence();
  atomicExch(zero, 0);
}

KERNEL ends_lock_tried PARAMETERS {
  bool done = false;
  while (!done)
    if (atomicCAS(zero, 0, 1) == 0) {
      *(volatile int *)out += 3;
      __threadfence();
      atomicExch(zero, 0);
      done = true;
    }
}

KERNEL ends_numbers_drawn PARAMETERS {
  if (threadIdx.x) return;
  for (int i; (i = atomicAdd(zero, 1)) < n;) out[i] = numbers[i] * 2;
}

KERNEL ends_numbers_drawn_for_a_block PARAMETERS {
  __shared__ int drawn;
  for (;;) {
    if (threadIdx.x == 0) drawn = atomicAdd(zero, blockDim.x);
    __syncthreads();
    int first = drawn;
    __syncthreads();
    if (first >= n) break;
    int i = first + threadIdx.x;
    if (i < n) out[i] = numbers[i] + 7;
  }
}

KERNEL ends_slots_taken_once PARAMETERS {
  int key = blockIdx.x * blockDim.x + threadIdx.x + 1, at = key * 7 % n;
  if (key > n / 2) return;
  for (;;) {
    int old = atomicCAS(zero + at, 0, key);
    if (old == 0 || old == key) break;
    at = at + 1 == n ? 0 : at + 1;
  }
  atomicAdd(out, 1);
}

KERNEL ends_last_block_sums_up PARAMETERS {
  __shared__ bool last;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) atomicAdd(zero + 1 + i, numbers[i]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc((unsigned *)zero, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  for (int k = 1 + threadIdx.x; k < n; k += blockDim.x) out[k] = __ldcg(zero + k);
}

KERNEL ends_rows PARAMETERS {
  int row = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  if (row >= n) return;
#pragma unroll 1
  for (int k = numbers[row] - 1; k < numbers[row] + 2 && k < n; k++) sum += numbers[k];
  out[row] = sum;
}

KERNEL ends_search PARAMETERS {
  int wanted = blockIdx.x * blockDim.x + threadIdx.x, low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (number_at(numbers + middle) < wanted) low = middle + 1;
    else high = middle;
  }
  if (wanted < n) out[wanted] = low;
}

KERNEL ends_first_that_is_free PARAMETERS {
  if (threadIdx.x) return;
  int found = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++)
    if (atomicExch(zero + i, 1) == 0) {
      found = 1;
      break;
    }
  atomicAdd(out, found);
}

KERNEL ends_turns_by_numbers_drawn PARAMETERS {
  if (threadIdx.x) return;
  int mine = atomicAdd(zero, 1);
  while (*(volatile int *)(zero + 1) != mine) {
  }
  __threadfence();
  *(volatile int *)out += 3;
  __threadfence();
  *(volatile int *)(zero + 1) = mine + 1;
}

KERNEL ends_turns_counted_by_an_atomic PARAMETERS {
  if (threadIdx.x) return;
  int mine = atomicAdd(zero, 1);
  while (atomicAdd(zero + 1, 0) != mine) {
  }
  __threadfence();
  *(volatile int *)out += 3;
  __threadfence();
  atomicAdd(zero + 1, 1);
}

KERNEL ends_look_back_by_a_number_drawn PARAMETERS {
  __shared__ int drawn;
  if (threadIdx.x == 0) drawn = atomicAdd(zero, 1);
  __syncthreads();
  int tile = drawn;
  if (threadIdx.x) return;
  volatile int *sums = out;
  int sum = 1;
  if (tile > 0) {
    int seen;
    while ((seen = sums[tile - 1]) == 0) {
    }
    sum += seen;
  }
  sums[tile] = sum;
}

KERNEL ends_when_asked_to_stop PARAMETERS {
  __shared__ int drawn, stop;
  for (;;) {
    if (threadIdx.x == 0) {
      drawn = atomicAdd(zero, 1);
      stop = *(volatile int *)(zero + 1);
    }
    __syncthreads();
    int block = drawn;
    if (stop || block >= n) break;
    __syncthreads();
    if (threadIdx.x == 0) out[block] = numbers[block];
  }
}

KERNEL ends_numbers_drawn_for_a_warp PARAMETERS {
  int lane = threadIdx.x % 32;
  for (;;) {
    int first = 0;
    if (lane == 0) first = atomicAdd(zero, 32);
    first = __shfl_sync(0xffffffff, first, 0);
    if (first >= n) break;
    if (first + lane < n) out[first + lane] = numbers[first + lane] * 3;
  }
}

KERNEL wait_for_the_turn_of_a_later_number PARAMETERS {
  if (threadIdx.x) return;
  int mine = atomicAdd(zero, 1);
  *(volatile int *)(zero + 1) = mine + 1;
  if (!isLast())
    while (*(volatile int *)(zero + 1) < gridDim.x) {
    }
  out[blockIdx.x] = 1;
}

KERNEL wait_for_the_entry_of_a_later_number PARAMETERS {
  if (threadIdx.x) return;
  int mine = atomicAdd(zero, 1);
  volatile int *marks = out;
  marks[mine + 1] = 1;
  if (mine + 1 < gridDim.x)
    while (marks[mine + 2] == 0) {
    }
}
