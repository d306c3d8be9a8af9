// The compiler includes this first in each file of what is shipped (Makefile). The C library of a container or of
// another machine may be older than the one that was built with. These functions have been in glibc for long, but got a
// new version when they moved into libc.so.6 (2.32, 2.34), and the linker takes the newest.
// test/interposer/loading.test.ts checks the result.
#pragma once

#if defined(__x86_64__)
#define OLD_GLIBC_FIRST "GLIBC_2.2.5"
#define OLD_GLIBC_2_3_3 "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define OLD_GLIBC_FIRST "GLIBC_2.17"
#define OLD_GLIBC_2_3_3 "GLIBC_2.17"
#else
#error "the first glibc of this architecture is not known here"
#endif

#define OLD_GLIBC(function, version) asm(".symver " #function ", " #function "@" version)

OLD_GLIBC(dladdr, OLD_GLIBC_FIRST);
OLD_GLIBC(dladdr1, OLD_GLIBC_2_3_3);
OLD_GLIBC(dlclose, OLD_GLIBC_FIRST);
OLD_GLIBC(pthread_attr_setstacksize, OLD_GLIBC_FIRST);
OLD_GLIBC(pthread_condattr_setclock, OLD_GLIBC_2_3_3);
OLD_GLIBC(pthread_create, OLD_GLIBC_FIRST);
OLD_GLIBC(pthread_detach, OLD_GLIBC_FIRST);
OLD_GLIBC(pthread_join, OLD_GLIBC_FIRST);
OLD_GLIBC(pthread_mutex_trylock, OLD_GLIBC_FIRST);
OLD_GLIBC(pthread_sigmask, OLD_GLIBC_FIRST);

#undef OLD_GLIBC
