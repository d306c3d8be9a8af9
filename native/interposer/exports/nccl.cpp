// The wrappers of NCCL's functions in a rank of a gang. A collective, a send or a receive is one operation; what stands
// between ncclGroupStart and ncclGroupEnd is one, too. The declarations are the interposer's own: enumerations are int.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "interposer/base/hash.h"
#include "interposer/gangs/library.h"
#include "interposer/gangs/operation.h"
#include "interposer/process/process.h"

namespace cotenant::gangs {
namespace {

using Stream_ = cu::CUstream;

constexpr int kSuccess = 0;
constexpr int kInternalError = 3;
constexpr int kInvalidUsage = 5;

// The parts and communicators that the thread's group has gathered. NCCL keeps its own groups by thread, too.
struct Group {
  int depth;
  bool is_refused;
  std::uint32_t made;  // communicators that the group makes
  struct {
    Handle* at;
    std::uint64_t key;
    std::uint32_t ranks;
    std::uint32_t rank;
  } making[16];
  Launch launch;
};
__constinit thread_local Group* group = nullptr;
// NCCL calls functions of its own by their names.
__constinit thread_local bool in_nccl = false;

template <class Function, class... A>
int call_nccl(Function function, A... arguments) noexcept {
  const bool before = in_nccl;
  in_nccl = true;
  const int result = function(arguments...);
  in_nccl = before;
  return result;
}

[[gnu::cold]] int refuse(Nccl which, const char* why) noexcept {
  static std::atomic<bool> told{false};
  if (!told.exchange(true))
    tell(
        "%s is refused in this best-effort rank: %s. Ranks that begin it by themselves would wait for each other on "
        "their GPUs. Start the job with `cotenant run --ungated`.",
        name_of(which), why);
  return kInvalidUsage;
}

// The gang that this call belongs to; null: it goes to NCCL as it is.
Block* gang_of_call() noexcept { return in_nccl || role() != Role::kBestEffort ? nullptr : gang_block(); }

Group* own_group() noexcept {
  if (!group) group = static_cast<Group*>(std::calloc(1, sizeof(Group)));
  return group;
}

#define REAL(name, parameters)                                                                      \
  using Real = int(*) parameters;                                                                   \
  constexpr Nccl kWhich = Nccl::name;                                                               \
  const auto real_one = reinterpret_cast<Real>(nccl_function(kWhich, __builtin_return_address(0))); \
  if (!real_one) return kInternalError;

// --- communicators ----------------------------------------------------------------------------------------------

void add_made(Handle handle, std::uint64_t key, std::uint32_t ranks, std::uint32_t rank) noexcept {
  if (handle && ranks != 1) add(handle, key, ranks, rank);
}

// A communicator is there when the group ends, and without a group when the call has returned.
const char* note_made(Handle* at, std::uint64_t key, std::uint32_t ranks, std::uint32_t rank) noexcept {
  Group* own = own_group();
  if (!own) return "there is no memory for it";
  if (own->depth == 0) {
    add_made(*at, key, ranks, rank);
    return nullptr;
  }
  if (own->made == std::size(own->making)) return "the group makes too many communicators";
  own->making[own->made++] = {at, key, ranks, rank};
  return nullptr;
}

using Ask = int (*)(Handle, int*);

bool has_one_rank(Handle handle) noexcept {
  const auto count = reinterpret_cast<Ask>(other_nccl_function("ncclCommCount"));
  int ranks = 0;
  return count && count(handle, &ranks) == kSuccess && ranks == 1;
}

// The ranks of a split are known when it was made.
const char* settle(Known& known, Block& block) noexcept {
  if (known.whole) return nullptr;
  if (known.ranks == 0) {
    const auto count = reinterpret_cast<Ask>(other_nccl_function("ncclCommCount"));
    const auto own_rank_in = reinterpret_cast<Ask>(other_nccl_function("ncclCommUserRank"));
    int ranks = 0, rank = 0;
    const Handle handle = known.handle.load();
    if (!count || !own_rank_in || count(handle, &ranks) != kSuccess || own_rank_in(handle, &rank) != kSuccess)
      return "NCCL does not say which ranks its communicator has";
    known.ranks = static_cast<std::uint32_t>(ranks);
    known.rank = static_cast<std::uint32_t>(rank);
  }
  if (known.ranks > kRanks) return "its communicator has more than 16 ranks";
  known.whole = known.ranks == 1 || ranks_in(block, known.key) == known.ranks;
  return known.whole ? nullptr : "not all ranks of its communicator are best-effort clients of this machine";
}

// --- operations ---------------------------------------------------------------------------------------------------

const char* add_part(Launch& launch, const PartOf& part, Stream_ stream) noexcept {
  if (launch.parts == kParts) return "a group of more than 128 operations is not committed";
  const auto* last = launch.stream + launch.streams;
  if (std::find(launch.stream + 0, launch.stream + launch.streams, stream) == last) {
    if (launch.streams == kStreams) return "a group on more than four streams is not committed";
    launch.stream[launch.streams++] = stream;
  }
  launch.part[launch.parts++] = part;
  return nullptr;
}

constexpr int kAll = -1;

// `peer`: kAll in a collective.
PartOf next_part(Known& known, int peer, bool sends) noexcept {
  if (peer == kAll) return {known.key, ++known.collectives, known.key, known.ranks};
  const auto other = static_cast<std::uint32_t>(peer);
  const std::uint64_t from = sends ? known.rank : other;
  const std::uint64_t to = sends ? other : known.rank;
  const std::uint64_t number = sends ? ++known.sent[other] : ++known.received[other];
  return {folded(folded(known.key, from + 1), to + 1) | 1, number, known.key, from == to ? 1u : 2u};
}

template <class Call>
int launch_now(Block& block, Nccl which, const Launch& launch, Call call) noexcept {
  std::uint32_t ticket = 0;
  if (const char* why = begin(block, launch, ticket)) return refuse(which, why);
  const int result = call();
  end(block, launch, ticket, result == kSuccess);
  return result;
}

// A collective, or with a peer a send or a receive.
template <class Call>
int submit(Nccl which, Handle handle, Stream_ stream, int peer, bool sends, Call call) noexcept {
  Block* block = gang_of_call();
  if (!block) return call();
  Known* known = known_of(handle);
  if (!known) return has_one_rank(handle) ? call() : refuse(which, "it is not known how its communicator was made");
  Group* own = own_group();
  const char* why = own ? settle(*known, *block) : "there is no memory for it";
  if (!why && known->ranks == 1) return call();
  if (!why && peer != kAll && static_cast<std::uint32_t>(peer) >= known->ranks) return call();  // NCCL refuses it
  if (why) {
    own->is_refused = true;
    return refuse(which, why);
  }
  if (own->depth == 0) own->launch.parts = own->launch.streams = 0;
  why = add_part(own->launch, next_part(*known, peer, sends), stream);
  if (why) own->is_refused = own->depth > 0;
  if (why) return refuse(which, why);
  return own->depth > 0 ? call() : launch_now(*block, which, own->launch, call);
}

template <class Call>
int collective(Nccl which, Handle handle, Stream_ stream, Call call) noexcept {
  return submit(which, handle, stream, kAll, false, call);
}

// --- wrappers -----------------------------------------------------------------------------------------------------

// A communicator that does not block would launch on a thread of NCCL's, behind what this thread puts into the stream later.
struct Config {
  alignas(8) unsigned char bytes[1024];
};
void* as_blocking(void* given, Config& copy) noexcept {
  constexpr std::size_t kBlockingAt = 16;  // behind the structure's size, a magic number and a version
  std::size_t size = 0;
  if (given) std::memcpy(&size, given, sizeof size);
  if (size < kBlockingAt + sizeof(int) || size > sizeof copy.bytes) return given;
  std::memcpy(copy.bytes, given, size);
  const int blocking = 1;
  std::memcpy(copy.bytes + kBlockingAt, &blocking, sizeof blocking);
  return copy.bytes;
}

template <class Call>
int make(Nccl which, Handle* at, int ranks, const Identity& identity, int rank, Call call) noexcept {
  Block* block = gang_of_call();
  if (!block || ranks <= 1) return call();
  const std::uint64_t key = key_of(identity);
  if (!announce(*block, key)) return refuse(which, "the gang has too many communicators");
  const int result = call();
  if (result != kSuccess) return result;
  const char* why = note_made(at, key, static_cast<std::uint32_t>(ranks), static_cast<std::uint32_t>(rank));
  return why ? refuse(which, why) : result;
}

int wrap_ncclCommInitRank(Handle* at, int ranks, Identity identity, int rank) noexcept {
  REAL(ncclCommInitRank, (Handle*, int, Identity, int))
  return make(kWhich, at, ranks, identity, rank, [&] { return call_nccl(real_one, at, ranks, identity, rank); });
}

int wrap_ncclCommInitRankConfig(Handle* at, int ranks, Identity identity, int rank, void* config) noexcept {
  REAL(ncclCommInitRankConfig, (Handle*, int, Identity, int, void*))
  Config copy;
  void* given = gang_of_call() ? as_blocking(config, copy) : config;
  return make(kWhich, at, ranks, identity, rank, [&] { return call_nccl(real_one, at, ranks, identity, rank, given); });
}

int wrap_ncclCommSplit(Handle handle, int color, int key, Handle* at, void* config) noexcept {
  REAL(ncclCommSplit, (Handle, int, int, Handle*, void*))
  Block* block = gang_of_call();
  Known* known = block ? known_of(handle) : nullptr;
  if (!known) return call_nccl(real_one, handle, color, key, at, config);
  const std::uint64_t its_key = key_of_split(*known, ++known->splits, color);
  if (color >= 0 && !announce(*block, its_key)) return refuse(kWhich, "the gang has too many communicators");
  Config copy;
  const int result = call_nccl(real_one, handle, color, key, at, as_blocking(config, copy));
  if (result != kSuccess || color < 0) return result;
  const char* why = note_made(at, its_key, 0, 0);
  return why ? refuse(kWhich, why) : result;
}

int wrap_ncclCommAbort(Handle handle) noexcept {
  REAL(ncclCommAbort, (Handle))
  Block* block = gang_of_call();
  Known* known = block ? known_of(handle) : nullptr;
  if (known) release_operations(*block, known->key);
  if (known) remove(handle);
  return call_nccl(real_one, handle);
}

int wrap_ncclCommDestroy(Handle handle) noexcept {
  REAL(ncclCommDestroy, (Handle))
  if (gang_of_call()) remove(handle);
  return call_nccl(real_one, handle);
}

int wrap_ncclGroupStart() noexcept {
  REAL(ncclGroupStart, ())
  Group* own = gang_of_call() ? own_group() : nullptr;
  if (own && own->depth++ == 0) {
    own->launch.parts = own->launch.streams = own->made = 0;
    own->is_refused = false;
  }
  return call_nccl(real_one);
}

int wrap_ncclGroupEnd() noexcept {
  REAL(ncclGroupEnd, ())
  Block* block = gang_of_call();
  Group* own = block ? own_group() : nullptr;
  if (!own || own->depth == 0) return call_nccl(real_one);
  --own->depth;
  if (own->depth > 0) return call_nccl(real_one);
  const auto call = [&] { return call_nccl(real_one); };
  const int result = own->launch.parts > 0 && !own->is_refused ? launch_now(*block, kWhich, own->launch, call) : call();
  for (std::uint32_t i = 0; i < own->made && result == kSuccess; ++i)
    add_made(*own->making[i].at, own->making[i].key, own->making[i].ranks, own->making[i].rank);
  own->made = 0;
  return result;
}

#define COLLECTIVE(name, parameters, arguments)                                   \
  int wrap_##name parameters noexcept {                                           \
    REAL(name, parameters)                                                        \
    return collective(kWhich, comm, stream, [&] { return call_nccl arguments; }); \
  }
COLLECTIVE(ncclAllReduce,
           (const void* from, void* to, std::size_t count, int type, int op, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, op, comm, stream))
COLLECTIVE(ncclReduce,
           (const void* from, void* to, std::size_t count, int type, int op, int root, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, op, root, comm, stream))
COLLECTIVE(ncclBcast, (void* data, std::size_t count, int type, int root, Handle comm, Stream_ stream),
           (real_one, data, count, type, root, comm, stream))
COLLECTIVE(ncclBroadcast,
           (const void* from, void* to, std::size_t count, int type, int root, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, root, comm, stream))
COLLECTIVE(ncclReduceScatter,
           (const void* from, void* to, std::size_t count, int type, int op, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, op, comm, stream))
COLLECTIVE(ncclAllGather, (const void* from, void* to, std::size_t count, int type, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, comm, stream))
COLLECTIVE(ncclAlltoAll, (const void* from, void* to, std::size_t count, int type, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, comm, stream))
COLLECTIVE(ncclGather, (const void* from, void* to, std::size_t count, int type, int root, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, root, comm, stream))
COLLECTIVE(ncclScatter,
           (const void* from, void* to, std::size_t count, int type, int root, Handle comm, Stream_ stream),
           (real_one, from, to, count, type, root, comm, stream))

int wrap_ncclSend(const void* from, std::size_t count, int type, int peer, Handle comm, Stream_ stream) noexcept {
  REAL(ncclSend, (const void*, std::size_t, int, int, Handle, Stream_))
  return submit(kWhich, comm, stream, peer, true,
                [&] { return call_nccl(real_one, from, count, type, peer, comm, stream); });
}

int wrap_ncclRecv(void* to, std::size_t count, int type, int peer, Handle comm, Stream_ stream) noexcept {
  REAL(ncclRecv, (void*, std::size_t, int, int, Handle, Stream_))
  return submit(kWhich, comm, stream, peer, false,
                [&] { return call_nccl(real_one, to, count, type, peer, comm, stream); });
}

// A child of a rank may use these outside of the gang. Their arguments are integers and pointers, which are passed alike,
// twelve at most.
template <Nccl kWhich>
int wrap_refused(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
                 long l) noexcept {
  if (gang_of_call()) return refuse(kWhich, "it is not committed");
  using Real = int (*)(long, long, long, long, long, long, long, long, long, long, long, long);
  const auto real_one = reinterpret_cast<Real>(nccl_function(kWhich, __builtin_return_address(0)));
  return real_one ? real_one(a, b, c, d, e, f, g, h, i, j, k, l) : kInternalError;
}

}  // namespace

void* const wrappers[] = {
#define FUNCTION(name) reinterpret_cast<void*>(wrap_##name),
#define REFUSED(name) reinterpret_cast<void*>(wrap_refused<Nccl::name>),
#include "nccl/functions.def"
#undef FUNCTION
#undef REFUSED
};

}  // namespace cotenant::gangs
