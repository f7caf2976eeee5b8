//! The steady state at a concurrency: running requests, time per token, time to first token,
//! throughput.

use crate::cost::comm::Prepared;
use crate::cost::pass::{Coster, Pass};
use crate::cost::term::{Bound, StepCost, Term};
use crate::options::Graphs;
use junto_spec::engine::Family;
use junto_spec::source::Source;
use junto_spec::units::Seconds;

/// A closed loop of `concurrency` clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Requests in the system at once.
    pub concurrency: f64,
    /// Mean prompt tokens.
    pub input_len: f64,
    /// Mean generated tokens; `None`: decode only, at the context `input_len`.
    pub output_len: Option<f64>,
    /// Requests of the whole run; `None`: it never ends.
    pub requests: Option<f64>,
}

/// What a layout gives at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Requests asked for.
    pub concurrency: f64,
    /// Requests really running, all groups and replicas together.
    pub running: f64,
    /// Output tokens per second, all replicas together.
    pub output_tok_s: f64,
    /// Input and output tokens per second.
    pub total_tok_s: f64,
    /// Mean time to first token, queueing included.
    pub ttft: Seconds,
    /// Mean time per output token after the first.
    pub tpot: Seconds,
    /// What one output token of one request takes, term by term; sums to `tpot`.
    pub terms: StepCost,
}

impl Coster<'_> {
    /// The steady state of a layout that can keep `slots` requests running per replica.
    pub fn steady(&self, prepared: &Prepared, load: &Load, slots: f64) -> Steady {
        let layout = &prepared.layout;
        // Fewer clients than replicas leave replicas idle.
        let replicas = f64::from(layout.replicas()).min(load.concurrency.max(1.0));
        let share = (load.concurrency / replicas).max(1.0);
        let running = share.min(slots.max(1.0));
        let decode = self.decode(prepared, running, load);
        let Some(output_len) = load.output_len else {
            let tpot = decode.total();
            let output_tok_s = running / tpot.0 * replicas;
            return Steady {
                concurrency: load.concurrency,
                running: running * replicas,
                output_tok_s,
                total_tok_s: output_tok_s,
                ttft: Seconds(0.0),
                tpot,
                terms: decode,
            };
        };
        let mut terms = decode;
        let prefill = self.prefill(prepared, running, load, output_len, decode.total());
        // Between two tokens of one request, the others start `(running - 1) / output_len` prompts.
        let others = (running - 1.0) / output_len;
        terms.add(
            Term::PrefillInterference,
            prefill.blocking * others,
            Bound::Compute,
            Source::Fitted,
        );
        let tpot = terms.total();
        let first = prefill.alone + decode.total() * 0.5 * (1.0 - 1.0 / running);
        let busy = (prefill.blocking.0 * others / tpot.0).min(0.95);
        let wait = prefill.blocking * (busy / (2.0 * (1.0 - busy)));
        let request = first + wait + tpot * (output_len - 1.0).max(0.0);
        let requests_s = running / request.0;
        let queue = (share - running) / requests_s;
        let ending = load.requests.map_or(1.0, |requests| {
            let rounds = (requests / load.concurrency).max(1.0);
            rounds / (rounds + self.efficiency.tail * (1.0 - 1.0 / load.concurrency.max(1.0)))
        });
        let output_tok_s = requests_s * output_len * replicas * ending;
        Steady {
            concurrency: load.concurrency,
            running: running * replicas,
            output_tok_s,
            total_tok_s: output_tok_s * (1.0 + load.input_len / output_len),
            ttft: first + wait + Seconds(queue),
            tpot,
            terms,
        }
    }

    /// One decode step per token of `running` requests, as the time of one output token.
    fn decode(&self, prepared: &Prepared, running: f64, load: &Load) -> StepCost {
        let layout = &prepared.layout;
        let context = load.input_len + load.output_len.unwrap_or(0.0) / 2.0;
        let pp = f64::from(layout.pp());
        let micro_batches = match self.options.micro_batch {
            // A burst is admitted greedily: the first micro-batch takes what is there, the next
            // what came during its pass; later ones stay empty as long as nobody leaves.
            Some(limit) => (running / f64::from(limit)).ceil().max(2.0).min(running).min(pp),
            None => running.min(pp),
        };
        let dp = f64::from(layout.dp());
        let batch = running / micro_batches;
        let sequences = (batch / dp).max(1.0);
        let draft = self.options.speculation.map_or(0.0, |spec| f64::from(spec.draft_tokens));
        let captured = sequences <= f64::from(self.engine.defaults.cuda_graph_max_bs);
        let graphs = if captured { self.options.graphs } else { Graphs::Off };
        let pass = Pass {
            tokens: sequences * (1.0 + draft),
            all_tokens: sequences * dp.min(batch) * (1.0 + draft),
            sequences,
            context,
            prompt: 0.0,
            sampled: sequences * (1.0 + draft),
            graphs,
        };
        let cost = self.pass(prepared, &pass);
        let mut step = cost.sum;
        let host = Seconds::from_us(
            self.efficiency.step_us + self.efficiency.sequence_us * batch.max(1.0),
        );
        if layout.pp() > 1 {
            let hop = Seconds::from_us(self.efficiency.hop_us) * (pp - 1.0);
            step.add(Term::PipelineHops, hop, Bound::Latency, Source::Fitted);
            step.add(Term::Host, host, Bound::Host, Source::Fitted);
            let round = (cost.slowest + host) * micro_batches;
            let bubble = round - step.total();
            if bubble.0 > 0.0 {
                step.add(Term::PipelineBubble, bubble, Bound::Latency, Source::Fitted);
            }
        } else {
            step.add(Term::Host, host, Bound::Host, Source::Fitted);
        }
        if let Some(speculation) = self.options.speculation {
            let drafts = Seconds::from_us(self.efficiency.draft_us) * draft;
            step.add(Term::Draft, drafts, Bound::Latency, Source::Fitted);
            let mut token = StepCost::default();
            token.add_scaled(&step, 1.0 / speculation.acceptance_length);
            return token;
        }
        step
    }

    fn prefill(
        &self,
        prepared: &Prepared,
        running: f64,
        load: &Load,
        output_len: f64,
        decode: Seconds,
    ) -> Prefill {
        let layout = &prepared.layout;
        let limit =
            f64::from(self.options.chunked_prefill.unwrap_or(self.engine.defaults.chunked_prefill));
        let dp = f64::from(layout.dp());
        let input = load.input_len.max(1.0);
        let alone_tokens = input.min(limit);
        let pass_of = |tokens: f64, groups: f64, sequences: f64, decoding: f64| Pass {
            tokens: tokens + decoding,
            all_tokens: tokens * groups + decoding * dp,
            sequences: sequences + decoding,
            context: 0.0,
            prompt: input,
            sampled: sequences,
            graphs: Graphs::Off,
        };
        let alone_pass = self.pass(prepared, &pass_of(alone_tokens, 1.0, 1.0, 0.0));
        let alone_time = alone_pass.sum.total() * (input / alone_tokens).max(1.0);
        let alone = alone_time + Seconds::from_us(self.efficiency.request_us);
        // Prompts that share a pass. A closed loop sends a prompt when an answer ends, so `started`
        // come with each decode step. Where prompts have passes of their own, those of one step
        // share it (given that there are any); where they ride along, they gather meanwhile.
        let started = running / output_len;
        let mixed = self.engine.family != Family::Sglang;
        let waiting = if mixed {
            started * (1.0 + alone_time / decode)
        } else {
            started / (1.0 - (-started).exp())
        };
        let groups = waiting.clamp(1.0, dp);
        let together = (waiting / groups).clamp(1.0, (limit / input).max(1.0));
        let chunk = (input * together).min(limit);
        let passes = (input * together / chunk).max(1.0);
        let decoding = if mixed { running / dp } else { 0.0 };
        let shared = self.pass(prepared, &pass_of(chunk, groups, together, decoding));
        let time = if layout.pp() > 1 { shared.slowest } else { shared.sum.total() };
        let marginal = if mixed { (time - decode).max(Seconds(0.0)).max(time * 0.2) } else { time };
        Prefill { alone, blocking: marginal * (passes / (together * groups)) }
    }
}

/// What prompts cost.
struct Prefill {
    /// Time of one prompt with the machine to itself.
    alone: Seconds,
    /// Time that one prompt holds up the decoding of others.
    blocking: Seconds,
}
