// For laws whose friction on a free body is that of its velocity before the step.

fn point_step(s: Step) -> Outcome {
    return Outcome(point_force(s, s.v), false);
}
