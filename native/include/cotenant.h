/* What a program may say to Cotenant. All of it is optional: nothing has to be linked, and the program runs
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

#ifdef __cplusplus
}
#endif

#endif
