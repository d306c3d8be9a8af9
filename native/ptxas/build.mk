# The stand-in for ptxas in best-effort programs that compile kernels as they run. Included by native/Makefile.
# A program's entry code needs the C library that it was built with, so the program brings its own where there is one
# to link with.
STATIC_PROGRAM := $(if $(SANITIZE)$(if $(wildcard $(shell $(CXX) -print-file-name=libc.a)),,none),-static-libgcc,-static)
TARGETS += $(BUILD)/cotenant-ptxas $(BUILD)/cotenant-ptxas-blackwell

$(BUILD)/cotenant-ptxas: ptxas/ptxas.cpp $(BUILD)/interposer/base/liveness.o
	@mkdir -p $(@D)
	$(call program,$(STATIC_PROGRAM) $(BUILD)/interposer/base/liveness.o)

# The name says which of Triton's assemblers it stands in for. Packages and images do not carry links.
$(BUILD)/cotenant-ptxas-blackwell: $(BUILD)/cotenant-ptxas
	cp $< $@
