// Headers that most files of this folder include, compiled once: see native/Makefile.
#include "softgpu/driver/driver.h"
