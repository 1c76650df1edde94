package model

// passiveAggressive moves w just far enough to meet the lesson with margin 1,
// damped by C (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, figure
// 1): with loss ℓ = max(0, 1 − y·score),
//
//	PA-I:  a = min(C, ℓ/‖x‖²)
//	PA-II: a = ℓ/(‖x‖² + 1/(2C))
//
// and w ← w + a·y·x. The lesson's weight multiplies C. O(len(x)) time.
type passiveAggressive struct {
	linear
	c       float64
	variant int
}

func (p *passiveAggressive) Learn(e Lesson) Update {
	u := p.judge(e)
	norm := e.Vector.SquaredNorm()
	if u.Loss == 0 || norm == 0 {
		return u
	}
	c := float64(p.c * e.Weight)
	var a float64
	if p.variant == 1 {
		a = min(c, u.Loss/norm)
	} else {
		a = u.Loss / (norm + 0.5/c)
	}
	p.step(&u, float64(a*float64(e.Label)), e.Vector)
	return u
}
