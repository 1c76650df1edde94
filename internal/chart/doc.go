// SPDX-License-Identifier: Apache-2.0

// Package chart draws how counts grow, each as a line beside the most that it can be,
// into an SVG or PNG file. It knows nothing of what is counted. gonum.org/v1/plot does
// the drawing.
package chart
