//! Losses written by hand, as one node.

use crate::reference::{assert_close, grad_of, network, normal};
use axiomrl_nn::{Activation, MlpSpec, fused_loss, gradients, leaf, values};

#[test]
fn a_fused_loss_equals_the_composed_one() {
    let net = network(MlpSpec::new(4, &[16], 3, Activation::Tanh), 2, 1);
    let x = leaf(&normal(40, 2), [10, 4]);
    let target = normal(60, 3);

    let params = net.params.tracked();
    let loss = fused_loss([net.forward(x.clone(), params.clone(), None)], |[y]| {
        let n = y.len() as f32;
        let error: Vec<f32> = y.iter().zip(&target).map(|(y, t)| y - t).collect();
        (error.iter().map(|e| e * e / n).sum(), [error.iter().map(|e| 2.0 * e / n).collect()])
    });
    let value = values(&loss)[0];
    // A factor behind the node must reach the gradient.
    let [grad] = gradients(loss * 3.0, [&params]);

    let again = net.params.tracked();
    let error = net.forward(x, again.clone(), None) - leaf(&target, [2, 10, 3]);
    let composed = (error.clone() * error).mean();
    assert!((value - values(&composed)[0]).abs() < 1e-6);
    let grads = (composed * 3.0).backward();
    assert_close("gradient through the loss", &grad, &grad_of(&again, &grads));
}

#[test]
fn several_inputs_get_their_own_gradients_and_constants_none() {
    let a = leaf(&[1.0, 2.0], [1, 2]).require_grad();
    let b = leaf(&[3.0, 5.0], [1, 2]);
    let c = leaf(&[7.0], [1, 1]).require_grad();
    let loss = fused_loss([a.clone(), b.clone(), c.clone()], |[a, b, c]| {
        let dot = a[0] * b[0] + a[1] * b[1];
        let da = b.iter().map(|b| b * c[0]).collect();
        let db = a.iter().map(|a| a * c[0]).collect();
        (dot * c[0], [da, db, vec![dot]])
    });
    assert_eq!(values(&loss)[0], 91.0);
    let grads = loss.backward();
    assert_eq!(grad_of(&a, &grads), [21.0, 35.0]);
    assert_eq!(grad_of(&c, &grads), [13.0]);
    assert!(b.grad(&grads).is_none());
}

#[test]
fn two_networks_share_one_loss() {
    let spec = |outputs| MlpSpec::new(4, &[8], outputs, Activation::Tanh);
    let (policy, value) = (network(spec(2), 1, 1), network(spec(1), 1, 2));
    let x = leaf(&normal(20, 2), [5, 4]);
    let (p, v) = (policy.params.tracked(), value.params.tracked());
    let outputs = [policy.forward(x.clone(), p.clone(), None), value.forward(x, v.clone(), None)];
    let loss = fused_loss(outputs, |[h, v]| {
        (h.iter().sum::<f32>() - v.iter().sum::<f32>(), [vec![1.0; h.len()], vec![-1.0; v.len()]])
    });
    let [dp, dv] = gradients(loss, [&p, &v]);
    // The last bias moves every row's output alike.
    assert!((dp[dp.len() - 1] - 5.0).abs() < 1e-5);
    assert!((dv[dv.len() - 1] + 5.0).abs() < 1e-5);
}

#[test]
#[should_panic(expected = "does not depend")]
fn asking_for_a_gradient_that_does_not_exist_is_refused() {
    let net = network(MlpSpec::new(2, &[4], 1, Activation::Tanh), 1, 1);
    let (frozen, x) = (net.params.frozen(), leaf(&[1.0, 2.0], [1, 2]).require_grad());
    let loss = net.forward(x, frozen.clone(), None).sum();
    let _ = gradients(loss, [&frozen]);
}
