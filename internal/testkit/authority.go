// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Authority issues certificates to clients.
type Authority struct {
	Certificate []byte // its own, PEM

	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

// NewAuthority makes an authority of this name.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{tb: tb}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true, IsCA: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
	}
	a.Certificate, a.key = a.sign(a.cert)
	return a
}

// Issue makes a certificate for a client of this name, which ends at a moment, and
// returns it and its key, both in PEM.
func (a *Authority) Issue(name string, until time.Time) (cert, key []byte) {
	a.tb.Helper()
	cert, private := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-24 * time.Hour), NotAfter: until,
	})
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.tb.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Pair is Issue for a certificate that is good for a day, ready to be shown.
func (a *Authority) Pair(name string) tls.Certificate {
	a.tb.Helper()
	pair, err := tls.X509KeyPair(a.Issue(name, time.Now().Add(24*time.Hour)))
	if err != nil {
		a.tb.Fatal(err)
	}
	return pair
}

// sign signs a certificate for a new key; without a key of its own yet, with that one.
func (a *Authority) sign(template *x509.Certificate) (cert []byte, key *ecdsa.PrivateKey) {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	a.next++
	template.SerialNumber = big.NewInt(a.next)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, signer)
	if err != nil {
		a.tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}
