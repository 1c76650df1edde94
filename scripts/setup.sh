#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prepares `make test`: fetches the modules, looks for the programs that some
# tests need besides Go, and says in one line each what will be left out for
# want of one. As root, and with CI=true or HINGED_INSTALL=1, it installs them
# from Debian's packages first. With CI=true a missing one is a failure.
set -eu

GO=${GO:-go}
PATH=$PATH:/usr/sbin:/sbin
cc=$($GO env CC)

# missing prints the names of the packages whose programs are not there.
missing() {
	command -v dovecot >/dev/null || echo dovecot-imapd
	command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null || echo qemu-user
	command -v "${cc%% *}" >/dev/null || echo gcc
	command -v script >/dev/null || echo bsdutils
	command -v git >/dev/null || echo git
	command -v kcat >/dev/null || echo kcat
	command -v jq >/dev/null || echo jq
	command -v java >/dev/null || echo default-jre-headless
	command -v mvn >/dev/null || echo maven
	command -v curl >/dev/null || echo curl
	command -v procmail >/dev/null || echo procmail
	command -v maildrop >/dev/null || echo maildrop
	command -v fdm >/dev/null || echo fdm
	command -v postfix >/dev/null || echo postfix
	command -v mutt >/dev/null || echo mutt
	command -v neomutt >/dev/null || echo neomutt
	command -v aerc >/dev/null || echo aerc
	command -v mbsync >/dev/null || echo isync
	command -v offlineimap >/dev/null || echo offlineimap3
	command -v tmux >/dev/null || echo tmux
	command -v systemd-analyze >/dev/null || echo systemd
	command -v chromium >/dev/null || echo chromium
	[ -e /usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf ] || echo fonts-liberation
	[ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || echo fonts-dejavu-core
	python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
	command -v rpm >/dev/null || echo rpm
	command -v ssh-keygen >/dev/null || echo openssh-client
	command -v buildah >/dev/null || echo buildah
	[ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
	[ -e /lib/systemd/systemd ] || echo systemd
	command -v nsenter >/dev/null || echo util-linux
	[ -e /usr/lib/dovecot/lmtp ] || echo dovecot-lmtpd
	[ -e /usr/lib/dovecot/modules/sieve/lib90_sieve_extprograms_plugin.so ] || echo dovecot-sieve
}

echo "== set-up: $($GO version), $(getconf _NPROCESSORS_ONLN 2>/dev/null || echo some) cores"

if [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
	{ [ "${CI:-}" = true ] || [ "${HINGED_INSTALL:-}" = 1 ]; }; then
	packages=$(missing | sed 's/^gcc$/gcc libc6-dev/')
	echo "installing:" $packages
	log=$(mktemp)
	# The tests start servers of their own; the packages shall not start theirs.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		trap 'rm -f $policy' EXIT
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
	fi
	export DEBIAN_FRONTEND=noninteractive
	if ! { apt-get update && apt-get install -y --no-install-recommends $packages; } >"$log" 2>&1 </dev/null; then
		echo "apt-get failed:" >&2
		tail -n 20 "$log" >&2
	fi
	rm -f "$log"
fi

$GO mod download
$GO -C scripts/release mod download

# Servers and tools that no package installs are fetched here, so that no test waits for
# a registry. Tests do that, which are compiled once, as those of make plain are. Registries
# are asked side by side, each for one thing after the other. Prints the names of those that
# cannot be had.
unfetched() {
	tests=$(mktemp -d)
	CGO_ENABLED=0 $GO test -vet=off -c -o "$tests/fetch" ./internal/testkit >&2 || true # nothing is fetched then
	fetch() { (cd internal/testkit && HINGED_FETCH=1 "$tests/fetch" -test.count=1 -test.run "^TestFetched\$/^$1\$" >/dev/null) || echo "$1"; }
	if command -v java >/dev/null && command -v mvn >/dev/null; then
		{ fetch kafka; fetch greenmail; } &
	fi
	{ fetch mailservers; fetch prometheus; fetch proxies; } &
	if python3 -m pip --version >/dev/null 2>&1; then
		{ fetch axe; fetch schemathesis; } &
	fi
	fetch maddy &
	wait
	rm -rf "$tests"
}

short=0
for server in $(unfetched); do
	short=1
	case $server in
	kafka) echo "skipped: the tests against a real Apache Kafka (scripts/kafka.sh could not fetch it; is there a network?)" ;;
	greenmail) echo "skipped: the tests against a real GreenMail (scripts/greenmail.sh could not fetch it; is there a network?)" ;;
	maddy) echo "skipped: the tests against a real maddy (scripts/maddy.sh could not build it; is there a network, and a C compiler?)" ;;
	axe) echo "skipped: how accessible the dashboard's pages are (scripts/axe.sh could not fetch axe-core; is there a network?)" ;;
	schemathesis) echo "skipped: the HTTP API tested by its description (scripts/schemathesis.sh could not fetch Schemathesis; is there a network?)" ;;
	prometheus) echo "skipped: metrics, alerts and the Grafana dashboard on a real Prometheus (they need Debian's package tools, and what scripts/prometheus.sh fetches)" ;;
	proxies) echo "skipped: the dashboard behind a real Caddy and nginx (they need Debian's package tools, and what scripts/proxies.sh fetches)" ;;
	mailservers) echo "skipped: the tests against a real Cyrus and Courier (they need root, Debian's package tools, and what scripts/mailservers.sh fetches)" ;;
	esac
done
for package in $(missing); do
	short=1
	case $package in
	dovecot-imapd) echo "skipped: the tests against a real IMAP server (no dovecot here; package dovecot-imapd)" ;;
	qemu-user) echo "skipped: the same state on arm64 (no qemu-aarch64 here; package qemu-user)" ;;
	curl | procmail | maildrop | fdm | postfix | dovecot-lmtpd | dovecot-sieve)
		echo "skipped: recipes of docs/mail-filters.md, run as printed (package $package)" ;;
	mutt | neomutt | aerc | isync | offlineimap3 | tmux)
		echo "skipped: what mail programs show, docs/mail-programs.md (package $package)" ;;
	systemd) echo "skipped: how well the units of deploy/ confine hinged (package systemd)" ;;
	chromium | fonts-*) echo "skipped: the dashboard in a real browser (package $package)" ;;
	python3-pip) echo "skipped: how accessible the dashboard's pages are, and the HTTP API tested by its description (package $package)" ;;
	buildah | ca-certificates) echo "skipped: the container image, built and run (package $package)" ;;
	util-linux) echo "skipped: a service manager (package util-linux)" ;;
	rpm) echo "skipped: what is in the package for RPM (package rpm)" ;;
	openssh-client) echo "skipped: how a release is made, signed and verified (package openssh-client)" ;;
	kcat | jq) echo "skipped: the commands of docs/kafka.md, run as printed (package $package)" ;;
	bsdutils | git) echo "skipped: the commands of README and pages, run as printed (package $package)" ;;
	default-jre-headless | maven) echo "skipped: the tests against a real Apache Kafka and GreenMail (package $package)" ;;
	gcc) echo "skipped: the race detector (no C compiler here; packages gcc, libc6-dev)" ;;
	esac
done
if [ "$($GO env CGO_ENABLED)" != 1 ] && command -v "${cc%% *}" >/dev/null; then
	short=1
	echo "skipped: the race detector (cgo is off: go env CGO_ENABLED)"
fi
if [ $short = 1 ]; then
	if [ "${CI:-}" = true ]; then
		echo "CI=true, and something above is missing" >&2
		exit 1
	fi
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "HINGED_INSTALL=1 make test installs what is missing"
	fi
fi
