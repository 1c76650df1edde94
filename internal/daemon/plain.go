package daemon

import "strings"

// Plain says in plain words what a feature is: "from ann@example.org, to you
// alone". Its argument is the feature's name, as featurize makes it and Part.Name
// holds it; a name that is not known in this form comes back as it is.
func Plain(feature string) string {
	kind, rest, ok := strings.Cut(feature, ":")
	if !ok || rest == "" {
		return feature
	}
	facts := strings.Split(rest, " | ")
	switch kind {
	case "opening", "body":
		return quoted(rest)
	case "subject":
		return quoted(rest) + " in the subject"
	case "quoted":
		return quoted(rest) + " in quoted text"
	case "patch":
		return quoted(rest) + " in the patch"
	case "signature":
		return quoted(rest) + " in the signature"
	case "name":
		return "the name " + quoted(rest)
	case "mailer":
		return "written with " + quoted(rest)
	case "header":
		if field, value, ok := strings.Cut(rest, "="); ok {
			return "the field " + field + ": " + value
		}
		return "the field " + rest
	case "from":
		if strings.HasPrefix(rest, "@") {
			facts[0] = "anyone " + facts[0]
		}
		facts[0] = "from " + facts[0]
	case "to", "cc", "reply-to", "sender", "list":
		facts[0] = kind + " " + facts[0]
	case "depth":
		facts[0] += " messages before it in the thread"
	case "addressed", "place", "history", "shape":
	default:
		return strings.ReplaceAll(kind, "-", " ") + " " + rest
	}
	for i, fact := range facts {
		facts[i] = plainFact(fact)
	}
	return strings.Join(facts, ", ")
}

func quoted(word string) string { return `"` + word + `"` }

// facts are the words of featurize for what it found out of a message's place,
// its addresses and its history.
var facts = map[string]string{
	"to alone": "to you alone", "to": "to you and others", "cc": "you in Cc", "elsewhere": "not to you by name",
	"start": "begins a thread", "reply": "a reply", "patch": "a patch", "cover": "the cover letter of patches",
	"series": "one of several patches", "patch reply": "a reply to a patch",
	"sender answered new":             "a sender new to you",
	"sender answered 0 of few":        "a sender you have not answered yet",
	"sender answered 0 of many":       "a sender you never answer",
	"answers the owner":               "answers you",
	"answers what the owner answered": "answers a message that you answered",
	"answers itself":                  "follows its sender's own message",
	"answers another":                 "answers someone else",
	"answers something unknown":       "answers a message not seen here",
}

// plainFact is Plain for one of several facts.
func plainFact(fact string) string {
	if plain, ok := facts[fact]; ok {
		return plain
	}
	for _, f := range []struct{ prefix, before, after string }{
		{"sender answered ", "a sender you answer ", " of the time"},
		{"thread by owner ", "", " messages by you in the thread"},
		{"thread since owner ", "", " messages since your last"},
		{"own lines ", "", " lines of its own"},
		{"own words ", "", " words of its own"},
		{"quoted ", "", " quoted lines"},
		{"quoted lines ", "", " quoted lines"},
		{"depth ", "", " messages before it in the thread"},
		{"recipients ", "", " recipients"},
		{"questions ", "", " questions"},
		{"trailers ", "", " trailers"},
		{"attachments ", "", " attachments"},
		{"links ", "", " links"},
	} {
		if rest, ok := strings.CutPrefix(fact, f.prefix); ok {
			return f.before + rest + f.after
		}
	}
	return fact
}
