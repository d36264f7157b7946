# pilot: make, make check, make demo, make install; see README.
# A new .c file needs no edit here. Variables to set: PREFIX, DESTDIR, CC, CFLAGS, ARCH, BUILD.

BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc
ARCH    ?= native
OPT     ?= -O3 -march=$(ARCH) -fno-math-errno -fno-trapping-math
CFLAGS  ?= -g
SAN     ?=

PKG     := $(shell . ./t/need.sh && need_msgpack)
LIBS    := $(shell pkg-config --libs $(PKG) zlib jansson libcrypto 2>/dev/null) -lm
INC     := $(shell pkg-config --cflags $(PKG) zlib jansson libcrypto 2>/dev/null)
BLASINC := $(shell . ./t/need.sh && need_blas_cflags)
BLASLIB := $(shell . ./t/need.sh && need_blas_libs)

STD     := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unknown-pragmas
COMPILE  = $(CC) $(STD) $(OPT) $(CFLAGS) $(SAN) $(INC) -MMD -MP -c -o $@ $<

LIBSRC  := $(wildcard lib/*/*.c)
LIBOBJ  := $(LIBSRC:%.c=$(BUILD)/%.o)
COMMON  := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/common/*.c))
PROGS   := train-step probe-batch gate ledger
BINS    := $(PROGS:%=$(BUILD)/bin/%)
UNIT    := $(patsubst t/unit/%.c,$(BUILD)/t/%,$(wildcard t/unit/*.c))
FUZZ    := $(patsubst t/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard t/fuzz/*.c))

.PHONY: all
all: banner $(BINS)

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
LINK_train-step = -fopenmp $(BLASLIB)
$(foreach p,$(PROGS),$(eval $(call PROG,$(p))))

# Unit tests link everything; a test NAME.c may add LINK_NAME.
$(BUILD)/t/%: $(BUILD)/t/unit/%.o $(BUILD)/libpilot.a
	$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LINK_$*) -fopenmp $(BLASLIB) $(LIBS)
$(BUILD)/t/unit/%.o: t/unit/%.c
	@mkdir -p $(@D)
	$(COMPILE)

.PHONY: unit
unit: $(UNIT)

.PHONY: clean
clean:
	rm -rf $(BUILD)

.SECONDARY:
-include $(LIBOBJ:.o=.d) $(wildcard $(BUILD)/cmd/*/*.d) $(wildcard $(BUILD)/t/unit/*.d)
