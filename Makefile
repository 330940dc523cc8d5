# A short front for meson and ninja; every target first sees that its tools are there.
#
#   make            release build: build/halley
#   make demo       show what it can do
#   make test       all tests, in build-test with assertions
#   make check      format, layers, names, linkage, words, documents, man pages, clang-tidy, cppcheck
#   make asan tsan  the tests under sanitizers       make fuzz      FUZZ_SECONDS=60 per reader
#   make tsan-threads  of these, the tests in which threads share something
#   make torture    every call site fails, kill -9, bombs (about an hour); TORTURE=--all: every call
#   make soak       the web server under abuse, SOAK_SECONDS=600 (an hour at most)
#   make sbom       what it is linked with: versions, licences (build/halley.spdx.json)
#   make coverage   what the tests reach             make bench     speed and memory
#   make cases      published clusters: published, halley, error
#   make python-test  the Python package        make wheel     dist/halley-*.whl
#   make web-test   the pages of halley serve, in Chromium
#   make deb        dist/*.deb: halley, libhalley, libhalley-dev, python3-halley
#   make install    PREFIX=/usr/local DESTDIR=       make clean

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Quiet unless it fails.
build = @ninja -j$(JOBS) -C $(1) $(2) > $(1)/build.log 2>&1 || { cat $(1)/build.log; exit 1; }
TEST = meson test --no-rebuild --print-errorlogs --timeout-multiplier 10 --num-processes $(JOBS) -C

.PHONY: all demo test check asan tsan tsan-threads fuzz torture soak sbom bench cases coverage install clean deb wheel python-test setup-build setup-test setup-dev setup-python setup-web setup-deb web-test

all: setup-build build/build.ninja
	$(call build,build,product)

setup-build setup-test setup-dev setup-python setup-web setup-deb:
	@tools/setup $(@:setup-%=%)

build/build.ninja: | setup-build
	@meson setup build > /dev/null
# Tests run with assertions; build/, which is installed and measured, has none.
build-test/build.ninja: | setup-test
	@meson setup build-test -Dtests=enabled -Db_ndebug=false -Doptimization=2 > /dev/null
build-asan/build.ninja: | setup-test
	@meson setup build-asan -Dtests=enabled -Dbuildtype=debugoptimized -Db_sanitize=address,undefined > /dev/null
build-tsan/build.ninja: | setup-test
	@meson setup build-tsan -Dtests=enabled -Dbuildtype=debugoptimized -Db_sanitize=thread > /dev/null
build-coverage/build.ninja: | setup-dev
	@meson setup build-coverage -Dtests=enabled -Dbuildtype=debug -Db_coverage=true > /dev/null
build-fuzz/build.ninja: | setup-dev
	@CC=clang meson setup build-fuzz -Dtests=enabled -Dfuzz=true -Dbuildtype=debugoptimized \
	    -Db_sanitize=address,undefined -Db_lundef=false > /dev/null

demo: all
	@tools/demo build/halley

check: all | setup-dev
	@tools/check build

# What libraries of others keep when the program ends.
asan: export LSAN_OPTIONS = suppressions=$(CURDIR)/tests/lsan.txt:print_suppressions=0
test asan tsan: %: build-%/build.ninja
	$(call build,build-$*)
	@$(TEST) build-$*

# The tests in which threads share something: half a minute of processor time, two of the
# others alone take more than two minutes each.
THREADED = pool watch explore_network explore_exact file_set serve jobs obfuscate holes set_files link
tsan-threads: build-tsan/build.ninja
	$(call build,build-tsan,halley tests/request/random-requests $(THREADED:%=tests/unit/test_%))
	@$(TEST) build-tsan $(THREADED)

fuzz: build-fuzz/build.ninja
	$(call build,build-fuzz)
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

torture: build-test/build.ninja
	$(call build,build-test)
	@tools/abuse/torture build-test/halley build-test/tests/torture/fault.so $(TORTURE)
	@tools/abuse/kill9 build-test/halley 500
	@tools/abuse/bombs build-test/halley --verbose

soak: all
	@tools/abuse/soak-serve build/halley $(SOAK_SECONDS)

sbom: all
	@tools/build/sbom build/halley build/halley.spdx.json

coverage: build-coverage/build.ninja
	$(call build,build-coverage)
	@$(TEST) build-coverage
	@tools/coverage build-coverage
	@echo "by file: build-coverage/coverage.txt"

bench: setup-dev all
	@bench/run build

cases: all
	@tools/cases build/halley

python-test: all | setup-python
	@tools/python-test build

web-test: all | setup-web
	@tools/web-test build

build-deb/build.ninja: | setup-deb
	@meson setup build-deb --prefix=/usr --libdir=lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH) > /dev/null

deb: build-deb/build.ninja | setup-deb
	$(call build,build-deb,product)
	@tools/build/deb build-deb dist
	@tools/build/check-deb dist

wheel: all
	@tools/setup python
	@/usr/bin/python3 tools/build/wheel_backend.py dist

install: all
	@meson configure build -Dprefix=$(PREFIX)
	$(call build,build,product)
	@meson install -C build --no-rebuild --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

clean:
	@rm -rf build build-test build-asan build-tsan build-coverage build-fuzz build-deb dist
