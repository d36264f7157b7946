# pilot: make, make check, make demo, make install; see README.md.
# A new .c file needs no edit here. Variables to set: PREFIX, DESTDIR, CC, CFLAGS, ARCH, BUILD, JOBS.

BUILD   ?= build
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec
MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/pilot
DATADIR ?= $(PREFIX)/share/pilot
CC      ?= cc
ARCH    ?= native
OPT     ?= -O3 -march=$(ARCH) -fno-math-errno -fno-trapping-math
CFLAGS  ?= -g
SAN     ?=
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)

PKG     := $(shell . ./t/need.sh && need_msgpack)
LIBS    := $(shell pkg-config --libs $(PKG) zlib jansson libcrypto 2>/dev/null) -lm
INC     := $(shell pkg-config --cflags $(PKG) zlib jansson libcrypto 2>/dev/null)
BLASINC := $(shell . ./t/need.sh && need_blas_cflags)
BLASLIB := $(shell . ./t/need.sh && need_blas_libs)
BLASCMD := $(shell . ./t/need.sh && need_blas_static)

STD     := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unknown-pragmas
COMPILE  = $(CC) $(STD) $(OPT) $(CFLAGS) $(SAN) $(INC) -MMD -MP -c -o $@ $<

LIBSRC  := $(wildcard lib/*/*.c)
LIBOBJ  := $(LIBSRC:%.c=$(BUILD)/%.o)
COMMON  := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/common/*.c))
PROGS   := train-step probe-batch gate ledger
BINS    := $(PROGS:%=$(BUILD)/bin/%)
UNIT    := $(patsubst t/unit/%.c,$(BUILD)/t/%,$(wildcard t/unit/*.c))
FUZZ    := $(patsubst t/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard t/fuzz/*.c))
BATS     = $(wildcard t/[0-9]*.bats)
MAN      = $(wildcard man/*.[1-8])
# What a PyTorch program is watched by; train-step looks for it in ../libexec/pilot/torch.
ADAPTER  = cmd/train-step/adapters/torch
ADAPTERS = $(patsubst $(ADAPTER)/%,%,$(shell find $(ADAPTER) -name '*.py' 2>/dev/null))

LIBEXEC  = $(ADAPTERS:%=$(BUILD)/libexec/pilot/torch/%)

.PHONY: all
all: banner $(BINS) $(LIBEXEC)

# Where train-step looks for it: ../libexec/pilot from its own folder.
$(BUILD)/libexec/pilot/torch/%: $(ADAPTER)/%
	@mkdir -p $(@D)
	cp $< $@

.PHONY: help
help:
	@printf '%-17s%s\n' \
		make 'builds the four programs in $(BUILD)/bin' \
		'make demo' 'installs what the build needs, builds, and probes a small model' \
		'make check' 'installs what the tests need, and runs them (some minutes)' \
		'make check-long' 'these and the long ones' \
		'make install' 'programs and man pages into $(PREFIX)' \
		'make uninstall' 'takes them away again' \
		'make bench' 'measures, each beside a peer' \
		'make strangers' 'scripts on the newest PyTorch, Hugging Face, Lightning, accelerate' \
		'make fuzz' 'fuzzes with clang, FUZZ_SECONDS=$(FUZZ_SECONDS) a target' \
		'make lint' 'layers, style, warnings, man pages' \
		'make clean' 'removes what was built' \
		'' '' \
		Variables 'PREFIX DESTDIR CC CFLAGS ARCH BUILD JOBS' \
		Manual 'man ./man/pilot.7'

.PHONY: banner
banner:
	@. ./t/need.sh && need_banner $(CC) $(ARCH)

# lib/dev and lib/train see BLAS and OpenMP; nothing else does.
$(BUILD)/lib/dev/%.o: lib/dev/%.c
	@mkdir -p $(@D)
	$(COMPILE) -fopenmp $(BLASINC)
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE)

$(BUILD)/libpilot.a: $(LIBOBJ)
	@rm -f $@
	ar rcs $@ $^

define PROG
$(BUILD)/bin/$(1): $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/$(1)/*.c)) $(COMMON) $(BUILD)/libpilot.a
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS) $(SAN) -o $$@ $$^ $$(LINK_$(1)) $(LIBS)
endef
LINK_train-step = -fopenmp $(BLASCMD)
$(foreach p,$(PROGS),$(eval $(call PROG,$(p))))

# ---- tests ----

# A test program NAME.c links everything; one that includes alloc.h can fail allocations;
# LINK_NAME adds what only NAME needs.
WRAPS   := $(foreach f,malloc calloc realloc reallocarray strdup strndup aligned_alloc posix_memalign,-Wl,--wrap=$(f))
USES_ALLOC := $(patsubst t/unit/%.c,%,$(shell grep -l '^.include "alloc.h"' t/unit/*.c 2>/dev/null))
$(foreach t,$(USES_ALLOC),$(eval LINK_$(t) += $(WRAPS)))

LINK_ledger_faults = $(foreach f,write fdatasync fsync ftruncate link,-Wl,--wrap=$(f))
LINK_command_cause = -Wl,--wrap=host_oom_kills
LINK_checkpoint_faults = $(foreach f,write fsync rename,-Wl,--wrap=$(f))

$(BUILD)/t/%: $(BUILD)/t/unit/%.o $(BUILD)/libpilot.a
	$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LINK_$*) -fopenmp $(BLASLIB) $(LIBS)
$(BUILD)/t/unit/%.o: t/unit/%.c
	@mkdir -p $(@D)
	$(COMPILE)

# A trainer that only plays one, and a probe-batch whose host does; never installed.
FAKES   := $(BUILD)/fake/train-step $(BUILD)/fake/probe-batch $(foreach l,cuda/libcuda nvml/libnvidia-ml nvml-old/libnvidia-ml,$(BUILD)/fake/$(l).so.1)
$(BUILD)/fake/train-step: $(BUILD)/t/fake/train-step.o $(BUILD)/libpilot.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LIBS)
# Drivers that only play one, for LD_LIBRARY_PATH.
$(BUILD)/fake/cuda/%.so.1 $(BUILD)/fake/nvml/%.so.1: t/fake/%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CFLAGS) -shared -fPIC -o $@ $<
$(BUILD)/fake/nvml-old/%.so.1: t/fake/%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CFLAGS) -DOLD -shared -fPIC -o $@ $<
$(BUILD)/fake/probe-batch: $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/probe-batch/*.c)) $(BUILD)/t/fake/host.o $(COMMON) $(BUILD)/libpilot.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) -Wl,--wrap=host_available,--wrap=host_oom_kills $(WRAPS) -o $@ $^ $(LIBS)

# Runs models, optimizers and schedules on numbers from a file, for PyTorch to compare with.
NUMBERS := $(BUILD)/numbers
$(NUMBERS): $(BUILD)/t/numbers/numbers.o $(BUILD)/libpilot.a
	$(CC) $(CFLAGS) $(SAN) -o $@ $^ -fopenmp $(BLASLIB) $(LIBS)

# The builtin trainer with a fault put into it, beside a gate that starts it; never installed.
FAULTY  := order_example order_window schedule_rate model_backward model_zero_gradients optim_step model_tied_apart data_facts trainer_run
FAULTS  := $(BUILD)/faults/train-step $(BUILD)/faults/gate
$(BUILD)/faults/train-step: $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/train-step/*.c t/faults/*.c)) $(COMMON) $(BUILD)/libpilot.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) $(FAULTY:%=-Wl,--wrap=%) -o $@ $^ $(LINK_train-step) $(LIBS)
$(BUILD)/faults/gate: $(BUILD)/bin/gate
	@mkdir -p $(@D)
	cp $< $@

# What only tests and benchmarks run; record-table also makes the table of pilot-record(5).
TOOLS   := $(patsubst t/tools/%.c,$(BUILD)/tools/%,$(wildcard t/tools/*.c))
$(BUILD)/tools/%: $(BUILD)/t/tools/%.o $(BUILD)/libpilot.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LIBS)
.PHONY: record-table
record-table: $(BUILD)/tools/record-table
	$< man/pilot-record.5 >$(BUILD)/pilot-record.5
	cp $(BUILD)/pilot-record.5 man/pilot-record.5

# Fuzz targets with our own driver (fixed inputs, fixed count); `make fuzz` links clang's instead.
DRIVER  ?= $(patsubst %.c,$(BUILD)/%.o,$(wildcard t/fuzz/driver/*.c))
$(BUILD)/fuzz/%: $(BUILD)/t/fuzz/%.o $(DRIVER) $(BUILD)/libpilot.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) $(FUZZLINK) -o $@ $^ -fopenmp $(BLASLIB) $(LIBS)

.PHONY: unit fuzzers fakes
fakes: $(FAKES) $(FAULTS)
unit: $(UNIT)
fuzzers: $(FUZZ)

# build-san: everything again, with AddressSanitizer and UndefinedBehaviorSanitizer.
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANMAKE  = $(MAKE) BUILD=build-san SAN="$(SANFLAGS)" OPT="-O1 -march=$(ARCH) -fno-math-errno -fno-trapping-math"
SANRUN   = $(patsubst t/unit/%.c,build-san/t/%,$(wildcard t/unit/*.c)) \
	$(patsubst t/fuzz/%.c,build-san/fuzz/%,$(wildcard t/fuzz/*.c)) \
	$(patsubst %,PILOT_BUILD=build-san:%,$(wildcard t/00*.bats))

.PHONY: sanitize sanitize-build
sanitize-build:
	+@$(SANMAKE) -s all unit fuzzers
sanitize:
	@$(MAKE) -j$(JOBS) sanitize-build
	t/run $(SANRUN)

.PHONY: tests check check-long
tests: all unit $(TOOLS) $(FAKES) $(FAULTS) $(NUMBERS)
check:
	@. ./t/need.sh && need_install_tests
	@$(MAKE) -j$(JOBS) -s tests
	@$(MAKE) -j$(JOBS) -s sanitize-build
	PILOT_BUILD=$(BUILD) t/run $(UNIT) $(BATS) $(SANRUN)
check-long:
	@. ./t/need.sh && need_install_tests
	@$(MAKE) -j$(JOBS) -s tests
	@$(MAKE) -j$(JOBS) -s sanitize-build
	PILOT_BUILD=$(BUILD) PILOT_FUZZ_RUNS=1000000 PILOT_TEST_SECONDS=7200 t/run $(UNIT) $(BATS) $(SANRUN) $(wildcard t/long/*.bats)

.PHONY: lint
lint:
	sh t/lint-layers
	sh t/lint-code
	sh t/lint-adapter
	@$(MAKE) -s -j$(JOBS) BUILD=build-lint OPT=-O1 SAN=-Werror compile
	if command -v mandoc >/dev/null; then mandoc -T lint -W warning $(MAN); fi
	if command -v cppcheck >/dev/null; then sh t/lint-cppcheck; fi
	if command -v shellcheck >/dev/null; then shellcheck -x -S warning -e SC1010,SC2034,SC2154 t/run t/strangers t/*.sh t/lint-* $(wildcard t/bench/*.sh t/*.bash) .ci/run; fi

.PHONY: compile
compile: $(LIBOBJ) $(COMMON) $(foreach p,$(PROGS),$(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/$(p)/*.c))) $(patsubst %.c,$(BUILD)/%.o,$(wildcard t/unit/*.c t/fuzz/*.c t/fuzz/driver/*.c))

.PHONY: bench
bench: all $(TOOLS)
	@. ./t/need.sh && need_install_tests
	@for b in t/bench/*.sh; do echo "== $$b"; PILOT_BUILD=$(abspath $(BUILD)) bash $$b || exit 1; done

# The newest of everything, in a virtual environment: needs a Python registry, else it is skipped.
.PHONY: strangers
strangers: all
	PILOT_BUILD=$(abspath $(BUILD)) bash t/strangers

# Coverage-guided, where clang is; FUZZ_SECONDS each.
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz:
	@command -v clang >/dev/null || { echo "make fuzz: needs clang (apt-get install clang)"; exit 1; }
	@$(MAKE) -s -j$(JOBS) BUILD=build-fuzz CC=clang SAN="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" \
		OPT="-O1" DRIVER= FUZZLINK=-fsanitize=fuzzer fuzzers
	@for f in $(patsubst t/fuzz/%.c,%,$(wildcard t/fuzz/*.c)); do \
		echo "== $$f"; mkdir -p build-fuzz/corpus/$$f t/fuzz/seeds/$$f; \
		build-fuzz/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -artifact_prefix=build-fuzz/ build-fuzz/corpus/$$f t/fuzz/seeds/$$f || exit 1; \
	done

.PHONY: demo
demo:
	@sh t/demo.sh

# ---- installing ----

INSTALLED = $(PROGS:%=$(BINDIR)/%) $(ADAPTERS:%=$(LIBEXECDIR)/pilot/torch/%) $(foreach m,$(MAN),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	$(foreach d,README.md LICENSE NEWS,$(DOCDIR)/$(d)) $(DATADIR)/devices.tsv

.PHONY: install uninstall
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(DOCDIR)
	install -m 755 $(BINS) $(DESTDIR)$(BINDIR)
	for f in $(ADAPTERS); do install -D -m 644 $(ADAPTER)/$$f $(DESTDIR)$(LIBEXECDIR)/pilot/torch/$$f || exit 1; done
	for m in $(MAN); do install -D -m 644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/} || exit 1; done
	install -m 644 README.md LICENSE NEWS $(DESTDIR)$(DOCDIR)
	install -D -m 644 share/devices.tsv $(DESTDIR)$(DATADIR)/devices.tsv
uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)%)
	for d in $(DOCDIR) $(DATADIR); do if [ -d $(DESTDIR)$$d ]; then rmdir $(DESTDIR)$$d; fi; done
	if [ -d $(DESTDIR)$(LIBEXECDIR)/pilot ]; then \
		find $(DESTDIR)$(LIBEXECDIR)/pilot -name '*.pyc' -path '*/__pycache__/*' -delete; \
		find $(DESTDIR)$(LIBEXECDIR)/pilot -depth -type d -empty -delete; \
	fi

.PHONY: clean
clean:
	rm -rf $(BUILD) build-san build-lint build-fuzz

.SECONDARY:
-include $(LIBOBJ:.o=.d) $(wildcard $(BUILD)/cmd/*/*.d $(BUILD)/t/*/*.d $(BUILD)/t/fuzz/driver/*.d)
