# SPDX-License-Identifier: Apache-2.0
#
# make test     everything that must hold; what .ci/run calls
# make check    what is quick of it, while you work: format, lint, and the unit
#               tests, without servers and without the race detector
# make demo     all of it on generated mail, for a minute; no account is needed
# make run      the daemon: builds it and watches what CONFIG says
# make build    the program: dist/hinged, static, as it is released
# make lab      dist/hinged-lab, with which the theory is seen at work, and its manual
#               pages: dist/man-lab
# make man      the manual pages and the completions of shells: dist/man
# make install  program, manual pages, completions and systemd units, below
#               $(DESTDIR)$(PREFIX); make uninstall takes them away again
# make release [SIGN=KEY]  archives, packages, a container image, bills of materials and checksums
#               for TARGETS, and the source with its modules, the same bytes wherever they
#               are made, signed with an SSH key: dist/release (docs/releasing.md)
# make fuzz     every fuzz target for FUZZTIME each
# make soak     for a night: the requirements on more servers, runs without kills that must
#               agree, 1,000 kills of the daemon of a mailbox, 200 of processes of a stream,
#               more mail, more fuzzing
# make bench    every benchmark
# make bench-scale MTD=FILE OWNER=ADDRESS  bytes, memory and processor time of an account and a message: the
#               table of docs/scale.md
# make learners MTD=FILE MIPS=FILE  every learner on the development streams, as tables
# make bench-quality MTD=FILE MIPS=FILE  hinged beside other tools, under one
#               protocol: the tables of docs/results.md (bench/quality.sh)
# make bench-speed MTD=FILE OWNER=ADDRESS  what a message costs, beside bogofilter and
#               wc -w: the table of docs/results.md (bench/speed.sh)
# make bench-mailbox [ARGS='--questions 3']  made-up private mailboxes, judged by what their
#               owners want, beside other tools where they can be had: the table of
#               docs/results.md (bench/mailbox.sh)
# make pins [MTD=FILE MIPS=FILE GPSD=FILE] [QUICK=1] [UPDATE=1]  whether every decision, score
#               and weight is as scripts/pins.txt has it; with QUICK=1 without servers, with
#               UPDATE=1 it is written
# make life MTD=FILE MIPS=FILE  the development streams lived through on a real mail
#               server: the table of docs/results.md
# make attacks  poison and good words, and every kind of forged mail against a real mail server: the tables of
#               docs/security.md
# make demo-picture  docs/demo.svg, from a real run of the demo
# make screenshots  every page of the dashboard, light, dark and on a phone, from made-up
#               mail: dist/screenshots; those that the documentation shows: docs/screenshots
# make recording MTD=FILE  docs/first-ten-minutes.cast and .svg: from init to live mail
#               on a real mail server; it takes npx, for what draws
# make notice   NOTICE, with the licences of all modules that are linked
# make setup fmt lint plain race project e2e: the steps of make test; make first: the
#               first three at once
#
# Go and make are all that is needed. make test says what it left out for want
# of Dovecot, Java and Maven (for Apache Kafka and GreenMail), qemu-user or a C
# compiler; as root, HINGED_INSTALL=1 installs them. Cyrus and Courier, which conflict
# with Dovecot's packages, are unpacked below the user's cache; they run as root only.

GO       ?= go
PREFIX   ?= /usr/local
FUZZTIME ?= 30s
BENCH    ?= .
PKG      ?= ./...
CONFIG   ?= hinged.toml

# The linter is built once for each checkout, at this version.
LINT_VERSION := v2.15.0
LINT         := $(CURDIR)/.bin/golangci-lint-$(LINT_VERSION)

# What a released binary is built with.
#   prod  the word segmenter's big tables: words outside ASCII are found 2.6 times
#         as fast, for 72 s more of compiling, once, as the build cache keeps
#         them. Tests are compiled without; that both give the same state is
#         tested in internal/project.
TAGS    ?= prod
VERSION ?= $(shell cat VERSION)
# The commit of an archive of the source is written in it. A checkout's is known to the compiler.
LDFLAGS ?= -s -w -X main.version=$(VERSION) $(if $(wildcard COMMIT),-X main.commit=$(COMMIT))
BUILD    = CGO_ENABLED=0 $(GO) build -trimpath $(NODEBUG) -tags '$(TAGS)' -ldflags '$(LDFLAGS)'

# The compiler does not write for debuggers what the linker would leave out again: a
# seventh of its time.
NODEBUG = -gcflags=all=-dwarf=false

# Compiling is most of what make test does, so every step but the race detector's
# compiles alike, as a release is compiled: the cache then has each package once.
# The compiler also collects garbage less often, a tenth of its time. Tests run with the
# collector that users have.
check lint project e2e plain: export CGO_ENABLED = 0
check setup lint project e2e plain race: export GOFLAGS := $(GOFLAGS) -trimpath $(NODEBUG) '-toolexec=env GOGC=400'

# The race detector needs cgo and a C compiler. Expanded when used: setup may
# have installed one.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)

# Only a test that hangs comes to this limit, however busy the machine is.
PATIENT = -timeout 1h

# The race detector keeps each process for a second after its end, in case a race
# shows yet.
RACING = GORACE=atexit_sleep_ms=20 $(GO) test -vet=off $(RACE) $(PATIENT) $(WAITING)

# Tests of servers and of scripts mostly wait.
WAITING = -p 2 -parallel 4

# Two packages have a step each: internal/project, which compiles for several
# processors, and internal/e2e, which starts mail servers and kills daemons. Both
# build the program by themselves, of which the cache of test results knows nothing.
TESTED = $(filter-out ./internal/project ./internal/e2e,$(shell $(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... | sed 's|^$(CURDIR)|.|'))

# Packages with something to race are tested under the race detector, the others without.
# What takes longest goes first.
RACED = $(filter $(TESTED),$(shell sh scripts/raced.sh))
FIRST = ./internal/run/stream ./store/boltfile

.NOTPARALLEL:
.PHONY: demo run test check first setup fmt lint project race plain e2e build lab man install uninstall release fuzz soak bench learners attacks life bench-mailbox bench-quality bench-scale bench-speed pins demo-picture screenshots recording notice clean

# One step after the other: each keeps two processors busy by itself. Two at once took as long,
# and tests failed because they got too little of a processor.
test: first
	@$(MAKE) -k --no-print-directory race plain project e2e

check: fmt lint
	@echo '== go test -short'
	@$(GO) test -short $(PATIENT) $(FIRST) $(filter-out $(FIRST),$(TESTED)) ./internal/project

setup:
	@GO='$(GO)' sh scripts/setup.sh

fmt:
	@echo '== gofmt'
	@files=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .) || exit 1; \
	if [ -n "$$files" ]; then echo 'not formatted (gofmt -w):'; echo "$$files"; exit 1; fi

lint:
	@echo '== golangci-lint $(LINT_VERSION)'
	@GO='$(GO)' sh scripts/lint.sh '$(LINT)' '$(LINT_VERSION)'

project:
	@echo '== the project as a whole: imports, clocks, digests, an empty root'
	@$(GO) test -vet=off -count=1 $(PATIENT) ./internal/project

# Tests that compute for long and race nothing that others don't, and those that take fewer
# rounds under the race detector, with their packages: their first line calls
# testkit.Computes or testkit.Rounds.
COMPUTING = testkit\.(Computes|Rounds)\(t[,)]
COMPUTES = $(shell grep -rhE -B1 --include='*_test.go' '$(COMPUTING)' . | grep -o 'Test[A-Za-z0-9]*' | paste -sd'|')
COMPUTERS = $(filter $(RACED),$(patsubst %/,%,$(sort $(dir $(shell grep -rlE --include='*_test.go' '$(COMPUTING)' .)))))

race:
	@echo '== go test $(RACE)'
	@$(RACING) $(FIRST) $(filter-out $(FIRST),$(RACED))

# The release is compiled meanwhile: its largest package keeps one core busy for a minute,
# and project and e2e, which both want it, would each compile it.
plain:
	@echo '== go test, where nothing can race'
	@$(BUILD) -o /dev/null ./cmd/hinged & release=$$!; \
	$(GO) test -vet=off $(PATIENT) $(WAITING) $(filter-out $(RACED),$(TESTED)) && \
	$(GO) test -vet=off $(PATIENT) $(WAITING) -run '^($(COMPUTES))$$' $(COMPUTERS); tests=$$?; \
	wait $$release && [ $$tests = 0 ]

e2e:
	@echo '== the whole, on a real mail server'
	@$(GO) test -vet=off -parallel 6 -count=1 $(PATIENT) ./internal/e2e

# One waits for packages and registries; the others compute, and need none of them. Their
# output comes after its own.
first:
	@out=$$(mktemp) || exit 1; \
	$(MAKE) -k --no-print-directory fmt lint >"$$out" 2>&1 & \
	trap 'kill $$!; rm -f "$$out"; exit 1' INT TERM; \
	$(MAKE) --no-print-directory setup; one=$$?; \
	wait $$!; other=$$?; cat "$$out"; rm -f "$$out"; \
	[ $$one = 0 ] && [ $$other = 0 ]

# Without inlining, and with a compiler that seldom collects its garbage, a first build takes
# half the time (docs/decisions/program.md).
SOON ?= -gcflags 'all=-l -dwarf=false'
demo:
	@mkdir -p dist
	@echo 'Compiling hinged. The first time this takes about half a minute on two processors.'
	@CGO_ENABLED=0 GOGC=400 $(GO) build $(SOON) -ldflags '-s -w' -o dist/hinged-demo ./cmd/hinged
	@exec dist/hinged-demo demo

# Without a configuration it asks for a mailbox and writes one.
run:
	@mkdir -p dist
	$(GO) build -o dist/hinged ./cmd/hinged
	@test -f '$(CONFIG)' || dist/hinged init --config '$(CONFIG)'
	@exec dist/hinged run --config '$(CONFIG)'

build:
	@mkdir -p dist
	$(BUILD) -o dist/hinged ./cmd/hinged

lab:
	@mkdir -p dist
	CGO_ENABLED=0 $(GO) build -trimpath $(NODEBUG) -ldflags '-s -w' -o dist/hinged-lab ./cmd/hinged-lab
	@rm -rf dist/man-lab
	$(MANUAL) --lab dist/man-lab

MANUAL = SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} CGO_ENABLED=0 \
	$(GO) run -trimpath $(NODEBUG) -tags manual -ldflags '-X main.version=$(VERSION)' ./cmd/hinged manual

man:
	@rm -rf dist/man
	$(MANUAL) dist/man

# Where things go, relative to PREFIX, is where systemd, man and the shells look
# both below /usr and /usr/local and below ~/.local. BSD's install has no -D.
SHARE = $(DESTDIR)$(PREFIX)/share

install: build man
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/systemd/system' '$(SHARE)/systemd/user' \
		'$(SHARE)/man/man1' '$(SHARE)/man/man5' '$(SHARE)/doc/hinged' '$(SHARE)/bash-completion/completions' \
		'$(SHARE)/zsh/site-functions' '$(SHARE)/fish/vendor_completions.d'
	install -m 0755 dist/hinged '$(DESTDIR)$(PREFIX)/bin/hinged'
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|' deploy/hinged.service > '$(DESTDIR)$(PREFIX)/lib/systemd/system/hinged.service'
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|' deploy/hinged-user.service > '$(SHARE)/systemd/user/hinged.service'
	install -m 0644 LICENSE NOTICE '$(SHARE)/doc/hinged'
	install -m 0644 dist/man/*.1 '$(SHARE)/man/man1'
	install -m 0644 dist/man/*.5 '$(SHARE)/man/man5'
	install -m 0644 dist/man/hinged '$(SHARE)/bash-completion/completions/hinged'
	install -m 0644 dist/man/_hinged '$(SHARE)/zsh/site-functions/_hinged'
	install -m 0644 dist/man/hinged.fish '$(SHARE)/fish/vendor_completions.d/hinged.fish'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/hinged' '$(DESTDIR)$(PREFIX)/lib/systemd/system/hinged.service' \
		'$(SHARE)/systemd/user/hinged.service' '$(SHARE)'/man/man1/hinged.1 '$(SHARE)'/man/man1/hinged-*.1 \
		'$(SHARE)/doc/hinged/LICENSE' '$(SHARE)/doc/hinged/NOTICE' '$(SHARE)/man/man5/hinged.toml.5' '$(SHARE)/bash-completion/completions/hinged' \
		'$(SHARE)/zsh/site-functions/_hinged' '$(SHARE)/fish/vendor_completions.d/hinged.fish'

TARGETS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,freebsd/amd64
RELEASE ?= dist/release
COMMIT  ?= $(shell cat COMMIT 2>/dev/null || git rev-parse HEAD 2>/dev/null)

release:
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} \
		$(GO) -C scripts/release run . -root '$(CURDIR)' -out '$(abspath $(RELEASE))' -go '$(GO)' \
		-version '$(VERSION)' -commit '$(COMMIT)' -tags '$(TAGS)' -targets '$(TARGETS)'
	$(if $(SIGN),ssh-keygen -Y sign -n file -f '$(SIGN)' '$(RELEASE)/SHA256SUMS')

fuzz:
	@GO='$(GO)' sh scripts/fuzz.sh '$(FUZZTIME)' $(PKG)

# With three brokers each record is on all of them, and two must have it: so run all tests with
# a Kafka of their own.
soak:
	HINGED_SERVERS=4 $(GO) test -count=1 -v -run 'TestR[0-9]' -timeout 3h ./internal/e2e
	HINGED_KILL_TIMES=0 HINGED_MONTH_KILLS=0 HINGED_KILL_MESSAGES=2000 HINGED_MONTH_MESSAGES=5000 $(GO) test -count=3 -v -run 'Kill(AtRandom|AKernel)|AMonth' -timeout 3h ./internal/e2e
	HINGED_KILL_OWNERS=10 HINGED_KILL_TIMES=100 HINGED_MONTH_KILLS=60 HINGED_KILL_MESSAGES=2000 HINGED_MONTH_MESSAGES=5000 $(GO) test $(RACE) -count=1 -v -run 'Kill|AMonth' -timeout 8h ./internal/e2e
	HINGED_STREAM_MESSAGES=20000 HINGED_STREAM_ACCOUNTS=200 HINGED_STREAM_TURNS=400 HINGED_STREAM_KILLS=200 HINGED_STREAM_BROKERS=3 $(GO) test $(RACE) -count=1 -v -run ThreeProcesses -timeout 6h ./internal/e2e
	HINGED_KAFKA_BROKERS=3 $(GO) test -count=1 -parallel 2 -timeout 1h ./internal/run/stream ./internal/run/deadletters ./internal/program/setup
	HINGED_KAFKA_BROKERS=3 $(GO) test -count=1 -v -parallel 2 -run 'AMailboxAndATopic|Reload|RollingUpgrade|CatchUp|PrometheusScrapes|PagesCommands' -timeout 1h ./internal/e2e
	HINGED_STREAM_MESSAGES=120000 HINGED_STREAM_MIB=512 $(GO) test -count=1 -v -run ACatchUp -timeout 1h ./internal/e2e
	HINGED_LOAD_SECONDS=60 HINGED_LOAD_ROUNDS=30 $(GO) test -count=1 -run '^$$' -bench DashboardLoad -benchtime 1x -timeout 3h ./internal/e2e
	$(MAKE) fuzz FUZZTIME=10m

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

learners:
	@GO='$(GO)' sh scripts/learners.sh '$(MTD)' '$(MIPS)'

bench-mailbox:
	@GO='$(GO)' sh bench/mailbox.sh $(ARGS)

bench-quality:
	@GO='$(GO)' sh bench/quality.sh '$(MTD)' '$(MIPS)'

# The owner that linux-mtd is measured with.
OWNER  ?= miquel.raynal@bootlin.com
ROUNDS ?= 5

bench-speed:
	@GO='$(GO)' sh bench/speed.sh '$(MTD)' '$(OWNER)' '$(ROUNDS)'

bench-scale: export HINGED_BENCH_MBOX = $(abspath $(MTD))
bench-scale: export HINGED_BENCH_OWNER = $(OWNER)
bench-scale:
	@test -f '$(MTD)' || { echo 'usage: make bench-scale MTD=FILE OWNER=ADDRESS (real mail, a year of it)' >&2; exit 2; }
	$(GO) test -run '^$$' -bench 'Scale$$' -benchtime 1x -timeout 1h ./internal/run/writer
	$(GO) test -run '^$$' -bench 'Growth$$|Written' -benchtime 1x -timeout 1h ./internal/run/writer

attacks:
	$(GO) test -count=1 -v -run 'Attacks$$' ./internal/account/filter
	$(GO) test -count=1 -v -run 'Attacks$$' ./internal/e2e -attack-table

pins: export HINGED_MTD = $(abspath $(MTD))
pins: export HINGED_MIPS = $(abspath $(MIPS))
pins: export HINGED_GPSD = $(abspath $(GPSD))
pins:
	@GO='$(GO)' QUICK='$(QUICK)' UPDATE='$(UPDATE)' sh scripts/pins.sh

life:
	HINGED_MTD='$(abspath $(MTD))' HINGED_MIPS='$(abspath $(MIPS))' $(GO) test -count=1 -v -run 'TestLife$$' -timeout 3h ./internal/e2e

demo-picture:
	@GO='$(GO)' sh scripts/demo-picture.sh docs/demo.svg

recording:
	HINGED_MTD='$(abspath $(MTD))' $(GO) test -count=1 -run 'TestTheFirstTenMinutes$$' ./internal/e2e -record '$(CURDIR)/docs/first-ten-minutes.cast'
	npx --yes svg-term-cli@2.1.1 --in docs/first-ten-minutes.cast --out docs/first-ten-minutes.svg --window

# The pictures of the documentation are a few, since git keeps each that ever was.
screenshots:
	@mkdir -p docs/screenshots
	$(GO) test -count=1 -run 'TestEveryPageIsForEverybody$$' ./internal/e2e -screenshots '$(CURDIR)/dist/screenshots'
	cd dist/screenshots && cp overview-light.png message-light.png ../../docs/screenshots/

notice:
	$(GO) test -count=1 -run NOTICE ./internal/project -update

clean:
	rm -rf dist .bin
