//! Telling two kinds of rows apart by a number that is high for the expert's.

/// ln(1 + eˣ), for any x.
pub fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The entropy of a coin that shows heads with chance `sigmoid(f)`, in nats, and its derivative.
fn coin_entropy(f: f32) -> (f32, f32) {
    let heads = sigmoid(f);
    (sigmoid(-f) * f + softplus(-f), -f * heads * sigmoid(-f))
}

/// How well rows were told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    pub loss: f32,
    /// The share of rows on the right side, expert and policy weighing alike.
    pub accuracy: f32,
}

/// `mean_E softplus(−f) + mean_π softplus(f) − c·(mean_E H(f) + mean_π H(f))`; the gradients by each number are added to what
/// `by_expert` and `by_policy` hold. Entropy is wanted: a discriminator that is less sure leaves the policy something to climb.
pub fn logistic_loss(
    expert: &[f32],
    policy: &[f32],
    entropy_coef: f32,
    by_expert: &mut [f32],
    by_policy: &mut [f32],
) -> Verdict {
    let side = |logits: &[f32], sign: f32, by: &mut [f32]| {
        let share = 1.0 / logits.len() as f32;
        let (mut loss, mut right) = (0.0f64, 0usize);
        for (&f, by) in logits.iter().zip(by) {
            let (entropy, slope) = coin_entropy(f);
            loss += f64::from(softplus(-sign * f) - entropy_coef * entropy);
            *by += share * (-sign * sigmoid(-sign * f) - entropy_coef * slope);
            // What stands on the border counts as the policy's.
            right += usize::from((f > 0.0) == (sign > 0.0));
        }
        (loss * f64::from(share), right as f32 * share)
    };
    let (of_expert, expert_right) = side(expert, 1.0, by_expert);
    let (of_policy, policy_right) = side(policy, -1.0, by_policy);
    Verdict { loss: (of_expert + of_policy) as f32, accuracy: 0.5 * (expert_right + policy_right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_by_hand_with_entropy_of_each_side_wanted() {
        let (mut by_expert, mut by_policy) = ([0.0; 2], [0.0; 2]);
        let verdict = logistic_loss(&[2.0, 0.0], &[-1.0, 1.0], 0.001, &mut by_expert, &mut by_policy);
        // 1.222744 would be the entropy averaged over both sides together, 1.224411 its sign flipped.
        assert!((verdict.loss - 1.222_188).abs() < 2e-6, "{verdict:?}");
        assert_eq!(verdict.accuracy, 0.5);
        assert!(by_expert.iter().all(|&by| by < 0.0) && by_policy.iter().all(|&by| by > 0.0), "the expert's go up");
    }

    #[test]
    fn gradients_agree_with_differences_and_are_added() {
        let (expert, policy, c) = ([1.3f32, -0.4, 0.2], [-2.0f32, 0.7, 0.1], 0.3);
        let loss = |expert: &[f32], policy: &[f32]| {
            f64::from(logistic_loss(expert, policy, c, &mut [0.0; 3], &mut [0.0; 3]).loss)
        };
        let (mut by_expert, mut by_policy) = ([5.0; 3], [0.0; 3]);
        logistic_loss(&expert, &policy, c, &mut by_expert, &mut by_policy);
        for i in 0..3 {
            let moved = |values: &[f32; 3], by: f32| {
                let mut values = *values;
                values[i] += by;
                values
            };
            let h = 1e-2;
            let numeric = (loss(&moved(&expert, h), &policy) - loss(&moved(&expert, -h), &policy)) / f64::from(2.0 * h);
            assert!((numeric - f64::from(by_expert[i] - 5.0)).abs() < 1e-4, "{i}");
            let numeric = (loss(&expert, &moved(&policy, h)) - loss(&expert, &moved(&policy, -h))) / f64::from(2.0 * h);
            assert!((numeric - f64::from(by_policy[i])).abs() < 1e-4, "{i}");
        }
    }

    #[test]
    fn far_logits_stay_numbers() {
        assert_eq!((softplus(200.0), softplus(-200.0)), (200.0, 0.0));
        let (mut by_expert, mut by_policy) = ([0.0; 1], [0.0; 1]);
        let verdict = logistic_loss(&[-300.0], &[300.0], 0.001, &mut by_expert, &mut by_policy);
        assert_eq!((verdict.loss, verdict.accuracy, by_expert, by_policy), (600.0, 0.0, [-1.0], [1.0]));
    }
}
