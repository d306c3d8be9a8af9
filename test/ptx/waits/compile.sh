#!/bin/sh
# Makes optimised.ptx and debug.ptx from waits.cu: machines that run the tests need no nvcc. What debuggers show is cut away.
set -eu
cd "$(dirname "$0")"
nvcc -ptx -arch=compute_80 -std=c++17 -o optimised.ptx waits.cu
nvcc -ptx -arch=compute_80 -std=c++17 -G -o debug.ptx waits.cu
sed -i -e '/^\t*\.section/,$d' -e '/^\t\.\(loc\|file\) /d' -e '/^\$L__\(tmp\|func_\)/d' debug.ptx
