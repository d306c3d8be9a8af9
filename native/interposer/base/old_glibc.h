// The compiler includes this first in each file of the interposer (build.mk). A container's C library may be older than
// the one that the interposer was built with. These functions have been in glibc for long, but got a new version when
// they moved into libc.so.6 (2.32, 2.34), and the linker takes the newest. test/interposer/loading.test.ts checks the result.
#pragma once

#define OLD_GLIBC(function) asm(".symver " #function ", " #function "@GLIBC_2.2.5")

OLD_GLIBC(dladdr);
OLD_GLIBC(dlclose);
OLD_GLIBC(pthread_attr_setstacksize);
OLD_GLIBC(pthread_create);
OLD_GLIBC(pthread_sigmask);

#undef OLD_GLIBC
