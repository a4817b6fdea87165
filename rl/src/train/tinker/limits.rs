//! What a server cannot do, refused before a run begins.

use super::settings::{Backend, LearnerSettings, LossFunction};
use crate::model::LoraSettings;
use crate::optim::{AdamConfig, MomentStore};
use crate::run::settings::{SettingsError, require};
use crate::train::grpo::TrainSettings;

/// `SkyRL`'s `trainer.policy.optimizer_config`, which requests cannot change.
const SERVER_ADAM: AdamConfig = AdamConfig {
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    weight_decay: 0.01,
    max_grad_norm: 1.0,
    optim: MomentStore::Full,
};

/// The scale of adapters that every server has: requests have their rank alone.
const ALPHA: f64 = 32.0;

impl LearnerSettings {
    /// Refuses settings of a run that the server would ignore.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key, and what to set instead.
    pub fn check(&self, run: &TrainSettings) -> Result<(), SettingsError> {
        let Self { url, patience_seconds, .. } = self;
        let is_address = url.starts_with("http://") || url.starts_with("https://");
        require(
            is_address,
            "learner.url",
            &format!("`{url}`"),
            "the server's address, such as `http://10.0.0.5:8000`",
        )?;
        let patience = "learner.patience_seconds";
        require(*patience_seconds > 0, patience, patience_seconds, "at least 1")?;
        self.check_loss(run)?;
        self.check_adapters(run.lora.as_ref())?;
        self.check_optimizer(&run.adam)?;
        self.check_rollout(run)
    }

    /// What requests for samples and scores cannot express.
    fn check_rollout(&self, run: &TrainSettings) -> Result<(), SettingsError> {
        let sampling = &run.rollout.sampling;
        require(
            sampling.temperature == 1.0,
            "rollout.sampling.temperature",
            &sampling.temperature,
            "1 with `learner`: the server scores tokens at temperature 1",
        )?;
        require(
            sampling.min_p == 0.0,
            "rollout.sampling.min_p",
            &sampling.min_p,
            "0 with `learner`: the server knows no min-p",
        )?;
        let narrows = sampling.top_p < 1.0 || sampling.top_k > 0;
        require(
            !narrows || self.backend == Backend::Jax,
            "rollout.sampling.top_p and top_k",
            &format!("{} and {}", sampling.top_p, sampling.top_k),
            "1 and 0 with `learner.backend = \"fsdp\"` or `\"megatron\"`: whether vLLM's \
             log-probabilities are those of the whole distribution depends on how the server was \
             started",
        )?;
        require(
            !run.rollout.deterministic,
            "rollout.deterministic",
            &true,
            "false with `learner`: the server decides which sequences share a batch",
        )?;
        let own = run.rollout.cache.map(|cache| cache.to_string());
        require(
            own.is_none(),
            "rollout.cache",
            &own.unwrap_or_default(),
            "left out with `learner`: the server has the KV cache",
        )
    }

    fn check_loss(&self, run: &TrainSettings) -> Result<(), SettingsError> {
        require(
            run.kl.beta == 0.0,
            "kl.beta",
            &run.kl.beta,
            "0 with `learner`: the server has no reference model, and its losses have no KL penalty",
        )?;
        require(
            run.clip.dual == 0.0,
            "clip.dual",
            &run.clip.dual,
            "0 with `learner`: the server's `ppo` has two thresholds and no dual clip",
        )?;
        if self.loss == LossFunction::Ppo {
            return Ok(());
        }
        let updates = run.updates_per_step();
        require(
            updates == 1,
            "mini_batches and epochs",
            &format!("{} and {}", run.mini_batches, run.epochs),
            "1 and 1 with `learner.loss = \"importance-sampling\"`, which does not clip; for several \
             updates per batch set `learner.loss = \"ppo\"`",
        )?;
        require(
            run.tis_cap > 0.0,
            "tis_cap",
            &run.tis_cap,
            "at least 1 with `learner.loss = \"importance-sampling\"`, which does not clip: with the \
             trainer's own old log-probabilities there is nothing to clip; or set \
             `learner.loss = \"ppo\"`",
        )
    }

    fn check_adapters(&self, lora: Option<&LoraSettings>) -> Result<(), SettingsError> {
        let Some(lora) = lora else {
            return require(
                self.backend != Backend::Jax,
                "lora",
                &"not set",
                "set with `learner.backend = \"jax\"`, which trains adapters alone: \
                 `lora.rank = 8`, `lora.alpha = 32`",
            );
        };
        let expected = "32 with `learner`: requests have the rank of adapters alone, and the server \
                        scales by 32 / rank";
        require(lora.alpha == ALPHA, "lora.alpha", &lora.alpha, expected)?;
        require(
            lora.targets == LoraSettings::default().targets,
            "lora.targets",
            &format!("{:?}", lora.targets),
            "left out with `learner`: the server chooses the projections",
        )
    }

    fn check_optimizer(&self, adam: &AdamConfig) -> Result<(), SettingsError> {
        require(
            adam.optim == MomentStore::Full,
            "adam.optim",
            &format!("{:?}", adam.optim),
            "`adamw` with `learner`: the server keeps the moments",
        )?;
        if !self.backend.clips() {
            require(
                adam.max_grad_norm == 0.0,
                "adam.max_grad_norm",
                &adam.max_grad_norm,
                "0 with `learner.backend = \"jax\"`, which does not clip gradients",
            )?;
        }
        if self.backend.takes_adam() {
            return Ok(());
        }
        require(
            adam.epsilon == SERVER_ADAM.epsilon,
            "adam.epsilon",
            &adam.epsilon,
            "1e-8 with `learner.backend = \"fsdp\"` or `\"megatron\"`, where it cannot be set",
        )?;
        if self.own_optimizer {
            return Ok(());
        }
        let fixed = [
            ("adam.beta1", adam.beta1, SERVER_ADAM.beta1),
            ("adam.beta2", adam.beta2, SERVER_ADAM.beta2),
            ("adam.weight_decay", adam.weight_decay, SERVER_ADAM.weight_decay),
            ("adam.max_grad_norm", adam.max_grad_norm, SERVER_ADAM.max_grad_norm),
        ];
        for (key, ours, theirs) in fixed {
            require(
                ours == theirs,
                key,
                &ours,
                "SkyRL's default (`beta1` 0.9, `beta2` 0.999, `weight_decay` 0.01, `max_grad_norm` 1), which requests cannot change; or start the server with your \
                 own as `trainer.policy.optimizer_config` in `--backend-config`, and set \
                 `learner.own_optimizer = true`",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::MomentStore;
    use crate::train::presets::Scale;

    fn large() -> (LearnerSettings, TrainSettings) {
        let url = "http://127.0.0.1:8000".to_owned();
        (LearnerSettings { url, ..Default::default() }, TrainSettings::defaults(Scale::Large))
    }

    fn refused(learner: &LearnerSettings, run: &TrainSettings) -> String {
        learner.check(run).unwrap_err().to_string()
    }

    #[test]
    fn defaults_of_large_policies_are_what_the_server_does() {
        let (learner, run) = large();
        learner.check(&run).unwrap();
        let megatron = LearnerSettings { backend: Backend::Megatron, ..learner };
        megatron.check(&run).unwrap();
    }

    #[test]
    fn what_the_server_cannot_do_is_refused_by_its_key() {
        type Change = fn(&mut TrainSettings);
        let changes: [(&str, Change); 14] = [
            ("kl.beta", |run| run.kl.beta = 0.1),
            ("clip.dual", |run| run.clip.dual = 3.0),
            ("rollout.sampling.temperature", |run| run.rollout.sampling.temperature = 0.7),
            ("rollout.sampling.min_p", |run| run.rollout.sampling.min_p = 0.02),
            ("rollout.sampling.top_p and top_k", |run| run.rollout.sampling.top_k = 20),
            ("rollout.deterministic", |run| run.rollout.deterministic = true),
            ("adam.beta1", |run| run.adam.beta1 = 0.8),
            ("adam.beta2", |run| run.adam.beta2 = 0.95),
            ("adam.epsilon", |run| run.adam.epsilon = 1e-6),
            ("adam.weight_decay", |run| run.adam.weight_decay = 0.0),
            ("adam.max_grad_norm", |run| run.adam.max_grad_norm = 0.1),
            ("adam.optim", |run| run.adam.optim = MomentStore::EightBit),
            ("lora.alpha", |run| run.lora = Some(LoraSettings::default())),
            ("lora.targets", |run| {
                let targets = LoraSettings::default().targets[..4].to_vec();
                run.lora = Some(LoraSettings { alpha: 32.0, targets, ..Default::default() });
            }),
        ];
        for (key, change) in changes {
            let (learner, mut run) = large();
            change(&mut run);
            let error = refused(&learner, &run);
            assert!(error.starts_with(&format!("`{key}` is ")), "{key}: {error}");
        }
        let (learner, run) = large();
        let error = refused(&LearnerSettings { url: "gpu-1:8000".to_owned(), ..learner }, &run);
        assert!(error.contains("learner.url"), "{error}");
    }

    #[test]
    fn own_optimizer_settings_are_taken_at_the_users_word() {
        let (mut learner, mut run) = large();
        run.adam.beta2 = 0.95;
        assert!(refused(&learner, &run).contains("learner.own_optimizer = true"));
        learner.own_optimizer = true;
        learner.check(&run).unwrap();
    }

    #[test]
    fn jax_needs_adapters_and_no_clipping_of_gradients() {
        let (mut learner, mut run) = large();
        learner.backend = Backend::Jax;
        assert!(refused(&learner, &run).starts_with("`lora` is not set"));
        run.lora = Some(LoraSettings { rank: 8, alpha: 32.0, ..Default::default() });
        assert!(refused(&learner, &run).starts_with("`adam.max_grad_norm`"));
        run.adam.max_grad_norm = 0.0;
        run.adam.beta2 = 0.95;
        learner.check(&run).unwrap();
    }

    #[test]
    fn loss_without_a_clip_needs_one_update_at_the_trainers_own_log_probs() {
        let (mut learner, mut run) = large();
        learner.loss = LossFunction::ImportanceSampling;
        learner.check(&run).unwrap();
        run.epochs = 2;
        assert!(refused(&learner, &run).starts_with("`mini_batches and epochs` is 1 and 2"));
        run.epochs = 1;
        run.tis_cap = 0.0;
        assert!(refused(&learner, &run).starts_with("`tis_cap`"));
    }
}
