use super::*;
use crate::testing::{batch, changed, follows, update, vector_and_image};
use axiomrl_envs::{BoxSpace, Space};

/// One that sees numbers, and one that sees an image beside them.
fn each(mut check: impl FnMut(NafLearner, Batch, bool)) {
    for setup in vector_and_image(&Space::Box(BoxSpace::uniform(2, -1.0, 1.0))) {
        let config = NafConfig { hidden_sizes: vec![16], reward_scale: 2.0, ..NafConfig::default() };
        let learner = NafLearner::new(config, &setup).unwrap();
        let sees = learner.q.online.encoder.sees_images();
        check(learner, batch(&setup, 6), sees);
    }
}

#[test]
fn an_update_trains_network_and_encoder_and_their_copies_follow_by_tau() {
    each(|mut learner, batch, sees| {
        let names = changed(&mut learner, |learner| update(learner, &batch));
        let seeing = ["q", "q.vision", "q_target", "q_target.vision"];
        assert_eq!(names, if sees { &seeing[..] } else { &["q", "q_target"] });
        let tau = learner.config.tau;
        follows(&mut learner, &batch, "q", "q_target", tau);
    });
}

#[test]
fn the_copy_alone_says_what_the_future_is_worth() {
    each(|mut learner, mut batch, _| {
        let before = learner.targets(&batch);
        learner.q.online.params().into_iter().for_each(|params| params.make_mut().fill(0.5));
        assert_eq!(learner.targets(&batch), before);
        learner.q.target.params().into_iter().for_each(|params| params.make_mut().fill(0.5));
        assert_ne!(learner.targets(&batch), before);
        batch.discount.fill(0.0);
        assert_eq!(learner.targets(&batch), batch.reward.iter().map(|reward| 2.0 * reward).collect::<Vec<_>>());
    });
}
