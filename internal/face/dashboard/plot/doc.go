// SPDX-License-Identifier: Apache-2.0

// Package plot draws the dashboard's pictures as SVG: score bars, meters, curves and
// bars for days. They have no style of their own: classes of the stylesheet give colours,
// so that one picture serves light and dark, and no rule of the page's Content Security
// Policy has to be loosened.
//
// A picture of numbers has role="img" and says its finding; a bar beside its number is
// hidden from screen readers. Widths are in units of the viewBox, about a pixel each.
package plot
