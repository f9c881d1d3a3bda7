# The everyday commands. `make help` lists them; CMakePresets.json holds the builds behind them.
.DEFAULT_GOAL := build
.PHONY: help deps build demo test faults bench format tidy clean

help:    ## Show this list
	@sed -n 's/^\([a-z]*\): .*## /\1\t/p' Makefile | expand -t 10

deps:    ## Install the Debian packages that building needs (root or sudo)
	@scripts/install_deps.sh

build: deps    ## Build everything, optimised, into build/release/bin
	cmake --preset release
	cmake --build --preset release

demo: deps    ## Train on handwritten digits beside a collector and look at the result; under a minute
	@scripts/demo.sh

test: deps    ## Build and run all tests: plain, with address and undefined sanitizers, with the thread sanitizer
	@scripts/test.sh

faults: deps    ## Run N random schedules of faults (default 50) from SEED on; docs/reliability.md
	@scripts/faults.sh $(or $(N),50) $(or $(SEED),1)

bench: build    ## Run all benchmarks
	@scripts/bench.sh

format: deps    ## Format all C++ files
	@scripts/format.sh

tidy: deps    ## Run clang-tidy over all rooms (a gate of `make test`, too)
	cmake --preset dev
	cmake --build --preset dev --target sideband_proto
	@scripts/tidy.py build/dev

clean:    ## Delete all builds
	rm -rf build
