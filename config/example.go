package config

import (
	"bytes"
	"fmt"
	"strings"
)

// entry explains one key in the example.
type entry struct {
	comment string
	// optional: the example has the key commented out, with a sample value.
	optional bool
}

// entries explains every key; a test sees to it that none is left out.
var entries = map[string]entry{
	"state_dir":  {"Where the state of all accounts is kept. Default: $STATE_DIRECTORY (set by systemd), else\n$XDG_STATE_HOME/hinged, else ~/.local/state/hinged. Relative paths begin at this file's directory.", true},
	"socket":     {"The control socket, by which `hinged status` and the others reach the daemon.\nDefault: hinged.sock in the state directory.", true},
	"log_level":  {"How much is logged: debug, info, warn or error.", false},
	"log_format": {"How it is logged: text, json, or auto, which is text on a terminal, JSON otherwise.", false},

	"account":                    {"One account. Repeat [[account]] and the tables below it for each further one; each has a state of its own.", false},
	"account.name":               {"Names the account in commands, logs and metrics, and its state on disk.", false},
	"account.owner":              {"Every address that the owner writes from. Mail from them is never marked. It counts as the owner's own, so that\nwhat it answers was important, only if it lies in Sent or the server of featurize.authserv_id vouches for it.", false},
	"account.time_zone":          {"Where the owner's days begin and end, for per_day and silence.", false},
	"account.mark":               {"What to set on important messages; several at once are possible. \"$label1\" is Thunderbird's red Important,\n'\\Flagged' the star that phones show.", false},
	"account.companion":          {"A keyword that is set beside each mark, where the server keeps keywords. It tells other programs, another hinged\namong them, that you didn't set the mark, and tells hinged that it was you who took it off. \"\": none.", false},
	"account.mark_copy":          {"A folder into which a copy of each important message is put, such as \"Important\", for mailboxes that keep no\nkeywords or can only be read; it is made if it is missing. Beside the marks, or instead of\nthem where that list is empty. \"\": none.", false},
	"account.mark_within":        {"Mail that is older than this when hinged finds it is never marked: what is moved or copied to INBOX later,\nor came while hinged was off. \"0s\": of any age. Mail that was read before is not marked either.", false},
	"account.shadow":             {"auto: decide but mark nothing until enough is learnt and the decisions are good (min_precision). on: never mark.\noff: mark from the start.", false},
	"account.settle":             {"A change by the owner counts once it has stood for so long.", false},
	"account.silence":            {"An unmarked message on which the owner did nothing for so many days was ordinary. \"0s\": silence teaches nothing.", false},
	"account.provisional":        {"Silence for so long teaches a provisional no, if the owner was there meanwhile; their answer takes it back.\n\"0s\": only silence of days teaches. Of effect with the learner dual alone.", false},
	"account.provisional_marked": {"The same for a message that hinged has marked and the owner has read; it weighs a third of the other.", false},
	"account.min_important":      {"So many important messages must have been learnt before anything is decided; until then all is \"unsure\".", false},
	"account.min_ordinary":       {"And so many ordinary ones.", false},
	"account.min_precision":      {"With shadow = \"auto\" marks are set once so large a share of those that would have been set lately were right,\nand they were better than knowing the owner's correspondents.", false},
	"account.max_weights":        {"The most weights to keep; the smallest go first. A weight takes about 40 bytes of memory.", false},
	"account.max_messages":       {"The most messages to know of. The oldest go first: what was learnt of them stays, feedback on them comes too\nlate, and one that is moved to another mailbox later is new mail. One takes about half a kilobyte of memory.", false},

	"account.prior": {"What a new account begins with, until its own lessons outweigh it (docs/prior.md): default, weights that name\nnobody, made of two technical mailing lists; none; or a file that `hinged prior` wrote. An account that has\nlearnt something keeps what it has.", false},

	"account.imap":                     {"The IMAP server.", false},
	"account.imap.address":             {"Host, with a port unless it is the usual one: 993 for tls, else 143.", false},
	"account.imap.tls":                 {"tls, starttls, or none: then password and mail cross the network in the clear.", false},
	"account.imap.ca_file":             {"Certificates to trust instead of the system's, PEM.", true},
	"account.imap.cert_file":           {"A certificate that shows the server who connects, beside the password, PEM; and its private key.", true},
	"account.imap.key_file":            {"The private key of cert_file.", true},
	"account.imap.auth":                {"plain, login, xoauth2 or oauthbearer. The last two take an access token for a password.", false},
	"account.imap.username":            {"The name to log in with.", false},
	"account.imap.password_file":       {"Where the password is: one of these four. It is read anew for each connection.", false},
	"account.imap.password_command":    {"A program that prints it, with its arguments; no shell is involved.", true},
	"account.imap.password_env":        {"A variable of the environment.", true},
	"account.imap.password_credential": {"A credential of systemd's LoadCredential=.", true},
	"account.imap.mailboxes":           {"The mailboxes to watch. None: INBOX and those with a special use (Sent, Junk, Trash, Archive, Important).", false},
	"account.imap.exclude":             {"Mailboxes to leave alone.", false},
	"account.imap.sent":                {"Which mailbox is for what, where the server does not tell (special use) and its name does not either; `hinged\ncheck` says what was found. What lies in sent was written by the owner, and answers to mail are found there.", true},
	"account.imap.drafts":              {"The folder of drafts.", true},
	"account.imap.junk":                {"The folder of spam: moving mail there says that it was ordinary.", true},
	"account.imap.trash":               {"The folder of deleted mail.", true},
	"account.imap.archive":             {"The folder of archived mail.", true},
	"account.imap.important":           {"The folder of important mail: moving mail there says that it was important.", true},
	"account.imap.poll_interval":       {"How often to look into the mailboxes that are not watched live.", false},
	"account.imap.idle_restart":        {"How often to renew a live watch, which servers and routers forget.", false},
	"account.imap.recheck_interval":    {"How often to compare everything, for changes that went by unnoticed.", false},

	"account.learner":                {"How it learns. The defaults measured best on real mail.", false},
	"account.learner.kind":           {"dual, passive-aggressive, margin or perceptron. dual takes the steps of PA-II, and can take them back.", false},
	"account.learner.margin":         {"margin: it learns from every score that is not above this on the right side.", false},
	"account.learner.aggressiveness": {"dual and passive-aggressive: how far one lesson may move the weights (C).", false},
	"account.learner.variant":        {"passive-aggressive: how the step is bounded, 1 by a cap (PA-I) or 2 by a penalty (PA-II).", false},
	"account.learner.window":         {"dual: how many of the last lessons are replayed, with kernel = \"linear\". 0: none, which leaves PA-II.", false},
	"account.learner.steps":          {"dual: how many of them are replayed before each message is scored.", false},
	"account.learner.zero":           {"What a score of exactly 0 predicts: unsure, negative or positive.", false},

	"account.learner.kernel":       {"linear: each feature has a weight of its own. polynomial, normalised and gaussian weigh the examples learnt from,\nand so what features mean together; see docs/results.md for what that is worth. Changing it begins anew.", false},
	"account.learner.degree":       {"polynomial and normalised: up to how many features are taken together.", false},
	"account.learner.gamma":        {"gaussian: how narrow it is, exp(-gamma times the squared distance).", false},
	"account.learner.max_supports": {"With a kernel, the most examples to keep. Each takes about 10 KB of memory.", false},
	"account.learner.forget":       {"What is done beyond that. projectron: the new one is expressed by those there are. oldest or weakest: that one goes.\nforgetron: the oldest goes and the others fade (perceptron with normalised or gaussian). Changing it begins anew.", false},

	"account.threshold":              {"How much is marked.", false},
	"account.threshold.mode":         {"auto: what gave the best F1 lately. budget: a share of the mail. cost: by what a missed message is worth.\nfixed: one score.", false},
	"account.threshold.share":        {"budget: the share of all mail to mark, 0.1 is 10 %.", false},
	"account.threshold.per_day":      {"At most so many marks a day, in any mode. 0: no limit.", false},
	"account.threshold.cost":         {"cost: how many false alarms one missed message is worth.", false},
	"account.threshold.value":        {"fixed: the score above which a message is important.", false},
	"account.threshold.unsure_share": {"At most this share of mail, nearest to the threshold, is \"unsure\" and not marked.", false},

	"account.featurize":             {"How a message becomes numbers. Changes hold for new mail only.", false},
	"account.featurize.values":      {"binary, counts or log-counts of words.", false},
	"account.featurize.max_bytes":   {"How much of a message is read, in bytes.", false},
	"account.featurize.names":       {"Keep the words behind the weights, so that decisions can be explained in them.", false},
	"account.featurize.names_days":  {"For how many days the words of a message are kept, and of the last 2000 messages at most. Its vector is kept longer.", false},
	"account.featurize.authserv_id": {"The name by which the owner's own mail server signs Authentication-Results; no other's are believed. With it,\nsenders that it does not vouch for are told apart from those that it does; without it, From is believed.", true},

	"account.featurize.shares":         {"The weight of each group of features against the others.", false},
	"account.featurize.shares.misc":    {"Other headers and quoted text.", false},
	"account.featurize.shares.social":  {"Who wrote to whom, and where in the thread.", false},
	"account.featurize.shares.subject": {"The subject.", false},
	"account.featurize.shares.body":    {"The sender's own text.", false},
	"account.featurize.shares.affine":  {"The constant that every message has.", false},

	"account.rule":       {"The owner's word about all messages of a kind (docs/rules.md). Repeat it; the first that matches decides.\nOf from: without authserv_id, think that anybody can write it.", true},
	"account.rule.match": {"from:, to: or cc: with an address, from:@ with a domain, list: with a List-Id, subject: with a word.", true},
	"account.rule.label": {"important or ordinary: always.", true},
}

// kafkaEntries explains the keys of [kafka] that an account does not have.
var kafkaEntries = map[string]entry{
	"kafka":                     {"Mail that flows through Kafka (docs/kafka.md): decided, and learnt from, for as many accounts as there are keys.\nEvery process of one group needs the same section. Leave it out where there is no Kafka.", false},
	"kafka.brokers":             {"Where to begin to ask, with port 9092 unless another is given.", false},
	"kafka.group":               {"The consumer group: its processes share the partitions among them.", false},
	"kafka.client_id":           {"What hinged is called in the brokers' logs and quotas.", false},
	"kafka.tls":                 {"tls, or none: then password and mail cross the network in the clear.", false},
	"kafka.ca_file":             {"Certificates to trust instead of the system's, PEM.", true},
	"kafka.cert_file":           {"The certificate to show to brokers that ask for one, PEM.", true},
	"kafka.key_file":            {"And its private key.", true},
	"kafka.sasl":                {"How to log in: none, plain, scram-sha-256 or scram-sha-512.", false},
	"kafka.username":            {"The name to log in with.", true},
	"kafka.password_file":       {"Where the password is: one of these four. It is read anew for each connection.", true},
	"kafka.password_command":    {"A program that prints it, with its arguments; no shell is involved.", true},
	"kafka.password_env":        {"A variable of the environment.", true},
	"kafka.password_credential": {"A credential of systemd's LoadCredential=.", true},
	"kafka.compression":         {"Of what hinged produces: none, gzip, snappy, lz4 or zstd.", false},
	"kafka.max_message_bytes":   {"A record whose value is longer, decompressed, is a dead letter.", false},
	"kafka.snapshot_every":      {"A partition's state goes to the topic of snapshots after so many of its records.", false},
	"kafka.snapshot_interval":   {"And after so long, if there was any.", false},
	"kafka.create_topics":       {"Make the topics that are missing, when hinged starts.", false},
	"kafka.partitions":          {"How many partitions they get. That is for good: it says which account is where.", false},
	"kafka.topics":              {"The topics.", false},
	"kafka.topics.input":        {"Messages, feedback, unlearn, forget and rules come from here.", false},
	"kafka.topics.decisions":    {"Decisions go there.", false},
	"kafka.topics.dead_letters": {"And what could not be used.", false},
	"kafka.topics.snapshots":    {"The state of every partition, for whoever takes it over. As many partitions as the input; compacted.", false},
	"kafka.account":             {"What records don't tell of an account. Repeat it for each that has something to tell.", false},
	"kafka.account.key":         {"The key of its records.", false},
	"kafka.account.owner":       {"Every address that the owner writes from. Where none is given it is the key, if that is an address.", false},
}

// entryOf returns the explanation of a key. The accounts of Kafka are judged by
// the same keys as others.
func entryOf(path string) entry {
	if e, ok := kafkaEntries[path]; ok {
		return e
	}
	if name, ok := strings.CutPrefix(path, "kafka."); ok {
		path = "account." + name
	}
	return entries[path]
}

// exampleConfig is what the example configures: every key has a value.
func exampleConfig() Config {
	c := Defaults()
	c.StateDir = "/var/lib/hinged"
	c.Socket = "/run/hinged/hinged.sock"
	a := DefaultAccount()
	a.Name = "personal"
	a.Owner = []string{"me@example.org"}
	a.IMAP.Address = "imap.example.org"
	a.IMAP.CAFile, a.IMAP.CertFile, a.IMAP.KeyFile = "/etc/hinged/ca.pem", "/etc/hinged/client.pem", "/etc/hinged/client.key"
	a.IMAP.Username = "me@example.org"
	a.IMAP.Password = Password{
		File:       "password",
		Command:    []string{"pass", "show", "mail"},
		Env:        "HINGED_PASSWORD",
		Credential: "imap-password",
	}
	a.IMAP.Mailboxes = []string{}
	a.IMAP.Exclude = []string{}
	a.IMAP.Folders = Folders{
		Sent: "INBOX.Sent", Drafts: "INBOX.Drafts", Junk: "INBOX.Junk", Trash: "INBOX.Trash",
		Archive: "INBOX.Archive", Important: "INBOX.Important",
	}
	a.Featurize.AuthservID = "mx.example.org"
	a.Rules = []Rule{{Match: "from:boss@example.org", Label: "important"}}
	c.Accounts = []Account{a}
	k := DefaultKafka()
	k.Brokers = []string{"kafka.example.org:9093"}
	k.CAFile, k.CertFile, k.KeyFile = "/etc/hinged/ca.pem", "/etc/hinged/client.pem", "/etc/hinged/client.key"
	k.Username = "hinged"
	k.Password = Password{
		File:       "kafka-password",
		Command:    []string{"pass", "show", "kafka"},
		Env:        "HINGED_KAFKA_PASSWORD",
		Credential: "kafka-password",
	}
	k.Featurize.AuthservID = "mx.example.org"
	k.Rules = []Rule{{Match: "list:news.example.org", Label: "ordinary"}}
	k.Accounts = []KafkaAccount{{Key: "ann@example.org", Owner: []string{"ann@example.org", "ann.miller@example.org"}}}
	c.Kafka = &k
	return c
}

// Example returns a configuration file with every key, its default and what it
// is for. It is valid as it stands. What only some need is commented out: with "# "
// a single key, with "#" the section [kafka].
func Example() ([]byte, error) {
	c := exampleConfig()
	plain, err := c.Encode()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("# hinged.toml: every key with its default. Only name, owner and the first keys of [account.imap] are needed.\n# In front of the keys of [kafka] is a # that goes away where they are used.\n\n")
	table := ""
	for line := range strings.Lines(string(plain)) {
		line = strings.TrimRight(line, "\n")
		key, _, _ := strings.Cut(line, " = ")
		path := table + key
		if strings.HasPrefix(line, "[") {
			path = strings.Trim(line, "[]")
			table = path + "."
		}
		e := entryOf(path)
		if e.comment != "" {
			fmt.Fprintf(&out, "# %s\n", strings.ReplaceAll(e.comment, "\n", "\n# "))
		}
		switch {
		case line == "":
		case e.optional:
			out.WriteString("# ")
		case path == "kafka" || strings.HasPrefix(path, "kafka."):
			out.WriteString("#")
		}
		out.WriteString(line + "\n")
	}
	return out.Bytes(), nil
}
