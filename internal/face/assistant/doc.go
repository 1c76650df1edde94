// SPDX-License-Identifier: Apache-2.0

// Package assistant lets a language model ask hinged, by the Model Context Protocol
// (modelcontextprotocol.io): verbs of the desk are tools. It sends no text of a message's body,
// and what mail says is marked as data.
package assistant
