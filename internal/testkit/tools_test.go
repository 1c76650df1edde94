// SPDX-License-Identifier: Apache-2.0

package testkit

import "testing"

func TestPrometheusIsFetched(t *testing.T) {
	fetched(t, prometheusRoot, "bin/prometheus", "bin/promtool")
}

func TestProxiesAreFetched(t *testing.T) {
	fetched(t, proxiesRoot, "bin/caddy", "bin/nginx")
}

func TestSchemathesisIsFetched(t *testing.T) {
	fetched(t, schemathesis, "schemathesis/__init__.py")
}
