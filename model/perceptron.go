package model

// perceptron updates on mistakes only: w ← w + weight·y·x (Rosenblatt 1958;
// Blum, section 2.2).
//
// With every weight 1, its mistakes are at most R²‖u‖² + 2L(u) for every u
// (Blum, Theorem 2). O(len(x)) time for Score and Learn.
type perceptron struct{ linear }

func (p *perceptron) Learn(e Lesson) Update {
	u := p.judge(e)
	if u.Mistake {
		p.step(&u, float64(e.Weight*float64(e.Label)), e.Vector)
	}
	return u
}

// marginPerceptron updates whenever y·score ≤ τ, so that it keeps learning
// while it is right but not clearly so (Krauth and Mézard 1987; Li et al.
// 2002). With τ = 0 and ZeroUnsure it is the perceptron.
//
// Its updates are at most (R² + 2τ)‖u‖² + 2L(u) for every u. O(len(x)) time.
type marginPerceptron struct {
	linear
	tau float64
}

func (p *marginPerceptron) Learn(e Lesson) Update {
	u := p.judge(e)
	if u.Mistake || float64(float64(e.Label)*u.Score) <= p.tau {
		p.step(&u, float64(e.Weight*float64(e.Label)), e.Vector)
	}
	return u
}
