// A program of another C library: it has its own threads, forks and shared objects, and no driver.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void* thread(void* argument) { return argument; }

int main(void) {
  pthread_t made;
  void* came = NULL;
  int (*answer)(void) = NULL;
  void* object = dlopen("./libanswer.so", RTLD_NOW);
  if (object) *(void**)&answer = dlsym(object, "answer");
  pthread_create(&made, NULL, thread, &made);
  pthread_join(made, &came);
  const pid_t child = fork();
  if (child == 0) _exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  printf("%d %d %d %d %d\n", answer ? answer() : 0, dlsym(object, "no_such") == NULL,
         dlsym(RTLD_NEXT, "malloc") != NULL, came == &made, WEXITSTATUS(status));
  return 0;
}
