INTERPOSER_SOURCES := $(wildcard interposer/*/*.cpp)
INTERPOSER_OBJECTS := $(INTERPOSER_SOURCES:%.cpp=$(BUILD)/%.o) $(GATE_OBJECTS)
TARGETS += $(BUILD)/libcotenant.so

# Thread-local state is reached on every launch; a preloaded library may use the fast static model.
INTERPOSER_FLAGS = $(CXXFLAGS) $(ON_OLD_GLIBC) -ftls-model=initial-exec
$(BUILD)/interposer/%.o: interposer/%.cpp interposer/build.mk $(PRECOMPILED:%=$(BUILD)/interposer/%.gch)
	@mkdir -p $(@D)
	$(CXX) $(call with_precompiled,interposer) $(INTERPOSER_FLAGS) -c $< -o $@

$(BUILD)/interposer/precompiled.h.gch: interposer/precompiled.h interposer/build.mk
	@mkdir -p $(@D)
	@cp $< $(@:.gch=)
	$(CXX) $(INTERPOSER_FLAGS) -x c++-header $(@:.gch=) -o $@

# A sanitizer's runtime looks the C library up by dlsym before it can serve anybody.
$(BUILD)/interposer/exports/dlsym.o $(BUILD)/interposer/lookup/libc.o: SANITIZER :=

# Its wrappers are meant where it names them, not functions of that name in an interposer that comes first.
$(BUILD)/libcotenant.so: $(INTERPOSER_OBJECTS)
	$(CXX) -shared $(CXXFLAGS) -Wl,-z,defs -Wl,-z,now -Wl,-Bsymbolic-functions -static-libgcc $^ -o $@ $(OLD_LIBRARIES)

# A stand-in for cuBLAS, its symbols versioned as there; a library that is linked with it, and one that opens it.
FAKE_BLAS := $(BUILD)/tests/interposer/products/blas
TESTS += $(FAKE_BLAS)/libcublas.so.13 $(FAKE_BLAS)/libframework.so $(FAKE_BLAS)/libstub.so
$(FAKE_BLAS)/libcublas.so.13: ../test/interposer/products/blas/fake.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -fvisibility=default -shared -Wl,-soname,$(@F) -Wl,--default-symver $< -o $@ -ldl

$(FAKE_BLAS)/libframework.so: ../test/interposer/products/blas/framework.cpp $(FAKE_BLAS)/libcublas.so.13
	$(CXX) $(CXXFLAGS) -shared $< -o $@ -L$(@D) -l:libcublas.so.13 -Wl,-rpath,'$$ORIGIN'

$(FAKE_BLAS)/libstub.so: ../test/interposer/products/blas/stub.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -shared $< -o $@ -ldl

# Another interposer, and a driver that loads the actual one.
FAKE_DRIVERS := $(BUILD)/tests/interposer/drivers/lib
TESTS += $(FAKE_DRIVERS)/libtool.so $(FAKE_DRIVERS)/libcuda.so.1 $(FAKE_DRIVERS)/liblinked.so
$(FAKE_DRIVERS)/libtool.so: SANITIZER :=
$(FAKE_DRIVERS)/libtool.so: ../test/interposer/drivers/lib/tool.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -shared $< -o $@ -ldl

$(FAKE_DRIVERS)/libcuda.so.1: ../test/interposer/drivers/lib/outer.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -shared -Wl,-soname,libcuda.so.1 $< -o $@ -ldl

$(FAKE_DRIVERS)/liblinked.so: ../test/interposer/drivers/lib/linked.cpp $(BUILD)/softgpu/libcuda.so.1
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -shared $< -o $@ -L$(BUILD)/softgpu -l:libcuda.so.1
