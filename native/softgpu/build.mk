# The software GPU: libcuda.so.1, its test clients, and the check of driver/ against a cuda.h. Included by
# native/Makefile, which sets BUILD and CXXFLAGS, builds TARGETS and TESTS, and reads the dependencies (-MMD).

SOFTGPU_LIBRARY := $(BUILD)/softgpu/libcuda.so.1
# lacking.cpp is last: of two weak definitions the linker takes the first.
SOFTGPU_SOURCES := $(filter-out softgpu/entry/lacking.cpp,$(wildcard softgpu/*/*.cpp)) softgpu/entry/lacking.cpp
SOFTGPU_OBJECTS := $(patsubst softgpu/%.cpp,$(BUILD)/softgpu/objects/%.o,$(SOFTGPU_SOURCES))
SOFTGPU_CLIENTS := $(patsubst ../test/softgpu/%.cpp,$(BUILD)/tests/softgpu-%,$(wildcard ../test/softgpu/*.cpp))

# exports.map: nothing of the C++ library that is compiled into it is anybody else's.
# Bsymbolic: calls from one entry point to another stay inside, even where a preloaded library has the same names.
$(SOFTGPU_LIBRARY): $(SOFTGPU_OBJECTS) softgpu/exports.map
	$(CXX) $(CXXFLAGS) -static-libgcc -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,defs \
	  -Wl,--version-script=softgpu/exports.map -o $@ $(SOFTGPU_OBJECTS) \
	  $(OLD_LIBRARIES)
	ln -sf libcuda.so.1 $(BUILD)/softgpu/libcuda.so

$(BUILD)/softgpu/objects/%.o: softgpu/%.cpp $(PRECOMPILED:%=$(BUILD)/softgpu/objects/%.gch)
	@mkdir -p $(@D)
	$(CXX) $(call with_precompiled,softgpu/objects) $(CXXFLAGS) $(ON_OLD_GLIBC) -c -o $@ $<

$(BUILD)/softgpu/objects/precompiled.h.gch: softgpu/precompiled.h
	@mkdir -p $(@D)
	@cp $< $(@:.gch=)
	$(CXX) $(CXXFLAGS) $(ON_OLD_GLIBC) -x c++-header $(@:.gch=) -o $@

$(BUILD)/tests/softgpu-%: ../test/softgpu/%.cpp
	@mkdir -p $(@D)
	$(call program,-ldl)

# Only where there is a cuda.h to compare with; CUDA_INCLUDE is its path or its folder.
ifneq ($(CUDA_INCLUDE),)
$(BUILD)/driver/abi_check.o: driver/abi_check.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -isystem $(patsubst %/cuda.h,%,$(CUDA_INCLUDE)) -c -o $@ $<
TESTS += $(BUILD)/driver/abi_check.o
endif

TARGETS += $(SOFTGPU_LIBRARY)
TESTS += $(SOFTGPU_CLIENTS)
