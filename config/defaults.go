// SPDX-License-Identifier: Apache-2.0

package config

import "time"

// Defaults returns the configuration of an empty file: no accounts, and the
// directories still to be found from the environment.
func Defaults() Config {
	return Config{LogLevel: "info", LogFormat: "auto", Backups: Backups{Every: Duration(day), Keep: 3}}
}

// DefaultAccount returns the values of the keys that an account leaves out.
// The command line takes its defaults from here too, so that the two cannot
// differ.
func DefaultAccount() Account {
	return Account{
		Mark:       []string{"$Important"},
		Companion:  "$Hinged",
		MarkWithin: Duration(3 * day),
		IMAP: IMAP{
			TLS:             "tls",
			Auth:            "plain",
			PollInterval:    Duration(time.Minute),
			IdleRestart:     Duration(8 * time.Minute),
			RecheckInterval: Duration(10 * time.Minute),
		},
		Judging: defaultJudging(),
	}
}

func defaultJudging() Judging {
	return Judging{
		TimeZone: "UTC",
		Shadow:   "auto",
		Settle:   Duration(60 * time.Second),
		Silence:  Duration(7 * day),

		Provisional:       Duration(6 * time.Hour),
		ProvisionalMarked: Duration(3 * day),

		MaxWeights:  1 << 20,
		MaxMessages: 100_000,
		Prior:       "default",
		Learner: Learner{
			Kind:           "dual",
			Margin:         1,
			Aggressiveness: 0.2,
			Window:         1000,
			Steps:          13,
			MaxSupports:    2000,
		},
		Threshold: Threshold{
			Mode:        "auto",
			Precision:   0.45,
			Missed:      0.05,
			Share:       0.1,
			Cost:        3,
			UnsureShare: 0.03,
		},
		Featurize: Featurize{
			MaxBytes:   16 << 20,
			Names:      true,
			NamesDays:  30,
			Subaddress: "+",
			Shares:     Shares{Misc: 1, Social: 1, Subject: 0.8, Body: 1.2, Affine: 0.3},
		},
	}
}
