// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"math"
	"net/http"
	"strings"

	"github.com/hinged/hinged/internal/face/desk"
)

const (
	strongestWords = 15 // each way
	wordMost       = 50 // features of a word that was looked up
	wordsMost      = 5  // words that are looked up at once
)

type wordsData struct {
	Weights, Supports   int
	Search              string
	Found               []foundWord
	Important, Ordinary wordTable
	Rules               []desk.RuleStatus
}

type foundWord struct {
	Sentence string
	Table    wordTable
	More     int
}

type wordTable struct {
	Title string
	Most  float64 // the greatest absolute weight
	Rows  []desk.WordWeight
}

func newWordTable(title string, rows []desk.WordWeight) wordTable {
	t := wordTable{Title: title, Rows: rows}
	for _, r := range rows {
		t.Most = math.Max(t.Most, math.Abs(r.Weight))
	}
	return t
}

func (s *Server) words(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active = "Words", "words"
	search := r.URL.Query().Get("q")
	search = strings.ToValidUTF8(strings.TrimSpace(search[:min(len(search), searchMost)]), "")
	strongest, err := desk.GetWords.Do(r.Context(), s.opts.Host, p.Account, desk.WordsRequest{Most: strongestWords})
	if err != nil {
		return err
	}
	d := wordsData{
		Weights: strongest.Weights, Supports: strongest.Supports, Search: search, Rules: strongest.Rules,
		Important: newWordTable("Strongest towards important", strongest.Important),
		Ordinary:  newWordTable("Strongest towards ordinary", strongest.Ordinary),
	}
	both := math.Max(d.Important.Most, d.Ordinary.Most) // what stands side by side has one scale
	d.Important.Most, d.Ordinary.Most = both, both
	if fields := strings.Fields(search); len(fields) > 0 {
		// Also as a whole: a bigram, or an address with a space beside it.
		if len(fields) > 1 {
			fields = append([]string{strings.Join(fields, " ")}, fields...)
		}
		found, err := desk.GetWords.Do(r.Context(), s.opts.Host, p.Account, desk.WordsRequest{Words: fields[:min(len(fields), wordsMost)], Most: wordMost})
		if err != nil {
			return err
		}
		for _, word := range found.Words {
			if len(word.Features) > 0 || len(found.Words) == 1 || word.Word != search {
				d.Found = append(d.Found, foundWord{wordSentence(word), newWordTable("", word.Features), word.More})
			}
		}
	}
	return s.render(w, r, p, "words", d)
}

func wordSentence(word desk.WordWeights) string {
	name := "“" + word.Word + "”"
	if len(word.Features) == 0 {
		return name + " has no weight: no message that taught anything has it, or its weight is 0."
	}
	ups, downs := 0, 0
	for _, f := range word.Features {
		if f.Weight > 0 {
			ups++
		} else {
			downs++
		}
	}
	most := word.Features[0]
	text := curly(most.Text)
	where := strings.TrimPrefix(strings.TrimPrefix(text, name), " ")
	tail := "."
	if len(word.Features) > 1 && where != "" && where != text {
		tail = ", most of all " + where + "."
	}
	switch {
	case downs == 0:
		return name + " pulls towards important" + tail
	case ups == 0:
		return name + " pulls towards ordinary" + tail
	case most.Weight > 0:
		return name + " pulls both ways, more towards important" + tail
	}
	return name + " pulls both ways, more towards ordinary" + tail
}
