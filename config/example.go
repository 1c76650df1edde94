// SPDX-License-Identifier: Apache-2.0

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
	"state_dir":     {"The directory for the state of all accounts. Default: $STATE_DIRECTORY (set by systemd), otherwise\n$XDG_STATE_HOME/hinged, otherwise ~/.local/state/hinged. A relative path starts at this file's directory.", true},
	"socket":        {"The control socket through which `hinged status` and other commands reach the daemon.\nDefault: hinged.sock in the state directory.", true},
	"filter_socket": {"A socket for the filters of a mail server. It says what a message is, and does nothing else. It is for the user and the group\nthat hinged runs as, so give it a directory that they can enter, such as systemd's RuntimeDirectory=. Default: none.", true},
	"log_level":     {"The least level to log: debug, info, warn or error.", false},
	"log_format":    {"The format of the log: text, json, or auto. On a terminal, auto shows what hinged does, with senders and subjects;\nelsewhere it is json. text and json are logs without senders and subjects, even on a terminal.", false},
	"memory_limit":  {"How much memory hinged may use, in bytes. It bounds what is read ahead and the accounts in memory, and garbage is\ncollected in time. 0: nine tenths of what the container may use, if that has a limit, or GOMEMLIMIT.", false},

	"backups":       {"Backups of the whole state that `hinged run` makes by itself. `hinged restore` puts one back.", false},
	"backups.every": {"How often. \"0s\": never. Without an [[account]], when all mail comes through Kafka, the default is never.", false},
	"backups.keep":  {"How many to keep. Each may be as large as the store. Older ones are deleted when a newer one was checked.", false},
	"backups.dir":   {"The directory for them. Default: backups in the state directory. Another disk is better.", true},

	"dashboard":                         {"Your accounts in a browser, with the HTTP API and metrics (docs/dashboard.md). Without this section, no port is opened.", false},
	"dashboard.listen":                  {"The address and port to listen on. Without a [[dashboard.user]] it must be of this machine alone.\n`hinged dashboard` prints a link that opens it.", false},
	"dashboard.cert_file":               {"The certificate (PEM) for HTTPS, with those that it depends on. hinged reads it again when it changes.", true},
	"dashboard.key_file":                {"The private key of cert_file.", true},
	"dashboard.public_url":              {"The address under which browsers reach it, if there is a reverse proxy in front of it.", true},
	"dashboard.session":                 {"How long somebody stays signed in with a password. A link of `hinged dashboard` signs in for 30 days.", false},
	"dashboard.session_idle":            {"The same without opening a page.", false},
	"dashboard.user":                    {"Somebody who may sign in. Repeat it for more.", true},
	"dashboard.user.name":               {"The name to sign in with.", true},
	"dashboard.user.password_hash":      {"The password, as `hinged init --user` prints it. A user needs a password, a token, or both.", true},
	"dashboard.user.password_hash_file": {"The same in a file of its own.", true},
	"dashboard.user.token_file":         {"Where to find a token, with which programs use the API and read the metrics: one of these four, or none. It has at\nleast 16 characters, such as `openssl rand -hex 32` prints. hinged reads it when it starts.", true},
	"dashboard.user.token_command":      {"A program that prints the token, with its arguments. It runs without a shell.", true},
	"dashboard.user.token_env":          {"An environment variable.", true},
	"dashboard.user.token_credential":   {"A systemd credential (LoadCredential=).", true},
	"dashboard.user.accounts":           {"The accounts whose mail is the user's: they see all of it and may change everything. Of Kafka: \"kafka:\" and the key.", true},
	"dashboard.user.operator":           {"Whether the user sees the figures of all accounts. Subjects, senders and words are for the owner alone.", true},

	"account":                    {"One account. For more accounts, repeat [[account]] and the tables below it. Each account has its own state.", false},
	"account.name":               {"The account's name in commands, logs and metrics, and in the state.", false},
	"account.owner":              {"Every address that the owner writes from. Mail from these addresses is never marked. It counts as the owner's own\nonly if it is in Sent, or if the server of featurize.authserv_id vouches for it; then what it answers is important.", false},
	"account.time_zone":          {"The time zone of the owner's days, for per_day and silence.", false},
	"account.mark":               {"What to set on important messages; several at once are possible. \"$label1\" is Thunderbird's red Important,\n'\\Flagged' the star that phones show.", false},
	"account.companion":          {"A keyword that hinged sets together with each mark, if the server keeps keywords. It tells other programs, such as\nanother hinged, that you didn't set the mark, and tells hinged whether it was you who removed the mark. \"\": none.", false},
	"account.mark_copy":          {"A folder for a copy of each important message, such as \"Important\". It is for mailboxes that keep no keywords or are\nread-only. hinged creates the folder if it is missing. With an empty mark there are only copies. \"\": no copies.", false},
	"account.mark_within":        {"Never mark mail that is older than this when hinged finds it, such as mail that is moved to INBOX later, or that\narrived while hinged was off. \"0s\": mark mail of any age. Mail that was already read is never marked.", false},
	"account.shadow":             {"auto: mark the surest messages, at most three a day, once three important messages are known, and all important ones\nonce hinged can tell how often its marks are right. on: never mark. off: mark from the start.", false},
	"account.settle":             {"A change by the owner counts if it has not been undone for this long.", false},
	"account.silence":            {"An unmarked message counts as ordinary if the owner ignored it for this many days on which they were active.\n\"0s\": learn nothing from silence.", false},
	"account.provisional":        {"An unmarked message counts as ordinary provisionally if the owner ignored it for this long while active; an answer\nundoes that. \"0s\": never. It has an effect only with the learner dual.", false},
	"account.provisional_marked": {"The same for a message that hinged marked and the owner read. This lesson has a third of the weight.", false},
	"account.max_weights":        {"The greatest number of weights to keep; the smallest are removed first. A weight takes about 40 bytes of memory.\nFor mail from Kafka the default is 131072: a year of mail.", false},
	"account.max_messages":       {"The greatest number of messages to remember; the oldest are forgotten first, except those of the last lessons\n(learner.window), because hinged learns from them again. What was learnt from a forgotten one stays, but feedback on\nit has no effect, and if it is moved it counts as new mail. Each takes about half a kilobyte of memory.\nFor mail from Kafka the default is 20000.", false},
	"account.keep_days":          {"For how many days of the account's own time to remember a message; 0: as long as max_messages allows. The messages of\nthe last lessons (learner.window) stay longer, because hinged learns from them again. For mail from Kafka the default is 20.", false},

	"account.prior": {"The weights with which a new account begins, until its own lessons outweigh them (docs/prior.md). default: weights\nthat name nobody, made from mailing lists and made-up mailboxes. none: no weights of other owners; only the constant begins\nbelow 0, as most mail is ordinary. zero: every weight begins at 0. Otherwise a file from `hinged-lab prior`.\nIt has no effect on an account that has already learnt something.", false},

	"account.imap":                     {"The IMAP server.", false},
	"account.imap.address":             {"The host, with a port if it is not the usual one: 993 for tls, otherwise 143.", false},
	"account.imap.tls":                 {"tls, starttls or none. With none, the password and the mail cross the network unencrypted.", false},
	"account.imap.ca_file":             {"Certificates (PEM) to trust instead of the system's.", true},
	"account.imap.cert_file":           {"A client certificate (PEM), for a server that wants one in addition to the password or instead of it. hinged reads it\nagain for each connection.", true},
	"account.imap.key_file":            {"The private key of cert_file.", true},
	"account.imap.auth":                {"plain, login, xoauth2, oauthbearer or external. xoauth2 and oauthbearer use an access token as the\npassword; external uses none, because cert_file identifies the account.", false},
	"account.imap.username":            {"The login name.", false},
	"account.imap.password_file":       {"Where to find the password: one of these four. hinged reads it again for each connection.", false},
	"account.imap.password_command":    {"A program that prints the password, with its arguments. It runs without a shell.", true},
	"account.imap.password_env":        {"An environment variable.", true},
	"account.imap.password_credential": {"A systemd credential (LoadCredential=).", true},
	"account.imap.mailboxes":           {"The mailboxes to watch. Empty: INBOX and those with a special use (Sent, Junk, Trash, Archive, Important).", false},
	"account.imap.exclude":             {"Mailboxes to ignore.", false},
	"account.imap.shared":              {"Mailboxes into which other people or programs put mail, too (IMAP APPEND): the flags that it comes with teach nothing.", false},
	"account.imap.sent":                {"The folder of each special use, if neither the server nor the folder's name says it; `hinged check` shows what it\nfound. sent: the folder of the owner's own mail. hinged finds the owner's answers there.", true},
	"account.imap.drafts":              {"The folder of drafts.", true},
	"account.imap.junk":                {"The folder of spam. If the owner moves mail there, it was ordinary.", true},
	"account.imap.trash":               {"The folder of deleted mail.", true},
	"account.imap.archive":             {"The folder of archived mail.", true},
	"account.imap.important":           {"The folder of important mail. If the owner moves mail there, it was important.", true},
	"account.imap.poll_interval":       {"How often to look for changes in mailboxes other than INBOX, and whether IDLE missed any in INBOX.", false},
	"account.imap.idle_restart":        {"How often to renew IDLE, which servers and routers may drop without notice.", false},
	"account.imap.recheck_interval":    {"How often to compare everything, to find changes that the server did not report.", false},

	"account.learner":                {"How hinged learns. The defaults gave the best results on real mail.", false},
	"account.learner.kind":           {"dual, passive-aggressive (PA-II), margin or perceptron. dual is PA-II that can also take its steps back.", false},
	"account.learner.margin":         {"margin: learn unless the score is above this on the right side.", false},
	"account.learner.aggressiveness": {"dual and passive-aggressive: the limit C of the step of one lesson.", false},
	"account.learner.window":         {"dual without a kernel: replay steps choose among this many of the last lessons. 0: no replay, which is PA-II.\nFor mail from Kafka the default is 400.", false},
	"account.learner.steps":          {"dual: the number of replay steps before each message is scored.", false},
	"account.learner.kernel_degree":  {"0: each feature has a weight. 1 to 16: each learnt example has a weight, under the kernel (1 + a·b)^degree, so that\ncombinations of up to so many features count. If you change it, learning starts again.", false},
	"account.learner.max_supports":   {"With a kernel: the greatest number of examples to keep; the oldest goes first. Each takes about 10 KB of memory.", false},

	"account.threshold":              {"How much mail is marked.", false},
	"account.threshold.mode":         {"auto: the best recent F1 among the thresholds that keep precision. missed: mark as little as leaves at most a\nshare of the important mail unmarked. budget: mark a share of the mail. cost: weigh missed messages against\nfalse alarms. fixed: a fixed score.", false},
	"account.threshold.precision":    {"auto: the promise. Of the messages marked, at least this share is important. Where hinged can't keep it, it marks\nnothing and says which precision it could keep.", false},
	"account.threshold.missed":       {"missed: the greatest share of the important mail that may go unmarked; 0.05 is 5 %.", false},
	"account.threshold.share":        {"budget: the share of all mail to mark; 0.1 is 10 %.", false},
	"account.threshold.per_day":      {"The greatest number of marks in a day, in any mode. 0: no limit.", false},
	"account.threshold.cost":         {"cost: one missed message counts as much as this many false alarms.", false},
	"account.threshold.value":        {"fixed: the score above which a message is important.", false},
	"account.threshold.unsure_share": {"The greatest share of mail that may be \"unsure\": the mail just below the threshold. It is not marked.", false},

	"account.featurize":             {"How hinged turns a message into numbers. Changes affect new mail only.", false},
	"account.featurize.max_bytes":   {"How much of a message to read, in bytes.", false},
	"account.featurize.names":       {"Whether to keep the words behind the weights, which explanations need.", false},
	"account.featurize.names_days":  {"For how many days to keep the words of a message, for at most the last 2000 messages. Its vector is kept longer.\nFor mail from Kafka the default is 3.", false},
	"account.featurize.authserv_id": {"The name under which the owner's own mail server writes Authentication-Results; hinged believes no others. If it is\nset, hinged distinguishes senders that this server vouches for from others; if not, hinged believes From.", true},
	"account.featurize.subaddress":  {"What begins a subaddress: with +, mail to me+shop@example.org is mail to the owner me@example.org. +, - or none.", false},

	"account.featurize.shares":         {"The share of each group of features in the vector.", false},
	"account.featurize.shares.misc":    {"Other headers and quoted text.", false},
	"account.featurize.shares.social":  {"Who wrote to whom, and where in the thread.", false},
	"account.featurize.shares.subject": {"The subject.", false},
	"account.featurize.shares.body":    {"The sender's own text.", false},
	"account.featurize.shares.affine":  {"The constant coordinate, which every message has.", false},

	"account.rule":       {"A rule about all messages of a kind (docs/rules.md). Repeat it for more; the first rule that matches decides.\nWithout authserv_id, anybody can write an address that a from: rule matches.", true},
	"account.rule.match": {"from:, to: or cc: with an address; from:@ with a domain; list: with a List-Id; subject: with a word.", true},
	"account.rule.label": {"important or ordinary. This decides, whatever the score.", true},

	"account.digest":           {"Put a mail into your mailbox now and then: what hinged marked and why, whose answer would teach it most, and what\nit learnt (docs/notifications.md). While nothing is marked yet, what would have been. Without this section there is none.", true},
	"account.digest.at":        {"The time of the day, in the account's time zone.", true},
	"account.digest.every":     {"day, or week: on Mondays.", true},
	"account.digest.questions": {"How many letters a day ask about one message each until marks begin, 0 to 10. A star on such a letter says that\nthe message matters; to delete the letter says that it doesn't.", true},
	"account.digest.mailbox":   {"The mailbox to put it into, which must exist.", true},

	"account.notify":                  {"A way to tell the owner of important mail (docs/notifications.md): ntfy, webhook or command. Repeat it for more.\nWithout one, hinged only marks.", true},
	"account.notify.command":          {"Run this program with its arguments, without a shell. It reads what happened as JSON from its standard input.", true},
	"account.notify.webhook":          {"Post what happened to this URL, as JSON.", true},
	"account.notify.ntfy":             {"Publish to this topic of ntfy. Everybody who knows a public topic can read it.", true},
	"account.notify.token_file":       {"The access token for ntfy or the webhook, if they need one: one of these four keys.", true},
	"account.notify.token_command":    {"A program that prints the token, with its arguments. It runs without a shell.", true},
	"account.notify.token_env":        {"An environment variable.", true},
	"account.notify.token_credential": {"A systemd credential (LoadCredential=).", true},
	"account.notify.title":            {"The title of each notification.", true},
	"account.notify.priority":         {"ntfy: the priority, from 1 (lowest) to 5 (highest).", true},
	"account.notify.quiet":            {"Tell nothing between these times, in the account's time zone. One notification sums up what came meanwhile.\n\"\": at any time.", true},
	"account.notify.per_day":          {"The greatest number of notifications in a day. 0: no limit.", true},
	"account.notify.sender":           {"Whether to name the sender.", true},
	"account.notify.subject":          {"Whether to tell the subject and the reasons, which quote words of the mail. They leave this machine then.", true},
}

// kafkaEntries explains the keys of [kafka] that an account does not have.
var kafkaEntries = map[string]entry{
	"kafka":                     {"Mail that flows through Kafka (docs/kafka.md). hinged decides it and learns from it; each key is an account.\nAll processes of one group need the same section. Leave it out if you don't use Kafka.", false},
	"kafka.brokers":             {"Some of the brokers, with a port if it is not 9092.", false},
	"kafka.group":               {"The consumer group. Its processes share the partitions.", false},
	"kafka.client_id":           {"The name of hinged in the brokers' logs and quotas.", false},
	"kafka.tls":                 {"tls or none. With none, the password and the mail cross the network unencrypted.", false},
	"kafka.ca_file":             {"Certificates (PEM) to trust instead of the system's.", true},
	"kafka.cert_file":           {"The certificate (PEM) for brokers that ask for one.", true},
	"kafka.key_file":            {"The private key of cert_file.", true},
	"kafka.sasl":                {"How to log in: none, plain, scram-sha-256, scram-sha-512 or oauthbearer. With oauthbearer the password is the access token, which password_command can fetch anew for each login, and there is no username.", false},
	"kafka.username":            {"The login name.", true},
	"kafka.password_file":       {"Where to find the password: one of these four. hinged reads it again for each connection.", true},
	"kafka.password_command":    {"A program that prints the password, with its arguments. It runs without a shell.", true},
	"kafka.password_env":        {"An environment variable.", true},
	"kafka.password_credential": {"A systemd credential (LoadCredential=).", true},
	"kafka.compression":         {"The compression of what hinged produces: none, gzip, snappy, lz4 or zstd. Every client reads gzip without an extra package; zstd takes less processor time and room.", false},
	"kafka.max_message_bytes":   {"A record becomes a dead letter if its value is longer than this after decompression.", false},
	"kafka.snapshot_every":      {"Write a snapshot of a partition after this many of its records.", false},
	"kafka.snapshot_interval":   {"Write a snapshot of a partition after this time, if it had any record.", false},
	"kafka.account_limit":       {"How many records of one account may wait in a partition before it is set aside: the others go before it, and it\ncatches up in its own order (docs/kafka-operation.md). 0: no limit.", false},
	"kafka.create_topics":       {"Create missing topics when hinged starts.", false},
	"kafka.partitions":          {"How many partitions new topics get. You can't change it later, since it says which account is where.", false},
	"kafka.topics":              {"The names of the topics.", false},
	"kafka.topics.input":        {"hinged reads messages, feedback, unlearn, forget and rules from this topic.", false},
	"kafka.topics.decisions":    {"hinged writes decisions to this topic.", false},
	"kafka.topics.dead_letters": {"hinged writes records that it can't use to this topic.", false},
	"kafka.topics.snapshots":    {"The state of every partition, for a process that takes it over. It has as many partitions as the input, and is\ncompacted.", false},
	"kafka.account":             {"What records don't say about an account. Repeat it for each account that needs it.", false},
	"kafka.account.key":         {"The key of the account's records.", false},
	"kafka.account.owner":       {"Every address that the owner writes from. Default: the key, if it is an address.", false},
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

// exampleHash is of a password that nobody has.
const exampleHash = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$bm8gcGFzc3dvcmQgaGFzaGVzIHRvIHRoaXMgdGV4dCE"

// exampleConfig is what the example configures: every key has a value.
func exampleConfig() Config {
	c := Defaults()
	c.StateDir = "/var/lib/hinged"
	c.Socket = "/run/hinged/hinged.sock"
	c.FilterSocket = "/run/hinged/filter.sock"
	c.Backups.Dir = "/var/backups/hinged"
	d := DefaultDashboard()
	d.CertFile, d.KeyFile, d.PublicURL = "/etc/hinged/dashboard.pem", "/etc/hinged/dashboard.key", "https://mail.example.org"
	d.Users = []User{{
		Name: "ann", PasswordHash: exampleHash, PasswordHashFile: "ann.hash",
		Token: Token{
			File: "ann.token", Command: []string{"pass", "show", "hinged"}, Env: "HINGED_TOKEN", Credential: "ann-token",
		},
		Accounts: []string{"personal"},
	}}
	c.Dashboard = &d
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
	a.IMAP.Exclude, a.IMAP.Shared = []string{}, []string{}
	a.IMAP.Folders = Folders{
		Sent: "INBOX.Sent", Drafts: "INBOX.Drafts", Junk: "INBOX.Junk", Trash: "INBOX.Trash",
		Archive: "INBOX.Archive", Important: "INBOX.Important",
	}
	a.Featurize.AuthservID = "mx.example.org"
	a.Rules = []Rule{{Match: "from:boss@example.org", Label: "important"}}
	way := defaultNotify()
	way.Program, way.Webhook, way.Ntfy = []string{"notify-send", "Important mail"}, "https://example.org/hook", "https://ntfy.example.org/my-mail"
	way.Token = Token{
		File:       "ntfy-token",
		Command:    []string{"pass", "show", "ntfy"},
		Env:        "HINGED_NTFY_TOKEN",
		Credential: "ntfy-token",
	}
	way.Quiet = "22:00-07:00"
	a.Notify = []Notify{way}
	digest := defaultDigest()
	a.Digest = &digest
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
	out.WriteString("# hinged.toml: every key with its default. Only name, owner and the first keys of [account.imap] are needed.\n# To use a key of [kafka], remove the # in front of it.\n\n")
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
