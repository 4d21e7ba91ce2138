pub mod admission;
pub mod binary;
pub mod contested;
pub mod control_plane;
pub mod databases;
pub mod engines;
pub mod fixtures;
pub mod gates;
pub mod guardian;
pub mod incident;
pub mod owners;
pub mod permissions;
pub mod policies;
pub mod races;
pub mod scan;
pub mod stage;
pub mod stand_ins;
pub mod steps;
pub mod validation;

use crate::scenario::{Scenario, emulating, on_any_cluster, on_own_control_plane, with_binaries, without_cluster};

/// Every scenario there is, with what it stands on. Its name for `cargo test --test e2e NAME` is its path from here.
pub fn all() -> Vec<Scenario> {
    vec![
        without_cluster(guardian::a_killed_program_leaves_nothing_behind),
        without_cluster(guardian::a_dropped_guardian_leaves_nothing_behind),
        without_cluster(guardian::a_stopped_process_is_gone_and_the_others_live),
        on_any_cluster(control_plane::a_second_probe_handler_is_refused),
        on_own_control_plane(control_plane::the_statefulset_controller_sees_pods_become_ready),
        on_own_control_plane(control_plane::a_rollout_replaces_pods_on_nodes),
        on_own_control_plane(stand_ins::a_report_of_restarts_is_kept),
        on_any_cluster(stand_ins::an_account_may_do_only_what_it_is_granted),
        on_own_control_plane(stand_ins::requests_can_be_watched_and_broken),
        on_own_control_plane(control_plane::a_webhook_from_old_times_refuses_dry_runs),
        on_own_control_plane(control_plane::kubectl_applies),
        on_own_control_plane(stand_ins::a_port_accepts_connections),
        emulating("1.33", control_plane::an_old_server_lacks_mutating_admission_policies),
        on_own_control_plane(incident::the_registry_database_is_reprieved),
        emulating("1.33", incident::the_registry_database_is_reprieved_on_an_old_server),
        on_own_control_plane(admission::a_limit_range_that_sets_a_cpu_limit_is_named),
        on_own_control_plane(admission::requests_that_a_limit_range_refuses_are_left_and_the_probes_go_alone),
        on_own_control_plane(admission::a_cpu_limit_stays_where_a_limit_range_would_set_a_lower_one),
        on_own_control_plane(admission::a_cpu_limit_that_a_quota_demands_stays),
        on_own_control_plane(admission::a_quota_without_room_for_one_more_pod_keeps_the_write_away),
        on_own_control_plane(admission::a_template_that_pod_security_refuses_is_not_restarted),
        on_own_control_plane(admission::a_template_that_makes_no_pod_is_not_restarted),
        on_own_control_plane(admission::a_webhook_on_pods_that_takes_no_dry_run_keeps_the_write_away),
        on_own_control_plane(admission::a_webhook_on_statefulsets_that_takes_no_dry_run_keeps_the_write_away),
        on_own_control_plane(gates::requests_that_do_not_fit_the_node_are_left_and_the_probes_go_alone),
        on_own_control_plane(gates::a_port_that_does_not_answer_keeps_the_write_away),
        on_own_control_plane(gates::a_database_without_a_running_pod_is_waited_for),
        on_own_control_plane(gates::a_database_that_is_not_ready_is_waited_for),
        on_own_control_plane(gates::a_closed_window_is_waited_for),
        on_own_control_plane(gates::a_proved_kill_loop_does_not_wait_for_a_window),
        on_own_control_plane(gates::a_proved_kill_loop_waits_for_a_window_where_the_policy_says_so),
        on_own_control_plane(gates::a_dry_run_with_another_result_keeps_the_write_away),
        on_own_control_plane(gates::a_write_is_the_dry_runs_bytes),
        on_own_control_plane(permissions::patching_statefulsets_is_missed_by_name),
        on_own_control_plane(permissions::creating_pods_is_missed_by_name),
        on_own_control_plane(permissions::reading_statefulsets_is_missed_by_name),
        on_own_control_plane(permissions::listing_statefulsets_is_missed_by_name),
        on_own_control_plane(permissions::listing_pods_is_missed_by_name),
        on_own_control_plane(permissions::watching_pods_is_missed_by_name),
        on_own_control_plane(permissions::reading_nodes_is_missed_by_name),
        on_own_control_plane(permissions::listing_namespaces_is_missed_by_name),
        on_own_control_plane(permissions::an_opaque_script_becomes_known_through_its_config_map),
        on_own_control_plane(permissions::without_events_it_still_patches),
        on_any_cluster(permissions::without_policies_to_list_it_ends_and_says_what_to_do),
        on_any_cluster(permissions::the_operator_itself_cannot_create_a_pod),
        on_any_cluster(validation::bad_policies_are_refused_with_a_sentence),
        on_any_cluster(validation::a_good_policy_is_stored_with_its_defaults),
        on_own_control_plane(validation::an_unusable_policy_stalls_alone),
        on_own_control_plane(validation::odd_statefulsets_do_not_stop_the_others),
        on_own_control_plane(binary::it_patches_the_incident_and_ends_on_sigterm),
        without_cluster(binary::it_says_why_it_does_not_start),
        with_binaries(binary::it_says_what_to_install),
        on_own_control_plane(scan::it_foresees_what_the_operator_writes),
        on_own_control_plane(scan::it_names_what_it_may_not_list),
        on_own_control_plane(owners::kubectl_apply_keeps_working_and_keeps_our_values),
        on_own_control_plane(owners::kubectl_apply_on_the_server_keeps_working_and_keeps_our_values),
        on_own_control_plane(owners::flux_keeps_working_and_keeps_our_values),
        on_own_control_plane(owners::helm_4_keeps_working_and_keeps_our_values),
        on_own_control_plane(owners::argo_cd_keeps_working_and_keeps_our_values),
        on_own_control_plane(owners::a_helm_3_release_gets_only_what_was_absent),
        on_own_control_plane(owners::an_unrecognised_client_gets_only_what_was_absent),
        on_own_control_plane(owners::a_swap_that_would_break_the_owner_is_refused),
        on_own_control_plane(owners::a_suggestion_writes_nothing),
        on_own_control_plane(owners::what_another_controller_owns_is_left_to_it),
        on_own_control_plane(contested::a_probe_that_was_put_back_is_left_alone),
        on_own_control_plane(contested::a_rollout_that_was_undone_is_left_alone),
        on_own_control_plane(contested::a_replaced_manifest_is_not_fought_even_after_a_restart),
        on_own_control_plane(contested::a_changed_policy_ends_the_contest),
        on_own_control_plane(contested::a_conflict_of_policies_does_not_wipe_the_memory),
        on_own_control_plane(policies::an_audit_writes_nothing_until_it_is_told_to),
        on_own_control_plane(policies::two_policies_stand_still_until_one_goes),
        on_own_control_plane(policies::the_nearer_policy_acts),
        on_own_control_plane(policies::an_annotation_that_names_no_policy_is_told),
        on_own_control_plane(policies::what_opts_out_is_left_alone_and_shown),
        on_own_control_plane(policies::a_policy_that_matches_nothing_says_so_and_recovers),
        on_own_control_plane(policies::the_status_counts_and_begins_with_the_worst),
        on_own_control_plane(policies::the_second_database_waits_for_the_first),
        on_own_control_plane(races::a_namesake_is_not_patched_with_the_old_bytes),
        on_own_control_plane(races::a_deploy_in_between_is_seen_and_kept),
        on_own_control_plane(races::a_lost_answer_costs_no_second_restart),
        on_own_control_plane(races::an_end_before_the_write_leaves_one_write_to_the_next),
        on_own_control_plane(races::an_end_after_the_write_is_not_followed_by_another),
        on_own_control_plane(races::a_hundred_looks_are_one_write),
        on_own_control_plane(races::two_handlers_never_meet),
        with_binaries(races::an_outage_is_survived),
        on_own_control_plane(engines::mariadb_gets_time_to_start_and_no_socket),
        on_own_control_plane(engines::redis_is_swapped_only_where_its_check_fails_while_it_loads),
        on_own_control_plane(engines::a_server_on_loopback_gets_no_socket),
        on_own_control_plane(engines::patroni_is_asked_for_its_own_life),
        on_own_control_plane(engines::what_is_no_database_gets_nothing),
        on_own_control_plane(engines::a_sentinel_is_no_redis),
        on_own_control_plane(engines::sidecars_and_ports_stay_as_they_are),
        on_own_control_plane(engines::pods_that_are_replaced_by_hand_are_waited_for),
        with_binaries(control_plane::a_part_that_does_not_start_shows_its_log),
        with_binaries(control_plane::a_kept_control_plane_serves_another_program),
        with_binaries(control_plane::an_apiserver_goes_silent_and_away_and_comes_back),
    ]
}
