GATE_OBJECTS := $(BUILD)/gate/gate.o $(BUILD)/gate/hold.o $(BUILD)/gate/parts.o
TARGETS += $(BUILD)/libcotenant-gate.so

$(BUILD)/gate/%.o: gate/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(ON_OLD_GLIBC) -c $< -o $@

$(BUILD)/libcotenant-gate.so: $(GATE_OBJECTS) $(addprefix $(BUILD)/gate/,exports.o turns.o turn_thread.o)
	$(CXX) -shared $(CXXFLAGS) -static-libgcc $^ -o $@ $(OLD_LIBRARIES)

# Node loads the library, in which AddressSanitizer's runtime can't be the first.
ifeq ($(SANITIZE),address)
$(BUILD)/gate/%.o $(BUILD)/libcotenant-gate.so: SANITIZER := -O1 -fsanitize=undefined -fno-sanitize-recover=undefined
endif
