#include "interposer/base/thread.h"

#include <pthread.h>
#include <signal.h>

namespace cotenant {

bool start_thread(void* (*run)(void*), std::size_t stack_bytes) noexcept {
  pthread_attr_t attributes;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the application's own threads
  pthread_t thread;
  const bool running = pthread_create(&thread, &attributes, run, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return running;
}

}  // namespace cotenant
