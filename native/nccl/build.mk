TARGETS += $(BUILD)/libcotenant-nccl.so

$(BUILD)/nccl/%.o: nccl/%.cpp nccl/build.mk
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(ON_OLD_GLIBC) -c $< -o $@

# The program's copy of libcotenant.so is loaded before: LD_PRELOAD names it first.
$(BUILD)/libcotenant-nccl.so: $(BUILD)/nccl/names.o $(BUILD)/libcotenant.so
	$(CXX) -shared $(CXXFLAGS) -Wl,-z,now -static-libgcc $(BUILD)/nccl/names.o -o $@
