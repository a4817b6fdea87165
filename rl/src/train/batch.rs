//! Trajectories as training sequences: tokens, the loss mask, and how they are packed into
//! micro-batches.
//!
//! The model sees sequences end to end, without padding, each cut behind the last token that is
//! trained on. The output layer, whose cost is the vocabulary's size, sees only the positions
//! that predict a trained token, and of those a limited number at once: what the prompt and the
//! environment wrote is context, never a target, and the logits of a long sequence never exist
//! whole. Sequences that begin alike, as those of a group do, can have their beginning once
//! ([`Memory::share_prefixes`]).

use crate::generate::sample::Sampling;
use crate::model::{Gradients, HeadPass, Packed, Pass, PrefixTree, Qwen3, signed};
use crate::run::settings::{SettingsError, require};
use crate::text::template::{
    ChatMessage, ChatRole, ChatTemplate, ChatTemplateOptions, TemplateError, opening,
};
use crate::text::tokenizer::{Tokenizer, signed_ids};
use crate::train::loss;
use agents::guide::export::Sample;
use agents::trajectory::{Segment, Source, Trajectory, TurnRecord};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::ops::Range;
use tasks::stream::Stream;
use tch::{Device, Tensor, no_grad_guard};

/// What bounds the memory of a forward and backward pass. Changes speed and rounding, not results.
///
/// | field | tiny | large | purpose |
/// | --- | --- | --- | --- |
/// | `max_tokens_per_micro_batch` | 4096 | 32768 | tokens of a micro-batch |
/// | `logit_tokens` | 4096 | 1024 | tokens whose logits exist at once (chunked logits) |
/// | `gradient_checkpointing` | no | yes | whether activations are recomputed in the backward pass |
/// | `share_prefixes` | yes | no | whether sequences that begin alike have their beginning once |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Most tokens of a micro-batch; a longer sequence is a micro-batch of its own.
    pub max_tokens_per_micro_batch: usize,
    /// Tokens whose logits exist at once (chunked logits); each takes about 12 bytes per
    /// vocabulary entry.
    pub logit_tokens: usize,
    /// Gradient checkpointing: only the inputs of layers are kept, and the activations of one
    /// layer at a time are recomputed in the backward pass. A third more compute, and the
    /// activations of one layer in memory instead of all.
    pub gradient_checkpointing: bool,
    /// Sequences of a micro-batch that begin with the same tokens, such as the episodes of a group
    /// with their prompt, have these once. Attention then needs masks, of a number for each token
    /// and each that it may look at, which are cheap on processors and for short sequences.
    pub share_prefixes: bool,
}

impl Memory {
    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        let Self { max_tokens_per_micro_batch, logit_tokens, .. } = self;
        require(
            *max_tokens_per_micro_batch > 0,
            "memory.max_tokens_per_micro_batch",
            max_tokens_per_micro_batch,
            "at least 1",
        )?;
        require(*logit_tokens > 0, "memory.logit_tokens", logit_tokens, "at least 1")
    }

    /// How sequences of a micro-batch are laid out.
    fn tree<'s>(&self, reads: impl Iterator<Item = &'s [i64]>) -> PrefixTree<'s> {
        let reads: Vec<&[i64]> = reads.collect();
        if self.share_prefixes { PrefixTree::new(&reads) } else { PrefixTree::apart(&reads) }
    }
}

/// One trajectory as a sequence of tokens with a loss mask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrainSequence {
    /// All tokens, in order.
    pub ids: Vec<i64>,
    /// The loss mask, as long as `ids`: true for tokens that the policy sampled and is trained on.
    /// The first token has no context and cannot be trained on.
    pub trained: Vec<bool>,
}

impl TrainSequence {
    /// A sampled trajectory, with the sampler's log-probabilities of its trained tokens, in nats. Where
    /// the conversation was summarised it is several sequences: what was seen last before each summary,
    /// each summary, and what was seen at the end. Every sampled token is trained on in one of them, the
    /// first that has it.
    pub fn from_rollout(trajectory: &Trajectory) -> Vec<(Self, Vec<f32>)> {
        let segments = &trajectory.segments;
        let is_turn = |index: &usize| segments[*index].source == Source::Model;
        let mut sequences = Vec::new();
        let (mut opens, mut shown_from, mut new) = (&[][..], 0, 0);
        for summary in &trajectory.summaries {
            // Two summaries in a row have no turn between them.
            if let Some(last) = (new..summary.before).rev().find(is_turn) {
                sequences.push(Self::of_segments(
                    opens,
                    &segments[shown_from..=last],
                    new - shown_from,
                ));
            }
            let (mut sequence, [prompt, ids]) = (Self::default(), [&summary.prompt, &summary.ids]);
            sequence.push(&signed_ids(prompt), false);
            sequence.push(&signed_ids(ids), true);
            sequences.push((sequence, summary.log_probs.clone()));
            let replaced = summary.replaces.iter().max().map_or(0, |last| last + 1);
            shown_from = (replaced..segments.len()).find(is_turn).unwrap_or(segments.len());
            (opens, new) = (&summary.opens, summary.before);
        }
        if trajectory.summaries.is_empty() || (new..segments.len()).any(|index| is_turn(&index)) {
            sequences.push(Self::of_segments(opens, &segments[shown_from..], new - shown_from));
        }
        sequences
    }

    /// `opens` and what follows it; the turns from the segment `new` on are trained on.
    fn of_segments(opens: &[u32], segments: &[Segment], new: usize) -> (Self, Vec<f32>) {
        let (mut sequence, mut log_probs) = (Self::default(), Vec::new());
        sequence.push(&signed_ids(opens), false);
        for (index, segment) in segments.iter().enumerate() {
            let is_trained = segment.source == Source::Model && index >= new;
            sequence.push(&signed_ids(&segment.ids), is_trained);
            if is_trained {
                log_probs.extend_from_slice(&segment.log_probs);
            }
        }
        (sequence, log_probs)
    }

    /// A text-only trajectory as if the policy had sampled it, for SFT. Failed turns are context
    /// and not trained on: the policy learns to recover from them, not to repeat them.
    ///
    /// # Errors
    /// [`TemplateError`] if the template refuses the trajectory, or its text cannot be encoded.
    pub fn from_demonstration(
        trajectory: &Trajectory,
        template: &ChatTemplate<&Tokenizer>,
    ) -> Result<Self, TemplateError> {
        let failed = |turn: usize| trajectory.turns.get(turn).is_some_and(TurnRecord::failed);
        Self::of_episode(trajectory, template, |turn, text| vec![(text, !failed(turn))])
    }

    /// A sample of a guided run, which says what of each turn is trained on.
    ///
    /// # Errors
    /// As [`Self::from_demonstration`].
    pub fn from_sample(
        sample: &Sample,
        template: &ChatTemplate<&Tokenizer>,
    ) -> Result<Self, TemplateError> {
        let segments = sample.trajectory.segments.iter().zip(sample.pieces());
        let written = segments.filter(|(segment, _)| segment.source == Source::Model);
        let turns: Vec<Vec<(&str, bool)>> = written.map(|(_, pieces)| pieces).collect();
        Self::of_episode(&sample.trajectory, template, |turn, _| turns[turn].clone())
    }

    /// The texts of an episode; `pieces` gives those of a turn, in order, and whether each is trained
    /// on.
    fn of_episode<'a>(
        trajectory: &'a Trajectory,
        template: &ChatTemplate<&Tokenizer>,
        pieces: impl Fn(usize, &'a str) -> Vec<(&'a str, bool)>,
    ) -> Result<Self, TemplateError> {
        let mut sequence = Self::default();
        let of_prompt = |segment: &&Segment| segment.source == Source::Prompt;
        let mut prompt = trajectory.segments.iter().filter(of_prompt).map(|segment| &segment.text);
        let (system, user) = (prompt.next(), prompt.next());
        // Messages that the next turn answers.
        let mut messages = opening(system.map_or("", |text| text), user.map_or("", |text| text));
        let mut turn = 0;
        for segment in &trajectory.segments {
            match segment.source {
                // Behind the first turn a prompt asks for something else, such as a summary.
                Source::Prompt if turn > 0 => {
                    messages.push(ChatMessage::new(ChatRole::User, &segment.text));
                }
                Source::Prompt => (),
                Source::Model => {
                    if turn == 0 {
                        let prompt = std::mem::take(&mut messages);
                        sequence.push(
                            &template.apply(&prompt, &ChatTemplateOptions::default())?,
                            false,
                        );
                    }
                    sequence.push_replies(&mut messages, template)?;
                    sequence.push_turn(&pieces(turn, &segment.text), template)?;
                    turn += 1;
                }
                Source::Environment => messages.push(template.observed(&segment.text)),
                // It follows the prompt where the turns before it are no longer shown.
                Source::Guide => messages.push(ChatMessage::advice(&segment.text)),
            }
        }
        Ok(sequence)
    }

    /// Appends a turn in pieces; the token that ends it goes with the last one.
    fn push_turn(
        &mut self,
        pieces: &[(&str, bool)],
        template: &ChatTemplate<&Tokenizer>,
    ) -> Result<(), TemplateError> {
        let Some(((last, is_trained), before)) = pieces.split_last() else { return Ok(()) };
        for (text, is_trained) in before {
            self.push(&template.tokenizer().encode(text)?, *is_trained);
        }
        self.push(&template.answer(last)?, *is_trained);
        Ok(())
    }

    /// Appends the messages between two turns, none of them trained on.
    pub(crate) fn push_replies(
        &mut self,
        replies: &mut Vec<ChatMessage>,
        template: &ChatTemplate<&Tokenizer>,
    ) -> Result<(), TemplateError> {
        if !replies.is_empty() {
            self.push(&template.between(replies)?, false);
            replies.clear();
        }
        Ok(())
    }

    /// Appends a piece that is all trained on, or not at all.
    pub fn push(&mut self, ids: &[i64], trained: bool) {
        self.ids.extend_from_slice(ids);
        self.trained.resize(self.ids.len(), trained);
    }

    /// Replaces each context token with probability `share` by a random one of the vocabulary.
    pub fn drop_context_tokens(&mut self, share: f64, vocab_size: usize, stream: Stream) {
        if share <= 0.0 {
            return;
        }
        let mut rng = stream.rng();
        for (id, trained) in self.ids.iter_mut().zip(&self.trained) {
            if !trained && rng.random_bool(share) {
                *id = signed(rng.random_range(0..vocab_size));
            }
        }
    }

    /// Positions of trained tokens in `ids`.
    pub(crate) fn target_positions(&self) -> impl Iterator<Item = usize> {
        // Nothing predicts the first token.
        self.trained
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, trained)| **trained)
            .map(|(place, _)| place)
    }

    /// How many tokens are trained on.
    pub fn trained_count(&self) -> usize {
        self.target_positions().count()
    }

    /// The tokens that the model must read to predict the last trained one; empty if there is none.
    fn read(&self) -> &[i64] {
        &self.ids[..self.target_positions().last().unwrap_or(0)]
    }
}

/// Groups the `wanted` samples into micro-batches of at most
/// [`max_tokens_per_micro_batch`](Memory::max_tokens_per_micro_batch), or of one sample that alone is
/// longer. Samples with nothing to train on are left out. Largest first, so that a batch that is too
/// large fails at once.
pub fn micro_batches(
    samples: &[TrainSequence],
    wanted: impl IntoIterator<Item = usize>,
    memory: &Memory,
) -> Vec<Vec<usize>> {
    let read = |index: usize| samples[index].read();
    let mut order: Vec<usize> =
        wanted.into_iter().filter(|&index| !read(index).is_empty()).collect();
    if memory.share_prefixes {
        // What begins alike stands together.
        order.sort_by_key(|&index| (read(index), index));
    } else {
        order.sort_by_key(|&index| (Reverse(read(index).len()), index));
    }
    let mut batches: Vec<(usize, Vec<usize>)> = Vec::new();
    for index in order {
        if let Some((tokens, batch)) = batches.last_mut() {
            batch.push(index);
            let with = memory.tree(batch.iter().map(|&index| read(index))).tokens();
            if with <= memory.max_tokens_per_micro_batch {
                *tokens = with;
                continue;
            }
            batch.pop();
        }
        batches.push((read(index).len(), vec![index]));
    }
    batches.sort_by_key(|(tokens, _)| Reverse(*tokens));
    batches.into_iter().map(|(_, batch)| batch).collect()
}

/// A micro-batch with N trained tokens.
#[derive(Debug)]
pub struct MicroBatch<'s> {
    tree: PrefixTree<'s>,
    target_positions: Vec<i64>, // [N], into what is read: where a trained token is predicted
    targets: Vec<i64>,          // [N]
    members: Vec<(usize, usize)>,
    device: Device,
}

impl<'s> MicroBatch<'s> {
    /// Packs the samples at `chosen`.
    pub fn new(
        samples: &'s [TrainSequence],
        chosen: &[usize],
        memory: &Memory,
        device: Device,
    ) -> Self {
        let tree = memory.tree(chosen.iter().map(|&index| samples[index].read()));
        let (mut target_positions, mut targets, mut members) = (Vec::new(), Vec::new(), Vec::new());
        for (row, &index) in chosen.iter().enumerate() {
            let sample = &samples[index];
            let places: Vec<usize> = tree.places(row).collect();
            target_positions
                .extend(sample.target_positions().map(|place| signed(places[place - 1])));
            targets.extend(sample.target_positions().map(|place| sample.ids[place]));
            members.push((index, sample.trained_count()));
        }
        Self { tree, target_positions, targets, members, device }
    }

    /// The samples in here and how many tokens each brings, in the order of packed tokens.
    pub fn members(&self) -> &[(usize, usize)] {
        &self.members
    }

    /// Where each trained token is predicted, as an index into the packed tokens: `[N]`.
    pub fn target_positions(&self) -> &[i64] {
        &self.target_positions
    }

    /// The trained tokens: `[N]`.
    pub fn targets(&self) -> &[i64] {
        &self.targets
    }

    /// A value per sample, spread over its tokens: `[N]`.
    pub fn spread(&self, value: impl Fn(usize) -> f64) -> Tensor {
        #[expect(clippy::cast_possible_truncation, reason = "losses are f32")]
        let values: Vec<f32> = self
            .members
            .iter()
            .flat_map(|&(index, count)| std::iter::repeat_n(value(index) as f32, count))
            .collect();
        Tensor::from_slice(&values).to_device(self.device)
    }

    /// Values per trained token of each sample, packed: `[N]`.
    pub fn pack<'a>(&self, values: impl Fn(usize) -> &'a [f32]) -> Tensor {
        let values: Vec<f32> =
            self.members.iter().flat_map(|&(index, _)| values(index)).copied().collect();
        Tensor::from_slice(&values).to_device(self.device)
    }

    /// Log-probabilities of the trained tokens under the model and the distribution of `sampling`:
    /// `[N]`, in f32, without gradient.
    pub fn log_probs(&self, model: &Qwen3, sampling: &Sampling, memory: &Memory) -> Tensor {
        let _guard = no_grad_guard();
        let hidden = model.hidden(&self.packed());
        let part = |range: Range<usize>| {
            let logits = model.logits(
                &hidden.index_select(0, &self.tensor(&self.target_positions[range.clone()])),
            );
            loss::log_probs(&logits, &self.tensor(&self.targets[range]), sampling)
        };
        Tensor::cat(&self.chunks(memory).map(part).collect::<Vec<_>>(), 0)
    }

    /// Adds to `gradients` those of a loss that is a sum over trained tokens. `loss` is asked for
    /// its part over a range of the packed tokens, `[]`, given their log-probabilities `[n]`.
    pub fn backward(
        &self,
        model: &Qwen3,
        sampling: &Sampling,
        memory: &Memory,
        gradients: &mut Gradients,
        loss: &mut dyn FnMut(&Tensor, Range<usize>) -> Tensor,
    ) {
        let pass = Pass::new(model, self.packed(), memory.gradient_checkpointing);
        let mut gradient = pass.hidden().zeros_like();
        for range in self.chunks(memory) {
            let positions = self.tensor(&self.target_positions[range.clone()]);
            let head = HeadPass::new(model, &pass.hidden().index_select(0, &positions)); // [n, C]
            let targets = self.tensor(&self.targets[range.clone()]);
            let log_probs = loss::log_probs(head.logits(), &targets, sampling);
            let rows_gradient = head.backward(&loss(&log_probs, range), gradients);
            let _ = gradient.index_add_(0, &positions, &rows_gradient);
        }
        pass.backward(gradient, gradients);
    }

    /// Ranges of trained tokens whose logits exist together.
    fn chunks(&self, memory: &Memory) -> impl Iterator<Item = Range<usize>> {
        let (length, step) = (self.targets.len(), memory.logit_tokens.max(1));
        (0..length).step_by(step).map(move |start| start..length.min(start + step))
    }

    fn packed(&self) -> Packed {
        Packed::of_tree(&self.tree, self.device)
    }

    fn tensor(&self, values: &[i64]) -> Tensor {
        Tensor::from_slice(values).to_device(self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::Pieces;
    use crate::train::presets::Scale;
    use jail::exec::Outcome;
    use proptest::prelude::*;
    use serde_json::json;

    fn sample(pieces: &[(&[i64], bool)]) -> TrainSequence {
        let mut sample = TrainSequence::default();
        for (ids, trained) in pieces {
            sample.push(ids, *trained);
        }
        sample
    }

    #[test]
    fn only_what_predicts_is_read_and_only_what_is_trained_is_predicted() {
        let samples = [
            sample(&[
                (&[1, 2], false),
                (&[3, 4], true),
                (&[5], false),
                (&[6], true),
                (&[7, 8, 9], false),
            ]),
            sample(&[(&[10, 11], true)]),
        ];
        let micro = MicroBatch::new(&samples, &[0, 1], &memory(100, false), Device::Cpu);
        assert_eq!(micro.tree.tokens(), 6);
        assert_eq!(micro.target_positions, [1, 2, 4, 5]);
        assert_eq!(micro.targets, [3, 4, 6, 11]);
        assert_eq!(micro.members(), [(0, 3), (1, 1)]);
    }

    #[test]
    fn samples_of_guided_runs_are_trained_on_where_they_say_so_and_advice_is_context() {
        let text = |source: &str, text: &str| json!({"source": source, "text": text});
        let failed = json!(Outcome::TimedOut);
        let record =
            json!({"tool": "python", "has_thought": true, "outcome": failed, "seconds": 0.0});
        let sample: Sample = serde_json::from_value(json!({
            "version": 1, "conversation": "run", "context": "keep",
            "trained": ["nothing", "action", "whole"],
            "trajectory": {
                "version": 2, "task": "t", "agent": "a", "attempt": 0, "guided": true,
                "segments": [
                    text("prompt", "Be brief."), text("prompt", "Solve it."),
                    text("model", "<think>one</think>\nfirst"), text("environment", "0.5"),
                    text("model", "<think>two</think>\nsecond"), text("environment", "0.6"),
                    text("guide", "Look at ratios."),
                    text("model", "<think>three</think>\nthird"),
                ],
                "turns": [record, record, record],
                "ending": "answered", "timed_out": false,
                "outcome": {"mle": {"grade": null, "refusal": null}},
                "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
            },
        }))
        .unwrap();
        let texts = vec!["system user assistant Look at ratios first second third\n".into(); 3];
        let tokenizer = Tokenizer::train(&texts, 300, Pieces::Lines).unwrap();
        let template = ChatTemplate::new(&tokenizer).unwrap();
        let sequence = TrainSequence::from_sample(&sample, &template).unwrap();
        let of = |trained: bool| {
            let kept = sequence.ids.iter().zip(&sequence.trained);
            let ids: Vec<i64> = kept.filter(|(_, is)| **is == trained).map(|(id, _)| *id).collect();
            tokenizer.decode(&ids).unwrap()
        };
        // Failed turns are trained on where a person kept them.
        assert_eq!(of(true), "\nsecond<|im_end|><think>three</think>\nthird<|im_end|>");
        assert!(
            of(false).contains(
                "</tool_response><|im_end|>\n<|im_start|>user\n<real_user>\nLook at ratios.\n</real_user><|im_end|>"
            )
        );
        // The same episode without verdicts: failed turns are context.
        let plain = TrainSequence::from_demonstration(&sample.trajectory, &template).unwrap();
        assert!(plain.trained.iter().all(|trained| !trained));
        assert_eq!(tokenizer.decode(&plain.ids).unwrap(), tokenizer.decode(&sequence.ids).unwrap());
    }

    #[test]
    fn summaries_are_trained_on_behind_the_request_of_a_user() {
        let text = |source: &str, text: &str| json!({"source": source, "text": text});
        let record =
            json!({"tool": "score", "has_thought": false, "outcome": null, "seconds": 0.0});
        let sample: Sample = serde_json::from_value(json!({
            "version": 1, "conversation": "run", "context": "keep", "is_summary": true,
            "trained": ["nothing", "whole"],
            "trajectory": {
                "version": 2, "task": "t", "agent": "a", "attempt": 0, "guided": true,
                "segments": [
                    text("prompt", "Be brief."), text("prompt", "Solve it."),
                    text("model", "first"), text("environment", "0.5"),
                    text("prompt", "Summarise it."), text("model", "It was 0.5."),
                ],
                "turns": [record],
                "ending": "budget", "timed_out": false,
                "outcome": {"mle": {"grade": null, "refusal": null}},
                "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
            },
        }))
        .unwrap();
        sample.check().unwrap();
        let texts = vec!["system user assistant Summarise it. It was 0.5. first\n".into(); 3];
        let tokenizer = Tokenizer::train(&texts, 300, Pieces::Lines).unwrap();
        let template = ChatTemplate::new(&tokenizer).unwrap();
        let sequence = TrainSequence::from_sample(&sample, &template).unwrap();
        let text = tokenizer.decode(&sequence.ids).unwrap();
        let asked = "</tool_response><|im_end|>\n<|im_start|>user\nSummarise it.<|im_end|>\n\
                     <|im_start|>assistant\nIt was 0.5.<|im_end|>";
        assert!(text.ends_with(asked), "{text}");
        let kept = sequence.ids.iter().zip(&sequence.trained).filter(|(_, trained)| **trained);
        let kept: Vec<i64> = kept.map(|(id, _)| *id).collect();
        assert_eq!(tokenizer.decode(&kept).unwrap(), "It was 0.5.<|im_end|>");
    }

    #[test]
    fn only_context_tokens_are_dropped() {
        let clear = sample(&[(&[1; 400], false), (&[2; 400], true)]);
        let mut blurred = clear.clone();
        blurred.drop_context_tokens(0.25, 50, Stream::root(1));
        let changed =
            |range: Range<usize>| range.filter(|&i| blurred.ids[i] != clear.ids[i]).count();
        assert_eq!(changed(400..800), 0);
        // Within four standard errors.
        assert!((64..134).contains(&changed(0..400)), "{}", changed(0..400));
        let mut same = clear.clone();
        same.drop_context_tokens(0.0, 50, Stream::root(1));
        assert_eq!(same, clear);
    }

    fn memory(max_tokens_per_micro_batch: usize, share_prefixes: bool) -> Memory {
        let memory = Scale::Tiny.memory();
        Memory { max_tokens_per_micro_batch, share_prefixes, ..memory }
    }

    #[test]
    fn group_shares_its_prompt_and_the_other_group_is_another_batch() {
        let prompts = [vec![1; 50], vec![2; 50]].into_iter().cycle();
        let samples: Vec<TrainSequence> = (10..16_i64)
            .zip(prompts)
            .map(|(id, prompt)| sample(&[(&prompt, false), (&[id; 21], true)]))
            .collect();
        let of = |memory: &Memory| micro_batches(&samples, 0..6, memory);
        assert_eq!(of(&memory(120, true)), [[0, 2, 4], [1, 3, 5]]);
        assert_eq!(of(&memory(120, false)).len(), 6, "70 tokens each");
        let micro = MicroBatch::new(&samples, &[0, 2, 4], &memory(120, true), Device::Cpu);
        // The end of the prompt predicts the first token of each answer.
        let first: Vec<i64> = micro.target_positions().iter().step_by(21).copied().collect();
        assert_eq!((micro.tree.tokens(), first), (110, vec![49, 49, 49]));
    }

    proptest! {
        #[test]
        fn every_trainable_sample_is_in_exactly_one_batch_within_budget(
            lengths in prop::collection::vec(0_usize..40, 0..30), budget in 1_usize..200,
            share: bool,
        ) {
            let samples: Vec<TrainSequence> = lengths.iter().map(|&n| sample(&[(&vec![1; n], true)])).collect();
            let memory = memory(budget, share);
            let batches = micro_batches(&samples, 0..samples.len(), &memory);
            let mut seen: Vec<usize> = batches.iter().flatten().copied().collect();
            seen.sort_unstable();
            let expected: Vec<usize> = (0..lengths.len()).filter(|&index| lengths[index] > 1).collect();
            prop_assert_eq!(seen, expected);
            for batch in batches {
                let tokens = memory.tree(batch.iter().map(|&index| samples[index].read())).tokens();
                prop_assert!(batch.len() == 1 || tokens <= budget);
            }
        }
    }
}
