//! Whatever the server answers, in whatever order: the path ends, and no write is unproved.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use reprieve::core::rollout::{Answer, Decision, Effect, PodOf};
use serde_json::json;

use crate::config;
use crate::generate::{anything, manifests, policies};
use crate::support::server::Server;
use crate::support::world::{Run, drive, observe};

fn odd_answers() -> impl Strategy<Value = Answer> {
    let text = || "[a-z ]{0,10}";
    prop_oneof![
        anything().prop_map(Answer::Object),
        (select(vec![0, 400, 403, 409, 422, 500]), text())
            .prop_map(|(code, message)| Answer::Rejected { code, message }),
        text().prop_map(Answer::DryRunUnsupported),
        Just(Answer::Conflict),
        Just(Answer::Gone),
        (text(), text()).prop_map(|(what, message)| Answer::Forbidden { what, message }),
        (text(), proptest::option::of(any::<u32>()))
            .prop_map(|(message, retry_after)| Answer::Unavailable { message, retry_after }),
        Just(Answer::Fit(Ok(()))),
        text().prop_map(|text| Answer::Fit(Err(text))),
        Just(Answer::Port(Ok(()))),
        text().prop_map(|text| Answer::Port(Err(text))),
    ]
}

/// No write without a dry-run of the same bytes, and of a pod from both templates, before it.
fn assert_proved(run: &Run) {
    let Some(at) = run.effects.iter().position(|effect| matches!(effect, Effect::Apply(_))) else { return };
    let Effect::Apply(sent) = &run.effects[at] else { unreachable!() };
    let before: Vec<(&Effect, &Answer)> = run.effects[..at].iter().zip(&run.answers[..at]).collect();
    let admitted = |wanted: &dyn Fn(&Effect) -> bool| {
        before.iter().rposition(|(effect, answer)| wanted(effect) && matches!(answer, Answer::Object(_)))
    };
    let dry_run = admitted(&|effect| matches!(effect, Effect::DryRunWorkload(body) if body == sent))
        .expect("no admitted dry-run of these bytes");
    let patched = admitted(&|effect| matches!(effect, Effect::DryRunPod(PodOf::PatchedTemplate, _)))
        .expect("no admitted pod of the patched template");
    assert!(patched > dry_run, "the pod is not that of these bytes");
    let cures_the_refusal = run.outcome.findings.iter().any(|finding| finding.rule == "RP018");
    let current = before.iter().any(|(effect, answer)| {
        matches!(effect, Effect::DryRunPod(PodOf::CurrentTemplate, _))
            && (matches!(answer, Answer::Object(_)) || cures_the_refusal && matches!(answer, Answer::Rejected { .. }))
    });
    assert!(current, "no pod of today's template");
    for (effect, answer) in &before {
        match effect {
            Effect::CheckPort(_) => assert_eq!(**answer, Answer::Port(Ok(()))),
            Effect::ReplayOwner(_) => assert!(matches!(answer, Answer::Object(_))),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_path_ends_and_no_write_is_unproved(
        manifest in manifests(), policy in policies(),
        odd in proptest::collection::vec(proptest::option::weighted(0.15, odd_answers()), 30),
    ) {
        let mut server = Server::of_old(&manifest);
        let observation = observe(&server, &policy);
        let mut turn = odd.into_iter();
        let run = drive(&observation, |effect| turn.next().flatten().unwrap_or_else(|| server.answer(effect)));
        assert_proved(&run);
        let wrote = run.effects.iter().filter(|effect| matches!(effect, Effect::Apply(_))).count();
        prop_assert!(wrote <= 1, "one write at most");
        prop_assert!(wrote == 0 || policy.enforces());
        if run.outcome.decision == Decision::Patch {
            prop_assert_eq!(wrote, 1);
        }
    }

    /// Where the write's own answer or the read-back differ from what was promised, that is said.
    #[test]
    fn a_write_that_came_out_otherwise_is_no_success(
        manifest in manifests(), policy in policies(), reverted: bool,
    ) {
        let mut server = Server::of_old(&manifest);
        let before = server.stored.clone();
        let observation = observe(&server, &policy);
        let run = drive(&observation, |effect| match effect {
            Effect::ReadBack if reverted => Answer::Object(before.clone()),
            Effect::Apply(_) if !reverted => {
                let answer = server.answer(effect);
                let Answer::Object(mut object) = answer else { return answer };
                object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("another:1");
                Answer::Object(object)
            }
            effect => server.answer(effect),
        });
        if run.applied().is_some() {
            prop_assert_eq!(run.outcome.decision, Decision::Halt, "{}", run.outcome.message);
            prop_assert!(run.outcome.wrote);
        }
    }

    /// Cut anywhere and started again with what is stored then: still one write.
    #[test]
    fn a_crash_between_any_two_steps_leaves_one_write(manifest in manifests(), policy in policies(), cut in any::<Index>()) {
        let mut server = Server::of_old(&manifest);
        let observation = observe(&server, &policy);
        let whole = drive(&observation, |effect| server.clone().answer(effect));
        let cut = cut.index(whole.effects.len() + 1);
        let mut done = 0;
        let mut progress = reprieve::core::rollout::Progress::default();
        while done < cut {
            let (next, effect) = reprieve::core::rollout::step(&observation, progress);
            progress = next;
            let Some(effect) = effect else { break };
            progress.answer = Some(server.answer(&effect));
            done += 1;
        }
        for _ in 0..3 {
            let observation = observe(&server, &policy);
            drive(&observation, |effect| server.answer(effect));
        }
        prop_assert!(server.writes <= 1, "{} writes", server.writes);
        if whole.outcome.decision == Decision::Patch {
            prop_assert_eq!(server.writes, 1, "it goes on after the crash");
        }
    }

    /// A shell that loses an answer, or asks again after the end, gets no second write out of it.
    #[test]
    fn a_lost_answer_starts_nothing_twice(manifest in manifests(), policy in policies(), lost in 0usize..12) {
        let mut server = Server::of_old(&manifest);
        let observation = observe(&server, &policy);
        let mut progress = reprieve::core::rollout::Progress::default();
        let mut applies = 0;
        for turn in 0..60 {
            let (next, effect) = reprieve::core::rollout::step(&observation, progress);
            progress = next;
            if let Some(effect) = effect {
                applies += usize::from(matches!(effect, Effect::Apply(_)));
                let answer: Option<Answer> = (turn != lost).then(|| server.answer(&effect));
                progress.answer = answer;
            }
        }
        prop_assert!(applies <= 1, "{applies} writes");
        prop_assert!(progress.outcome.is_some());
    }
}
