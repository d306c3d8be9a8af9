INTERPOSER_SOURCES := $(wildcard interposer/*.cpp)
INTERPOSER_OBJECTS := $(INTERPOSER_SOURCES:%.cpp=$(BUILD)/%.o) $(BUILD)/gate/gate.o
TARGETS += $(BUILD)/libcotenant.so

# Thread-local state is reached on every launch; a preloaded library may use the fast static model.
$(BUILD)/interposer/%.o: interposer/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -ftls-model=initial-exec -c $< -o $@

$(BUILD)/libcotenant.so: $(INTERPOSER_OBJECTS)
	$(CXX) -shared $(CXXFLAGS) -Wl,-z,defs -Wl,-z,now -static-libgcc $^ -o $@ -ldl
