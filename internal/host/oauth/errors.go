// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"golang.org/x/oauth2"
)

// Error says why the authorization server gives no token.
type Error struct {
	text               string
	consent, temporary bool
}

func (e *Error) Error() string { return e.text }

// ConsentNeeded reports whether there will be none before the owner logs in again.
func (e *Error) ConsentNeeded() bool { return e.consent }

// Passes reports whether the same request may well be answered later.
func (e *Error) Passes() bool { return e.temporary }

func (c *Client) consent(why string) *Error {
	return &Error{text: why + "; run `" + c.Login + "`", consent: true}
}

var (
	// codes are those of RFC 6749, section 5.2, of OpenID Connect, section 3.1.2.6, and
	// Microsoft's numbers. Nothing else that the server said is repeated.
	codes = regexp.MustCompile(`^[a-z_]{1,40}$`)
	aadst = regexp.MustCompile(`AADSTS\d{4,8}`)

	consentCodes   = []string{"invalid_grant", "interaction_required", "login_required", "consent_required"}
	clientCodes    = []string{"invalid_client", "unauthorized_client"}
	temporaryCodes = []string{"temporarily_unavailable", "server_error", "slow_down"}
	declinedCodes  = []string{"access_denied", "authorization_declined"}
)

// explain says what an error of a request to address means.
func (c *Client) explain(address string, err error) error {
	host := "the provider"
	if u, bad := url.Parse(address); bad == nil {
		host = u.Host
	}
	var answer *oauth2.RetrieveError
	var unsent *url.Error
	switch {
	case errors.As(err, &answer) && codes.MatchString(answer.ErrorCode):
		return c.explainCode(host, answer.ErrorCode, answer.ErrorDescription)
	case errors.As(err, &answer):
		status := fmt.Sprintf("%d %s", answer.Response.StatusCode, http.StatusText(answer.Response.StatusCode))
		return &Error{text: host + " answered " + status + ", without an error of OAuth", temporary: true}
	case errors.As(err, &unsent):
		return &Error{text: "can't ask " + host + ": " + unsent.Err.Error(), temporary: true}
	}
	return &Error{text: host + " answered with something else than OAuth", temporary: true}
}

func (c *Client) explainCode(host, code, description string) error {
	said := code
	if number := aadst.FindString(description); number != "" {
		said += ", " + number
	}
	switch {
	case slices.Contains(consentCodes, code):
		return c.consent("the consent has ended or was taken back (" + said + ")")
	case slices.Contains(clientCodes, code):
		return &Error{text: host + " doesn't accept client_id or client_secret (" + said + ")"}
	case slices.Contains(declinedCodes, code):
		return &Error{text: "the consent was declined (" + said + ")"}
	case code == "expired_token":
		return errLate
	}
	return &Error{text: host + " refuses (" + said + ")", temporary: slices.Contains(temporaryCodes, code)}
}

var errLate = &Error{text: "nobody consented in time; run it again"}
