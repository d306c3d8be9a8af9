# The `cotenant` command. Included by native/Makefile behind ptxas/build.mk, whose STATIC_PROGRAM it uses: it starts on
# whatever C library a machine has.
LAUNCHER_OBJECTS := $(patsubst %.cpp,$(BUILD)/%.o,$(wildcard launcher/*.cpp)) $(BUILD)/interposer/base/liveness.o
TARGETS += $(BUILD)/cotenant

$(BUILD)/launcher/%.o: launcher/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -c $< -o $@

$(BUILD)/cotenant: $(LAUNCHER_OBJECTS)
	$(CXX) $(CXXFLAGS) $(STATIC_PROGRAM) $^ -o $@
