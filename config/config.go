// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"time"
)

// Config is the whole of a configuration file, defaults filled in and every
// value checked. Nothing changes it after Parse; it may be read concurrently.
type Config struct {
	StateDir string `toml:"state_dir"`
	Socket   string `toml:"socket"`
	// FilterSocket is the socket for filters of a mail server; "": none.
	FilterSocket string `toml:"filter_socket,omitempty"`
	LogLevel     string `toml:"log_level"`
	LogFormat    string `toml:"log_format"`
	// MemoryLimit is how many bytes of memory the process may use; 0: as many as its
	// container, if that has a limit.
	MemoryLimit int     `toml:"memory_limit"`
	Backups     Backups `toml:"backups"`
	// Dashboard is nil without a section [dashboard]: no port is opened.
	Dashboard *Dashboard `toml:"dashboard,omitempty"`
	MCP       MCP        `toml:"mcp"`
	// Milter is nil without a section [milter]: no mail server is answered.
	Milter   *Milter   `toml:"milter,omitempty"`
	Accounts []Account `toml:"account,omitempty"`
	// Kafka is nil without a section [kafka]. One of the two is there.
	Kafka *Kafka `toml:"kafka,omitempty"`
}

// Backups says how the daemon makes backups of its store by itself.
type Backups struct {
	Every Duration `toml:"every"` // 0: it makes none
	Keep  int      `toml:"keep"`
	Dir   string   `toml:"dir"`
}

// MCP says what an assistant may do that `hinged mcp` serves.
type MCP struct {
	Teach bool `toml:"teach"` // label messages
}

// Account is one owner's mail: where it is, how it is judged and how marked.
type Account struct {
	Name  string   `toml:"name"`
	Owner []string `toml:"owner"` // bare addresses, lower case, at least one
	// Recipients are the addresses whose mail the account gets, as Owner; nil: those of Owner.
	Recipients []string `toml:"recipients,omitempty"`
	Mark       []string `toml:"mark"` // keywords and flags as the server is to store them, at least one or MarkCopy
	// Companion is a keyword beside each mark; "": none.
	Companion string `toml:"companion"`
	// MarkCopy is a folder into which a copy of each important message is put; "": none.
	MarkCopy string `toml:"mark_copy"`
	// MarkWithin is how old a message may be when it is found, to be marked; 0: of any
	// age.
	MarkWithin Duration `toml:"mark_within"`
	IMAP       IMAP     `toml:"imap"`
	Judging             // its keys are in this same table
	// Notify are the ways to tell the owner of important mail; none: hinged tells nobody.
	Notify []Notify `toml:"notify,omitempty"`
	// Digest is nil for an account that gets no digest mail.
	Digest *Digest `toml:"digest,omitempty"`
	// AddressBook is nil for an account without one.
	AddressBook *AddressBook `toml:"address_book,omitempty"`
}

// Judging is how an account's mail is judged, wherever it comes from.
type Judging struct {
	TimeZone string   `toml:"time_zone"`
	Shadow   string   `toml:"shadow"`
	Settle   Duration `toml:"settle"`
	Silence  Duration `toml:"silence"` // whole days; 0: silence teaches nothing
	// Provisional is after how long silence teaches what can be taken back, and
	// ProvisionalMarked is that of mail which we marked; 0: it does not.
	Provisional       Duration `toml:"provisional"`
	ProvisionalMarked Duration `toml:"provisional_marked"`
	MaxWeights        int      `toml:"max_weights"`
	MaxMessages       int      `toml:"max_messages"`
	KeepDays          int      `toml:"keep_days"` // how long mail is remembered; 0: for ever
	OwedDays          int      `toml:"owed_days"` // after how long without an answer a letter is listed; 0: never
	// Prior is "default", "none", "zero", or the path of a file.
	Prior     string    `toml:"prior"`
	Learner   Learner   `toml:"learner"`
	Threshold Threshold `toml:"threshold"`
	Featurize Featurize `toml:"featurize"`
	Rules     []Rule    `toml:"rule,omitempty"` // the first that matches decides
}

// Rule is the owner's word about all messages of a kind.
type Rule struct {
	Match string `toml:"match"` // a field, a colon and a value, in lower case
	Label string `toml:"label"`
}

// IMAP is how to reach the account's mail.
type IMAP struct {
	Address  string `toml:"address"` // host:port, the port always there
	TLS      string `toml:"tls"`
	CAFile   string `toml:"ca_file,omitempty"`
	CertFile string `toml:"cert_file,omitempty"` // a certificate of ours, and its key
	KeyFile  string `toml:"key_file,omitempty"`
	Auth     string `toml:"auth"`
	Username string `toml:"username"`
	Password        // where the secret is, not the secret; its keys are in this same table
	// Mailboxes to watch; none means INBOX and the special-use mailboxes.
	Mailboxes       []string `toml:"mailboxes"`
	Exclude         []string `toml:"exclude"`
	Shared          []string `toml:"shared"` // those into which others put mail, too
	Folders                  // which mailbox is for what; its keys are in this same table
	PollInterval    Duration `toml:"poll_interval"`
	IdleRestart     Duration `toml:"idle_restart"`
	RecheckInterval Duration `toml:"recheck_interval"`
	// OAuth is nil where the password or token comes from elsewhere.
	OAuth *OAuth `toml:"oauth,omitempty"`
}

// Folders names the mailboxes that have a use. What is "" is found by the special use
// that the server tells, or by its name.
type Folders struct {
	Sent      string `toml:"sent,omitempty"`
	Drafts    string `toml:"drafts,omitempty"`
	Junk      string `toml:"junk,omitempty"`
	Trash     string `toml:"trash,omitempty"`
	Archive   string `toml:"archive,omitempty"`
	Important string `toml:"important,omitempty"`
}

// ByUse returns the names that are set, by their keys.
func (f *Folders) ByUse() map[string]string {
	out := map[string]string{
		"sent": f.Sent, "drafts": f.Drafts, "junk": f.Junk, "trash": f.Trash, "archive": f.Archive, "important": f.Important,
	}
	maps.DeleteFunc(out, func(_, name string) bool { return name == "" })
	return out
}

// Learner chooses the learner and its parameters.
type Learner struct {
	Kind           string  `toml:"kind"`
	Margin         float64 `toml:"margin"`
	Aggressiveness float64 `toml:"aggressiveness"`
	Window         int     `toml:"window"`        // lessons that are replayed
	Steps          int     `toml:"steps"`         // of replay for each message
	KernelDegree   int     `toml:"kernel_degree"` // 0: no kernel
	MaxSupports    int     `toml:"max_supports"`  // examples that a kernel learner keeps
}

// Threshold chooses how much is marked.
type Threshold struct {
	Mode        string  `toml:"mode"`
	Precision   float64 `toml:"precision"` // auto: of what is marked at least this share is important
	Missed      float64 `toml:"missed"`    // missed: at most this share of what is important goes unmarked
	Share       float64 `toml:"share"`     // of all mail, above 0 and below 1
	PerDay      int     `toml:"per_day"`   // marks a day at most; 0: no limit
	Cost        float64 `toml:"cost"`      // false alarms that one missed message is worth
	Value       float64 `toml:"value"`     // the score, when the mode is fixed
	UnsureShare float64 `toml:"unsure_share"`
}

// Featurize chooses how a message becomes a vector.
type Featurize struct {
	MaxBytes   int    `toml:"max_bytes"`
	Names      bool   `toml:"names"`
	NamesDays  int    `toml:"names_days"` // for which words are kept
	AuthservID string `toml:"authserv_id,omitempty"`
	Subaddress string `toml:"subaddress"`
	Shares     Shares `toml:"shares"`
}

// Shares are the parts of the vector's length that the groups of features get.
// Only their proportions count.
type Shares struct {
	Misc    float64 `toml:"misc"`
	Social  float64 `toml:"social"`
	Subject float64 `toml:"subject"`
	Body    float64 `toml:"body"`
	Affine  float64 `toml:"affine"`
}

// The choices that keys offer, in the order in which messages name them.
var (
	logLevels = []string{"debug", "info", "warn", "error"}
	// leastMemory is the least that memory_limit may be: with less, hinged would collect
	// garbage all the time.
	leastMemory    = 128 << 20
	logFormats     = []string{"auto", "text", "json"}
	shadowModes    = []string{"auto", "on", "off"}
	tlsModes       = []string{"tls", "starttls", "none"}
	authMechanisms = []string{"plain", "login", "xoauth2", "oauthbearer", "external"}
	learnerKinds   = []string{"dual", "passive-aggressive", "margin", "perceptron"}
	thresholdModes = []string{"auto", "missed", "budget", "cost", "fixed"}
	labels         = []string{"important", "ordinary"}
	subaddresses   = []string{"+", "-", "none"}
)

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
		OwedDays:    3,
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
