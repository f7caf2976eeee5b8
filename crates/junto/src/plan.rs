//! `junto plan`: every layout, best first; those refused below; why the winner wins.

pub(crate) mod promise;
pub(crate) mod ranked;
pub(crate) mod refused;
pub(crate) mod what_if;
mod winner;

use crate::args::PlanArgs;
use crate::basis::{self, Basis};
use crate::exit::Exit;
use crate::json::{self, PlanJson};
use crate::question::{self, Meant};
use crate::table::{WIDTH, wrapped};
use junto_plan::refusal::nearest_miss;
use junto_plan::search::{self, Plan, Question};
use junto_plan::slo::{self, Carried, Slo};
use std::io::{self, Write};
use what_if::Changed;

/// All that was asked for, answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) basis: Basis,
    pub(crate) plan: Plan,
    pub(crate) promise: Option<(Slo, Vec<Carried>)>,
    pub(crate) what_ifs: Vec<Changed>,
}

/// Runs the command.
pub(crate) fn run(
    args: &PlanArgs,
    out: &mut dyn Write,
    story: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let concurrency = question::concurrencies(&args.concurrency)?;
    let asked = args.layouts.as_deref().map(question::layouts).transpose()?;
    let slo = question::slo(&args.slo)?;
    let what_ifs = question::changes("--what-if", &args.what_if)?;
    let meant = Meant::new(&args.case, story)?;
    let question = meant.question(concurrency);
    let is_asked = asked.is_some();
    let layouts =
        asked.unwrap_or_else(|| search::layouts(&meant.model, &meant.engine, meant.machine.gpus()));
    let changed = |changes| Changed::new(&question, &layouts, changes);
    let answer = Answer {
        basis: meant.basis(&question),
        plan: search::plan(&question, &layouts),
        promise: slo.map(|slo| (slo, slo::carried(&question, &slo, &layouts))),
        what_ifs: what_ifs.into_iter().map(changed).collect(),
    };
    if args.json {
        json::write(out, &PlanJson::new(&question, &answer))?;
    } else if is_asked && answer.plan.ranked.is_empty() && !lacks_memory(&answer.plan) {
        // Whoever asks for layouts that cannot exist here wants the reason, not a table.
    } else {
        write(out, &question, &answer, args.all)?;
    }
    verdict(&answer, is_asked)
}

/// Whether more memory would help any refused layout.
fn lacks_memory(plan: &Plan) -> bool {
    plan.refused.iter().any(|refusal| refusal.lacking.is_some())
}

/// The exit code, or the mistake of asking for nothing but layouts that cannot exist here.
fn verdict(answer: &Answer, is_asked: bool) -> anyhow::Result<Exit> {
    let Answer { plan, promise, .. } = answer;
    let missed = promise.as_ref().is_some_and(|(_, carried)| !promise::is_kept(carried));
    match nearest_miss(&plan.refused) {
        _ if !plan.ranked.is_empty() => Ok(if missed { Exit::No } else { Exit::Done }),
        Some(miss) if is_asked && miss.lacking.is_none() => Err(refused::misuse_of(miss).into()),
        _ => Ok(Exit::No),
    }
}

/// Writes the answer for a person.
fn write(out: &mut dyn Write, question: &Question, answer: &Answer, all: bool) -> io::Result<()> {
    let Answer { basis, plan, promise, what_ifs } = answer;
    writeln!(out, "{}", heading(question))?;
    if !plan.ranked.is_empty() {
        writeln!(out)?;
        ranked::write(out, question, plan, all)?;
        basis::write(out, question, plan, *basis)?;
    }
    refused::write(out, &plan.refused, all)?;
    let verdict = match (plan.ranked.first(), nearest_miss(&plan.refused)) {
        (Some(best), _) => winner::sentences(question, plan, best).join(" "),
        (None, Some(miss)) => {
            format!("Nothing runs. The nearest miss is {}: {}.", miss.layout, refused::story(miss))
        }
        (None, None) => "There is no layout to try.".to_owned(),
    };
    writeln!(out, "\n{}", wrapped("", &verdict, WIDTH))?;
    if let Some((slo, carried)) = promise {
        promise::write(out, question, slo, carried, all)?;
    }
    what_ifs.iter().try_for_each(|changed| changed.write(out, plan, all))
}

/// What the tables are about.
pub(crate) fn heading(question: &Question) -> String {
    let Question { model, machine, engine, workload, .. } = question;
    format!(
        "{} on {} by {}, {} tokens in and {} out",
        model.name, machine.name, engine.name, workload.input_len, workload.output_len
    )
}
