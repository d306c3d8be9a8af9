GATE_OBJECTS := $(BUILD)/gate/gate.o
TARGETS += $(BUILD)/libcotenant-gate.so

$(BUILD)/gate/%.o: gate/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -c $< -o $@

$(BUILD)/libcotenant-gate.so: $(GATE_OBJECTS) $(BUILD)/gate/exports.o
	$(CXX) -shared $(CXXFLAGS) $^ -o $@
