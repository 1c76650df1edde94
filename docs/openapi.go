// SPDX-License-Identifier: Apache-2.0

// Package docs holds the one page of the documentation that the program needs, too: the
// description of its HTTP API, with which it checks requests.
package docs

import _ "embed"

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the OpenAPI document of the HTTP API, as JSON. The caller must not
// change it. go test ./internal/face/control -update writes it.
func OpenAPI() []byte { return openAPI }
