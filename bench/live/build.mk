# The programs of run.sh and parked.sh. Included by native/Makefile, which sets BUILD and CXXFLAGS.
LIVE := $(BUILD)/bench/live
TESTS += $(LIVE)/inside $(LIVE)/parked

$(LIVE)/%: ../bench/live/%.cpp
	@mkdir -p $(@D)
	$(call program,-ldl)
