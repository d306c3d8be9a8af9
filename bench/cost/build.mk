# Programs that measure the cost of our own code. Included by native/Makefile, which sets BUILD and CXXFLAGS.
BENCH := $(BUILD)/bench
TESTS += $(BENCH)/gate $(BENCH)/launch $(BENCH)/driver/libcuda.so.1

$(BENCH)/gate: ../bench/cost/gate.cpp $(GATE_OBJECTS)
	@mkdir -p $(@D)
	$(call program,$(GATE_OBJECTS))

$(BENCH)/launch: ../bench/cost/launch.cpp
	@mkdir -p $(@D)
	$(call program,-ldl)

$(BENCH)/driver/libcuda.so.1: ../bench/cost/driver.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -shared -Wl,-soname,libcuda.so.1 $< -o $@
