// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"maps"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/hinged/hinged/ingest"
)

// Means says how the role of a mailbox was found.
type Means uint8

// The means, in their order: what an earlier one tells, no later one is asked for.
const (
	MeansNone    Means = iota // it has no role, or is INBOX
	MeansOptions              // Options.Roles names it
	MeansUse                  // the server says its special use (RFC 6154, RFC 8457)
	MeansName                 // its name is one that such mailboxes customarily have
)

func (m Means) String() string {
	return [...]string{"", "configured", "special use", "name"}[min(m, MeansName)]
}

// uses maps the special uses of RFC 6154 and RFC 8457.
var uses = map[goimap.MailboxAttr]ingest.Role{
	goimap.MailboxAttrSent:      ingest.RoleSent,
	goimap.MailboxAttrDrafts:    ingest.RoleDrafts,
	goimap.MailboxAttrJunk:      ingest.RoleJunk,
	goimap.MailboxAttrTrash:     ingest.RoleTrash,
	goimap.MailboxAttrArchive:   ingest.RoleArchive,
	goimap.MailboxAttrImportant: ingest.RoleImportant,
}

// customary tells the use of a mailbox by its name, in lower case.
var customary = byCustom()

// customs are the names that mail programs and servers give to mailboxes with a use.
// Important has none: folders of that name are people's own.
var customs = map[ingest.Role][]string{
	ingest.RoleSent: {
		"sent", "sent items", "sent messages", "sent mail", "sent-mail", "sentmail", "[gmail]/sent mail",
		"gesendet", "gesendete objekte", "gesendete elemente", "postausgang gesendet", // German
		"envoyés", "messages envoyés", "éléments envoyés", "courrier envoyé", // French
		"enviados", "elementos enviados", "mensajes enviados", "itens enviados", "correo enviado", // Spanish, Portuguese
		"inviati", "posta inviata", "inviata", // Italian
		"verzonden", "verzonden items", "verzonden berichten", // Dutch
		"skickat", "skickade", "sendt", "sendt post", "sendte elementer", "lähetetyt", "saadetud", // Nordic, Estonian
		"wysłane", "elementy wysłane", "odeslané", "odeslaná pošta", "odoslané", "elküldött", "elküldött elemek", "poslano", //nolint:misspell // Polish
		"отправленные", "надіслані", "изпратени", "απεσταλμένα", "gönderilmiş öğeler", "gönderilenler",
		"送信済み", "送信済みアイテム", "送信済みメール", "已发送", "已发送邮件", "寄件備份", "보낸 편지함", "보낸편지함",
	},
	ingest.RoleDrafts: {
		"drafts", "draft", "[gmail]/drafts", "entwürfe", "brouillons", "borradores", "rascunhos", "bozze", "concepten",
		"utkast", "kladder", "luonnokset", "mustandid", "kopie robocze", "robocze", "wersje robocze", "koncepty", "rozepsané",
		"piszkozatok", "osnutki", "черновики", "чернетки", "чернови", "πρόχειρα", "taslaklar", "下書き", "草稿", "草稿箱", "임시보관함", "임시 보관함",
	},
	ingest.RoleJunk: {
		"junk", "junk e-mail", "junk email", "junk mail", "spam", "bulk mail", "[gmail]/spam", "spamverdacht", "spam-verdacht",
		"unerwünscht", "unerwünschte werbung", "courrier indésirable", "indésirables", "pourriel", "correo no deseado", "lixo eletrônico",
		"lixo eletrónico", "posta indesiderata", "ongewenste e-mail", "ongewenst", "skräppost", "søppelpost", "uønsket mail", "uønsket e-mail",
		"roskaposti", "rämpspost", "wiadomości-śmieci", "nevyžádaná pošta", "nevyžiadaná pošta", "levélszemét", "neželena pošta",
		"спам", "нежелательная почта", "ανεπιθύμητη αλληλογραφία", "önemsiz e-posta", "迷惑メール", "垃圾邮件", "垃圾郵件", "스팸메일함", "정크 메일",
	},
	ingest.RoleTrash: {
		"trash", "deleted", "deleted items", "deleted messages", "bin", "rubbish", "[gmail]/trash", "[gmail]/bin", "papierkorb",
		"gelöscht", "gelöschte objekte", "gelöschte elemente", "corbeille", "éléments supprimés", "messages supprimés", "papelera",
		"elementos eliminados", "lixeira", "itens excluídos", "cestino", "posta eliminata", "prullenbak", "verwijderde items", "papperskorgen",
		"borttaget", "papirkurv", "slettet post", "slettede elementer", "roskakori", "poistetut", "prügikast", "kosz", "elementy usunięte", "koš", //nolint:misspell // Polish
		"odstraněná pošta", "kôš", "törölt elemek", "smeti", "koszyk", "корзина", "удаленные", "кошик", "кошче", "κάδος απορριμμάτων",
		"çöp kutusu", "silinmiş öğeler", "ゴミ箱", "削除済みアイテム", "已删除", "已删除邮件", "刪除的郵件", "휴지통",
	},
	ingest.RoleArchive: {
		"archive", "archives", "archived", "archiv", "archivo", "arquivo", "archivio", "archief", "arkiv", "arkisto", "archiwum", "архив", "архів",
		"アーカイブ", "归档", "封存",
	},
}

func byCustom() map[string]ingest.Role {
	out := map[string]ingest.Role{}
	for role, list := range customs {
		for _, name := range list {
			out[name] = role
		}
	}
	return out
}

// found is one mailbox of a LIST answer.
type found struct {
	name    string
	delim   string // between levels of the hierarchy; "": there is one level
	special []ingest.Role
}

// assign gives each mailbox its role. named are those of Options.Roles; a role that it
// names no other mailbox has, and a role that the server gives to some has none by its
// name. prefix is that of the personal namespace (RFC 2342).
func assign(list []found, named map[ingest.Role]string, prefix string) []listed {
	given := map[ingest.Role]bool{}
	for _, f := range list {
		for _, role := range f.special {
			given[role] = true
		}
	}
	out := make([]listed, len(list))
	for i, f := range list {
		l := listed{name: f.name}
		if f.name == inbox {
			l.role = ingest.RoleInbox
		}
		for _, role := range slices.Sorted(maps.Keys(named)) {
			if named[role] != "" && SameMailbox(named[role], f.name) {
				l.role, l.by = role, MeansOptions
			}
		}
		for _, role := range f.special {
			if l.role == ingest.RoleOther && named[role] == "" {
				l.role, l.by = role, MeansUse
			}
		}
		if role := customary[plainName(f, prefix)]; l.role == ingest.RoleOther && named[role] == "" && !given[role] && role != ingest.RoleOther {
			l.role, l.by = role, MeansName
		}
		out[i] = l
	}
	return out
}

// plainName returns the name of a mailbox as its owner has it in mind: without the
// prefix of the personal namespace, and without INBOX where all lie below it (QUIRK:
// Courier and Cyrus), in lower case.
func plainName(f found, prefix string) string {
	name := strings.ToLower(norm.NFC.String(f.name))
	for _, p := range []string{prefix, inbox + f.delim} {
		if p = strings.ToLower(p); p != "" && f.delim != "" && strings.HasPrefix(name, p) {
			return name[len(p):]
		}
	}
	return name
}

// namespace asks for the prefix of the personal namespace, "" where the server has
// none or does not tell.
func (s *session) namespace() (string, error) {
	if !s.has(goimap.CapNamespace) && !s.has(goimap.CapIMAP4rev2) {
		return "", nil
	}
	s.begin()
	defer s.guard.end()
	data, err := s.client.Namespace().Wait()
	if err != nil {
		if err = s.fail("NAMESPACE", err); s.guard.why() == nil {
			return "", nil // it said no
		}
		return "", err
	}
	if len(data.Personal) == 0 {
		return "", nil
	}
	return data.Personal[0].Prefix, nil
}
