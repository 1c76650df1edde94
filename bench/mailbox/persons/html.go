// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
)

// look is how a program renders a message.
type look uint8

const (
	lookText     look = iota // text alone, as Thunderbird and scripts write
	lookGmail                // an answer above a quote in a div
	lookOutlook              // Word's paragraphs, a quoted head, top posting
	lookApple                // Apple Mail and iPhone
	lookMJML                 // tables with a preheader, as mailing services write
	lookHTMLOnly             // the same without a text part
	lookPlainish             // a machine's short HTML: paragraphs and a link
)

// The marks at the start of a body's line: "# " a heading, "> " a button, "= " a row of a
// table, "- " an item.

// plain is the text part: a machine's marks as text, a person's words with the quote.
func (l *letter) plain() string {
	var b strings.Builder
	if l.look == lookMJML && l.brand != "" {
		b.WriteString(l.brand + "\n\n")
	}
	for line := range strings.Lines(l.body) {
		switch {
		case strings.HasPrefix(line, "# "):
			b.WriteString(strings.ToUpper(strings.TrimSpace(line[2:])) + "\n")
		case strings.HasPrefix(line, "> "):
			fmt.Fprintf(&b, "%s: %s\n", strings.TrimSpace(line[2:]), l.link(line))
		case strings.HasPrefix(line, "= "):
			b.WriteString(line[2:])
		default:
			b.WriteString(line)
		}
	}
	b.WriteString("\n")
	if l.signature != "" {
		mark := "-- \n"
		if l.look == lookOutlook || l.look == lookApple {
			mark = ""
		}
		b.WriteString("\n" + mark + l.signature + "\n")
	}
	if l.unsub != "" {
		b.WriteString("\n" + unsubWord[l.lang] + ": " + l.unsub + "\n")
	}
	if q := l.quotes; q != nil {
		b.WriteString("\n" + l.attribution(q) + "\n")
		pre := "> "
		if l.look == lookOutlook {
			pre = ""
		}
		for line := range strings.Lines(strings.TrimRight(q.plain(), "\n") + "\n") {
			b.WriteString(pre + line)
		}
	}
	return b.String()
}

var unsubWord = map[string]string{"de": "Vom Newsletter abmelden", "en": "Unsubscribe", "es": "Darse de baja"}

// attribution is the line, or head, above a quote.
func (l *letter) attribution(q *letter) string {
	at := zone(q.at)
	if l.look == lookOutlook {
		w := outlookWords[l.lang]
		var to []string
		for _, a := range q.to {
			to = append(to, a.name)
		}
		s := fmt.Sprintf("%s: %s <%s>\n%s: %s\n%s: %s\n", w[0], q.from.name, q.from.mail, w[1], at.Format("Monday, 2 January 2006 15:04"), w[2], strings.Join(to, "; "))
		if l.lang == "de" {
			s = fmt.Sprintf("-----Ursprüngliche Nachricht-----\n%s", s)
		}
		return s + w[3] + ": " + q.subject + "\n"
	}
	switch l.lang {
	case "de":
		return fmt.Sprintf("Am %s schrieb %s <%s>:", at.Format("02.01.2006 um 15:04"), q.from.name, q.from.mail)
	case "es":
		return fmt.Sprintf("El %s, %s (<%s>) escribió:", at.Format("2/1/2006 a las 15:04"), q.from.name, q.from.mail)
	}
	return fmt.Sprintf("On %s, %s <%s> wrote:", at.Format("Mon, 2 Jan 2006 at 15:04"), q.from.name, q.from.mail)
}

var outlookWords = map[string][4]string{
	"de": {"Von", "Gesendet", "An", "Betreff"}, "en": {"From", "Sent", "To", "Subject"},
}

// link is where a button or link leads: a tracker of the sender's mailing service.
func (l *letter) link(seed string) string {
	via := l.via
	if via == "" {
		via = l.from.domain()
	}
	h := uint64(14695981039346656037)
	for _, c := range []byte(seed + l.id) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return fmt.Sprintf("https://click.%s/c/%016x", via, h)
}

// html is the HTML part.
func (l *letter) html(r *rand.Rand) string {
	switch l.look {
	case lookGmail:
		s := "<div dir=\"ltr\">" + divs(l.body, "<div>", "</div>") + "</div>"
		if l.signature != "" {
			s += "<br clear=\"all\"><div><br></div><span class=\"gmail_signature_prefix\">-- </span><br><div dir=\"ltr\" class=\"gmail_signature\">" + divs(l.signature, "<div>", "</div>") + "</div>"
		}
		if q := l.quotes; q != nil {
			s += "<br><div class=\"gmail_quote\"><div dir=\"ltr\" class=\"gmail_attr\">" + html.EscapeString(l.attribution(q)) +
				"<br></div><blockquote class=\"gmail_quote\" style=\"margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex\">" + q.inner(r) + "</blockquote></div>"
		}
		return s
	case lookOutlook:
		s := "<html xmlns:o=\"urn:schemas-microsoft-com:office:office\" xmlns:w=\"urn:schemas-microsoft-com:office:word\"><head><meta name=\"Generator\" content=\"Microsoft Word 15 (filtered medium)\"><style><!--p.MsoNormal{margin:0cm;font-size:11.0pt;font-family:\"Calibri\",sans-serif;}--></style></head><body lang=\"" + strings.ToUpper(l.lang) + "\" link=\"#0563C1\"><div class=\"WordSection1\">" +
			divs(l.body+"\n\n"+l.signature, "<p class=\"MsoNormal\">", "<o:p></o:p></p>")
		if q := l.quotes; q != nil {
			s += "<div style=\"border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm\"><p class=\"MsoNormal\">" +
				strings.ReplaceAll(html.EscapeString(strings.TrimRight(l.attribution(q), "\n")), "\n", "<br>") + "</p></div>" + q.inner(r)
		}
		return s + "</div></body></html>"
	case lookApple:
		s := "<html><head><meta http-equiv=\"content-type\" content=\"text/html; charset=utf-8\"></head><body style=\"overflow-wrap: break-word; -webkit-nbsp-mode: space; line-break: after-white-space;\">" + divs(l.body, "<div>", "</div>")
		if l.signature != "" {
			s += "<br><div>" + strings.ReplaceAll(html.EscapeString(l.signature), "\n", "<br>") + "</div>"
		}
		if q := l.quotes; q != nil {
			s += "<div><br><blockquote type=\"cite\"><div>" + html.EscapeString(l.attribution(q)) + "</div><br class=\"Apple-interchange-newline\">" + q.inner(r) + "</blockquote></div>"
		}
		return s + "</body></html>"
	case lookPlainish:
		return "<!DOCTYPE html><html><body style=\"font-family:Arial,sans-serif;font-size:14px\">" + l.blocks(r, "<p>", "</p>") + l.footer() + "</body></html>"
	}
	return l.mjml(r)
}

// inner is what a quote shows of a message.
func (l *letter) inner(r *rand.Rand) string {
	if l.look == lookMJML || l.look == lookHTMLOnly {
		return l.blocks(r, "<p>", "</p>")
	}
	s := divs(l.body+"\n\n"+l.signature, "<div>", "</div>")
	if l.quotes != nil {
		s += "<div>" + html.EscapeString(l.attribution(l.quotes)) + "</div><blockquote>" + l.quotes.inner(r) + "</blockquote>"
	}
	return s
}

// divs wraps each line; a blank line becomes a break.
func divs(text, open, shut string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			line = "<br>"
		} else {
			line = html.EscapeString(line)
		}
		b.WriteString(open + line + shut)
	}
	return b.String()
}

// blocks renders the marks of a machine's body.
func (l *letter) blocks(r *rand.Rand, open, shut string) string {
	var b strings.Builder
	for line := range strings.Lines(l.body) {
		line = strings.TrimSpace(line)
		text := line
		if len(line) > 2 {
			text = html.EscapeString(line[2:])
		}
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			fmt.Fprintf(&b, "<h2 style=\"margin:0;font-size:%dpx;color:%s\">%s</h2>", 20+r.IntN(9), l.color, text)
		case strings.HasPrefix(line, "> "):
			fmt.Fprintf(&b, "<table border=\"0\" cellpadding=\"0\" cellspacing=\"0\" role=\"presentation\"><tr><td align=\"center\" bgcolor=\"%s\" style=\"border-radius:3px\"><a href=\"%s\" style=\"display:inline-block;color:#ffffff;padding:10px 25px;text-decoration:none\" target=\"_blank\">%s</a></td></tr></table>", l.color, l.link(line), text)
		case strings.HasPrefix(line, "= "):
			k, v, _ := strings.Cut(text, ": ")
			fmt.Fprintf(&b, "<table width=\"100%%\"><tr><td style=\"padding:4px 0\">%s</td><td align=\"right\"><b>%s</b></td></tr></table>", k, v)
		case strings.HasPrefix(line, "- "):
			fmt.Fprintf(&b, "<ul style=\"margin:0\"><li>%s</li></ul>", text)
		default:
			b.WriteString(open + html.EscapeString(line) + shut)
		}
	}
	return b.String()
}

// footer is what stands under a machine's mail.
func (l *letter) footer() string {
	s := "<p style=\"font-size:11px;color:#888888\">" + html.EscapeString(l.signature) + "</p>"
	if l.unsub != "" {
		s += "<p style=\"font-size:11px\"><a href=\"" + l.unsub + "\">" + unsubWord[l.lang] + "</a></p>"
	}
	return s
}

// mjml is the HTML of a mailing service: a hidden preheader, tables in tables, a picture that
// counts who opens it.
func (l *letter) mjml(r *rand.Rand) string {
	cell := fmt.Sprintf("<tr><td align=\"left\" style=\"font-size:0px;padding:10px 25px;word-break:break-word\"><div style=\"font-family:Ubuntu,Helvetica,Arial,sans-serif;font-size:%dpx;line-height:1.4;text-align:left;color:#333333\">", 13+r.IntN(4))
	return "<!doctype html><html lang=\"" + l.lang + "\" xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:v=\"urn:schemas-microsoft-com:vml\"><head><title>" + html.EscapeString(l.subject) +
		"</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style type=\"text/css\">#outlook a{padding:0}body{margin:0;padding:0}table,td{border-collapse:collapse}@media only screen and (min-width:480px){.mj-column-per-100{width:100%!important;max-width:100%}}</style></head><body style=\"word-spacing:normal;background-color:#f4f4f4\"><div style=\"display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden\">" +
		html.EscapeString(l.preheader) + strings.Repeat("&#847;&zwnj;&nbsp;", 5+r.IntN(20)) + "</div><div style=\"background-color:#f4f4f4\"><table align=\"center\" border=\"0\" cellpadding=\"0\" cellspacing=\"0\" role=\"presentation\" style=\"width:100%;background:" + l.color +
		"\"><tbody><tr><td style=\"padding:20px 0;text-align:center\"><img alt=\"" + html.EscapeString(l.brand) + "\" height=\"40\" src=\"https://img." + l.from.domain() + "/logo.png\" width=\"160\"></td></tr></tbody></table><div style=\"margin:0px auto;max-width:600px\"><table align=\"center\" border=\"0\" cellpadding=\"0\" cellspacing=\"0\" role=\"presentation\" style=\"background:#ffffff;width:100%\"><tbody>" +
		cell + l.blocks(r, "<p>", "</p></div></td></tr>"+cell) + "</div></td></tr><tr><td style=\"padding:10px 25px\">" + l.footer() + "</td></tr></tbody></table></div></div><img src=\"" + l.link("open") + ".gif\" width=\"1\" height=\"1\" alt=\"\"></body></html>"
}
