// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"

	"github.com/hinged/hinged/model"
)

// Features 3 and 5 are words that important messages have, 7 is a word of ordinary ones.
func Example() {
	important := model.Vector{{Index: 3, Value: 0.6}, {Index: 5, Value: 0.8}} // ascending by Index
	ordinary := model.Vector{{Index: 3, Value: 0.6}, {Index: 7, Value: 0.8}}

	learner, err := model.NewLinear(model.Spec{Kind: model.KindPerceptron}, model.NewWeights(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		learner.Learn(model.Lesson{Vector: important, Label: model.Important, Weight: 1})
		u := learner.Learn(model.Lesson{Vector: ordinary, Label: model.Ordinary, Weight: 1})
		fmt.Printf("scored %+.2f: mistake %v, loss %.2f\n", u.Score, u.Mistake, u.Loss)
	}
	fmt.Printf("important %+.2f, ordinary %+.2f\n", learner.Score(important), learner.Score(ordinary))
	// Output:
	// scored +0.36: mistake true, loss 1.36
	// scored -0.64: mistake false, loss 0.36
	// important +0.64, ordinary -0.64
}

// A Hindsight gets the lessons that the learner got, and certifies how many of them can
// have been mistakes.
func ExampleHindsight() {
	spec := model.Spec{Kind: model.KindPerceptron}
	learner, err := model.NewLinear(spec, model.NewWeights(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	hindsight := model.NewHindsight(spec, learner.Weights())
	mistakes := 0
	for n := range 100 {
		x := model.Vector{{Index: model.Affine, Value: 0.6}, {Index: model.Index(2 + n%2), Value: 0.8}}
		e := model.Lesson{Vector: x, Label: model.Label(1 - 2*(n%2)), Weight: 1}
		u := learner.Learn(e)
		hindsight.Add(e)
		if u.Mistake {
			mistakes++
		}
	}
	c := hindsight.Ceiling()
	fmt.Println(mistakes, "mistakes; at most", c.Mistakes, "were possible")
	// Output:
	// 2 mistakes; at most 3 were possible
}
