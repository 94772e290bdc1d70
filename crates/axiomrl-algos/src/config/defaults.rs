//! Defaults of groups of settings, said once where most structs that have a group agree on them.
//!
//! A struct that wants another default for one of the keys writes all keys of that group itself.

/// A struct of settings as it is by default: groups by name, then its other fields. What `settings!` declares, this fills.
macro_rules! defaults {
    (@ $name:ident [$($gathered:tt)*] ..memory, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            memory: $crate::parts::torso::MemoryKind::None,
            recurrent_hidden_size: 64,
            head_sizes: Vec::new(),
            sequence_length: 32,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..ppo, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            update_epochs: 10,
            minibatch_size: 64,
            clip_coef: axiomrl_core::Schedule::Constant(0.2),
            value_clip_coef: None,
            ent_coef: axiomrl_core::Schedule::Constant(0.0),
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: true,
            target_kl: None,
            shared: false,
            log_std_init: 0.0,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..curiosity, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            curiosity: $crate::policy_gradient::CuriosityKind::None,
            two_streams: true,
            intrinsic_coef: 1.0,
            extrinsic_coef: 2.0,
            intrinsic_gamma: 0.99,
            curiosity_learning_rate: axiomrl_core::Schedule::Constant(1e-3),
            warm_up_steps: 0,
            predictor_share: None,
            bonus_scale: 0.01,
            forward_loss_coef: 0.2,
            feature_gradient: $crate::policy_gradient::FeatureGradient::Inverse,
            permute_bonus: false,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..stochastic_policy, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            ent_coef: axiomrl_core::Schedule::Constant(0.0),
            log_std_init: 0.0,
            shuffle_advantages: false,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..trust_region, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            max_kl: 0.01,
            cg_iterations: 15,
            cg_damping: 0.1,
            curvature_share: 1.0,
            line_search_steps: 10,
            line_search_shrink: 0.8,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..action_model, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            vae_hidden_sizes: vec![750, 750],
            latent_size: None,
            latent_clip: 0.5,
            kl_weight: 0.5,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..soft_policy, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            hidden_sizes: vec![256, 256],
            activation: axiomrl_nn::Activation::Relu,
            policy_learning_rate: None,
            tau: 0.005,
            ent_coef: $crate::parts::temperature::TemperatureSetting::Auto,
            ent_coef_init: 1.0,
            target_entropy: None,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..dynamics, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            num_ensembles: 7,
            model_hidden_sizes: vec![200; 4],
            model_batch_size: 256,
            model_weight_decay: vec![2.5e-5, 5e-5, 7.5e-5, 1e-4],
            model_max_grad_norm: Some(10.0),
            logvar_bounds: $crate::model_based::LogVarBounds::Learned,
            standardize_targets: true,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..priorities, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            prioritized_replay: false,
            prioritized_alpha: 0.6,
            prioritized_beta: axiomrl_core::Schedule::linear(0.4, 1.0),
            prioritized_eps: 1e-6,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..prior, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            offline: false,
            online_timesteps: 0,
            offline_batch_ratio: 0.0,
            offline_pretrain_updates: 0,
        ] $($rest)* }
    };
    (@ $name:ident [$($gathered:tt)*] ..goals, $($rest:tt)*) => {
        $crate::config::defaults! { @ $name [$($gathered)*
            n_sampled_goal: 0,
            goal_selection_strategy: axiomrl_core::GoalStrategy::Future,
        ] $($rest)* }
    };
    // Only fields of its own are left.
    (@ $name:ident [$($gathered:tt)*] $($rest:tt)*) => {
        $name { $($gathered)* $($rest)* }
    };
    ($name:ident { $($body:tt)* }) => {
        $crate::config::defaults! { @ $name [] $($body)* }
    };
}

pub(crate) use defaults;
