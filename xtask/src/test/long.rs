//! The tests that `make test` leaves to `make ci`, because they take long: most of those of 5 s or more.

/// Programs of which all tests take long. They have `test = false` in their Cargo.toml.
const PROGRAMS: &[&str] = &[
    // Coq.
    "certificates",
    "traces",
    // Model checkers.
    "interleavings",
    // Machines.
    "coincidence",
    "isolation",
    "linux_budget",
    "linux_coloring",
    "overshoot",
    "own_guest",
    "torture",
    "tutorial",
];

/// A program, and those of its tests that take long.
const TESTS: &[(&str, &[&str])] = &[
    ("analysis/vmpcp", &["supply::a_vcpu_gets_its_supply_after_its_own_sections"]),
    (
        "cli/cachescope",
        &[
            "the_same_vms_without_colours_evict_each_other",
            "vms_in_disjoint_colours_never_evict_each_other",
        ],
    ),
    (
        "cli/kvm",
        &[
            "ctrl_c_ends_a_run_with_colours_in_each_phase_and_the_next_one_works",
            "frames_of_vms_are_not_moved_by_compaction",
            "killed::nothing_is_left_of_a_run_that_is_killed_and_the_next_one_works",
            "page::the_page_for_a_pc_shows_what_happens",
            "planned::colours_are_planned_and_vms_have_frames_of_them",
            "proven::a_proof_that_is_stopped_keeps_earlier_results",
            "proven::a_proof_with_colours_says_whether_vms_kept_them",
            "proven::deadlines_that_are_missed_with_servers_are_the_answer_no",
            "proven::documents_of_verdicts_say_that_times_are_measured",
            "proven::runs_without_and_with_servers_stand_beside_bounds_and_simulation",
        ],
    ),
    (
        "cli/memory_budgets",
        &[
            "a_vcpu_makes_the_accesses_of_its_budget_in_each_period",
            "the_vcpus_of_a_vm_share_its_budget_and_its_credits",
        ],
    ),
    ("cli/plan_input", &["times_near_overflow"]),
    ("cli/plan_random", &["what_is_planned_holds"]),
    ("cli/planned", &["the_plan_boots_and_no_task_is_late"]),
    (
        "cli/proofs",
        &[
            "a_published_figure_is_confirmed",
            "a_wrong_execution_time_is_a_counterexample",
            "an_interrupted_proof_leaves_what_was_there",
            "bounds_are_theorems_that_coq_checks_where_it_is_installed",
            "proofs_over_time_are_shown_beside_each_other",
        ],
    ),
    ("cli/run_deadlines", &["a_writer_that_rings_without_a_pause_makes_no_task_late"]),
    (
        "cli/storm",
        &["a_storm_takes_nothing_from_a_neighbour", "more_storms_delay_no_task_beyond_its_bound"],
    ),
    (
        "cli/suite",
        &[
            "certificate::edited_certificates_are_refused_by_coq",
            "check_locks::a_section_overhead_that_is_too_small_is_named_with_one_that_is_enough",
            "format::no_plan_is_a_failure_of_the_plan",
            "limits::a_large_machine_is_planned_judged_and_simulated",
            "plan_given::sections_beside_limits_are_named_as_the_cause",
            "plan_objectives::a_search_takes_its_time_and_no_more",
            "plan_objectives::each_objective_is_best_at_what_it_says",
            "plan_objectives::weights_are_between",
        ],
    ),
    (
        "planner/completion",
        &[
            "fronts::no_plan_of_a_front_is_better_than_another",
            "fronts::weights_lie_between_their_objectives",
            "helped::two_changes_help_together",
        ],
    ),
    (
        "planner/grid",
        &[
            "a_plan_is_found_wherever_a_simple_one_exists",
            "a_plan_is_found_wherever_a_simple_one_exists_in_large_systems_and_with_chains",
            "a_plan_that_was_taken_away_is_found_again",
            "easier_systems_keep_their_plans",
        ],
    ),
    (
        "planner/whole",
        &[
            "resources_are_planned_for",
            "kinds::overrun_is_chosen_where_it_is_needed",
            "kinds::random_plans_hold",
            "kinds::what_tasks_name_bounds_the_number",
            "time::more_effort_never_makes_a_plan_worse",
        ],
    ),
    ("policy/suite", &["lock_interleavings::all_interleavings_keep_what_locks_promise"]),
    ("policy/server_reference", &["decisions_with_memory_budgets_are_those_of_the_definitions"]),
    ("system/suite", &["both_readers::plans_broken_in_several_places_are_refused_by_both"]),
    (
        "tests/linux",
        &[
            "a_cpu_with_everything_runs_linux",
            "a_reboot_starts_linux_again",
            "both_cpus_run_and_one_can_be_unplugged",
            "deterministic_runs_are_equal",
        ],
    ),
    ("tests/boards", &["virt_with_a_gicv2_runs_linux_beside_a_real_time_guest"]),
    ("tests/channels", &["linux_and_a_real_time_guest_talk"]),
    ("tests/links", &["two_linux_talk", "what_one_end_does_to_its_card_hurts_nobody_else"]),
    (
        "tests/memory_budgets",
        &[
            "a_vcpu_that_waits_for_accesses_leaves_its_pcpu_to_others",
            "budgets_that_end_at_once_end_once",
        ],
    ),
    ("tests/preemption", &["siblings_on_a_cpu_get_in_the_way_of_a_request"]),
    ("tests/sharing", &["every_kind_of_server_gives_its_budget"]),
    ("tests/vllc", &["linux_sees_the_cache_of_its_colours"]),
];

/// Returns the programs and tests of the lists that are not there. `listed` returns what a program, as `folder/name`, prints
/// of its tests with `--list`, if it was built.
pub fn missing(listed: impl Fn(&str) -> Option<String>, programs: &[String]) -> Vec<String> {
    let known = |name: &&&str| programs.iter().any(|it| it == **name);
    let gone = PROGRAMS.iter().filter(|name| !known(name)).map(|name| (*name).to_owned());
    let tests = TESTS.iter().flat_map(|(program, tests)| {
        let list = listed(program).unwrap_or_default();
        let is_there = move |test: &str| list.lines().any(|it| it == format!("{test}: test"));
        let gone = tests.iter().filter(move |test| !is_there(test));
        gone.map(move |test| format!("{program} {test}"))
    });
    gone.chain(tests).collect()
}

/// Returns true if all tests of the program take long.
pub fn is_long(program: &str) -> bool {
    PROGRAMS.contains(&program)
}

/// Returns the tests of the program, as `folder/name`, that take long.
pub fn tests(program: &str) -> &'static [&'static str] {
    TESTS.iter().find(|(name, _)| *name == program).map_or(&[], |(_, tests)| tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let programs: Vec<String> = PROGRAMS.iter().map(|it| (*it).to_owned()).collect();
        let all = |program: &str| {
            let lines = tests(program).iter().map(|test| format!("{test}: test\n"));
            Some(lines.collect::<String>())
        };
        assert_eq!(missing(all, &programs), [""; 0]);
        let (program, of_first) = TESTS[0];
        let without = |name: &str| if name == program { None } else { all(name) };
        let expected = of_first.iter().map(|test| format!("{program} {test}"));
        let expected: Vec<_> = std::iter::once(PROGRAMS[0].to_owned()).chain(expected).collect();
        assert_eq!(missing(without, &programs[1..]), expected);
    }
}
