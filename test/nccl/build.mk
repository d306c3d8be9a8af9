# A stand-in for NCCL on the software GPU, and programs of several ranks that are linked with it. Included by
# native/Makefile.
FAKE_NCCL := $(BUILD)/tests/nccl/libnccl.so.2
NCCL_SOURCES := $(wildcard ../test/nccl/library/*.cpp)
NCCL_OBJECTS := $(NCCL_SOURCES:../test/nccl/library/%.cpp=$(BUILD)/tests/nccl/objects/%.o)
NCCL_CLIENTS := $(patsubst ../test/nccl/%.cpp,$(BUILD)/tests/nccl/%,$(wildcard ../test/nccl/*.cpp))
TESTS += $(FAKE_NCCL) $(NCCL_CLIENTS)

$(BUILD)/tests/nccl/objects/%.o: ../test/nccl/library/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -c -o $@ $<

$(FAKE_NCCL): $(NCCL_OBJECTS)
	$(CXX) $(CXXFLAGS) -shared -Wl,-soname,libnccl.so.2 $^ -o $@ -ldl

$(NCCL_CLIENTS): $(BUILD)/tests/nccl/%: ../test/nccl/%.cpp $(FAKE_NCCL)
	@mkdir -p $(@D)
	$(call program,-L$(@D) -l:libnccl.so.2 -Wl$(comma)-rpath$(comma)'$$ORIGIN' -ldl)
