// SPDX-License-Identifier: Apache-2.0

package testkit

import "testing"

func TestPrometheusIsFetched(t *testing.T) {
	isFetched(t, Prometheus, "bin/prometheus", "bin/promtool")
}

func TestProxiesAreFetched(t *testing.T) {
	isFetched(t, Proxies, "bin/caddy", "bin/nginx")
}

func TestSchemathesisIsFetched(t *testing.T) {
	isFetched(t, Schemathesis, "schemathesis/__init__.py")
}
