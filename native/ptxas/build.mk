# What stands in for ptxas in best-effort programs that compile kernels as they run. Included by native/Makefile.
TARGETS += $(BUILD)/cotenant-ptxas

$(BUILD)/cotenant-ptxas: ptxas/ptxas.cpp $(BUILD)/interposer/base/liveness.o
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -static-libgcc ptxas/ptxas.cpp $(BUILD)/interposer/base/liveness.o -o $@
