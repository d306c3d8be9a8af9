/* Calls by which a program may inform Cotenant. All are optional: nothing has to be linked, and the program runs
 * the same without `cotenant run`.
 *
 *   if (cotenant_announce) cotenant_announce(2000);
 *
 * The symbol is weak: null in a process without the interposer. (Code that is not position-independent,
 * -fno-pie, gets null always; it can ask dlsym.) From Python:
 *
 *   announce = getattr(ctypes.CDLL(None), "cotenant_announce", None)
 */
#ifndef COTENANT_H
#define COTENANT_H

#ifdef __cplusplus
extern "C" {
#endif

/** A request is about to arrive: it was read from a socket, it is being decoded. In a high client,
 * best-effort work on the GPU of the calling thread's current context (without one: on every GPU that this
 * process uses) is stopped now instead of at the request's first launch, which then finds the GPU empty.
 *
 * The next launch or copy takes the announcement over and counts as the request's beginning. If none comes
 * within `microseconds` (at most 100,000), best-effort work goes on. Said again, it lasts until the later
 * end; said while a request runs, it also holds the GPU between that one and the next.
 *
 * From any thread, but not from a signal handler. Never waits, never fails; costs some microseconds. In a
 * best-effort client, before the first use of the GPU, without an agent or with COTENANT_OFF it does nothing. */
void cotenant_announce(unsigned int microseconds) __attribute__((weak, visibility("default")));

/** A request of the program, from its begin to its end; 0: none. */
typedef unsigned long long cotenant_request;

/** The program has got a request. Cotenant measures it from now on, for an objective about requests
 * (`cotenant run --slo ttft.p99=200ms`), for `cotenant status` and for the metrics. Any number of requests at once, up to
 * 4,096: with more of them the one whose place is needed is forgotten. Nothing is announced or held by this call. It ends a
 * start-up, unless the program decides about that itself (cotenant_starting).
 *
 * This and the next four may be called from any thread, also before the first use of the GPU, in the process that uses
 * the GPU, or in another one that the same `cotenant run` started: an API server tells the requests of its service
 * (docs/guide/llm.md), for which the first call starts a thread. They take about 0.1 us, never wait and never fail. In a
 * process that is no high client they do nothing. */
cotenant_request cotenant_request_begin(void) __attribute__((weak, visibility("default")));

/** The same of a request that the program has got so many microseconds ago: one that another process received, or
 * that waited before this code saw it. At most an hour. */
cotenant_request cotenant_request_began(unsigned long long microseconds_ago)
    __attribute__((weak, visibility("default")));

/** Reports `units` (at least 1) further tokens of the answer. The time from the request's begin to the first call is the
 * time to first token (ttft), the time between two calls the inter-token latency (itl). The time from the first call to
 * the last one, divided by the units after the first, is the time per token (tpot). A request without units needs no
 * such call. */
void cotenant_request_progress(cotenant_request request, unsigned int units)
    __attribute__((weak, visibility("default")));

/** The request is answered: the time since its begin is its time from end to end (e2e). The handle is void from now on, and
 * so it is after the next function. A void handle, and 0, do nothing. */
void cotenant_request_end(cotenant_request request) __attribute__((weak, visibility("default")));

/** The request has failed or was cancelled: it counts as failed, and in neither tpot nor e2e. */
void cotenant_request_fail(cotenant_request request) __attribute__((weak, visibility("default")));

/** The program starts up: it loads, captures or compiles. A high client shares the GPU meanwhile: it holds
 * best-effort work half of the time at most. Without this call Cotenant judges by the client's work when a start-up
 * begins and ends (docs/guide/run.md).
 *
 * Call it before the first use of the GPU, or before a model is loaded again. It is for the process that uses the
 * GPU, and for all GPUs of that process. From any thread, but not from a signal handler. In a best-effort client it
 * does nothing. */
void cotenant_starting(void) __attribute__((weak, visibility("default")));

/** The program serves from now on: every request is protected, also the first one. Cotenant no longer judges by
 * itself whether the client starts up: only cotenant_starting() begins a start-up from then on. */
void cotenant_ready(void) __attribute__((weak, visibility("default")));

#ifdef __cplusplus
}
#endif

#endif
