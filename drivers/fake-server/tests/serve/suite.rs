//! What holds for both drivers.

/// Makes a test of each function for one driver.
macro_rules! suite {
    ($driver:ident) => {
        $crate::suite::suite!($driver, ends:
            ready_answers_and_leaves_nothing,
            a_slow_load_ends_ready,
            status_zero_before_ready_is_a_failure,
            each_end_has_its_class,
            a_refused_flag_is_told,
            a_server_that_ignores_the_signal_is_killed,
            a_stop_while_loading_is_clean,
            a_silent_socket_hides_no_end,
            odd_bodies_while_loading_do_no_harm,
            a_line_in_two_pieces_is_one,
            a_flood_of_output_is_drained_and_bounded,
            a_child_that_outlives_it_hides_no_end,
            a_child_in_another_group_hides_no_end,
            what_cannot_be_started_is_told,
            a_program_that_is_being_written_is_tried_again,
            silence_while_loading_runs_out,
            output_while_loading_is_progress,
            a_hard_limit_of_loading_holds,
            a_kill_for_memory_is_told_in_both_forms,
            a_server_is_started_again_where_that_is_wished,
            a_drop_stops_it,
            stopping_again_is_harmless,
            looking_does_as_well_as_a_pidfd,
            a_port_works_and_one_that_is_taken_is_told,
            a_bind_conflict_is_tried_three_times,
            another_server_at_the_port_is_not_ours,
            a_stale_socket_does_no_harm,
            inherited_settings_do_not_reach_it,
            settings_that_do_not_fit_are_refused,
            a_list_of_settings_reaches_it,
        );
        $crate::suite::suite!($driver, streams:
            all_kinds_of_answers_come,
            a_kill_in_mid_stream_tells_the_class_after_all_tokens,
            a_kill_in_mid_stream_is_seen_behind_a_child,
            a_stop_ends_streams,
            several_streams_at_once_are_whole,
            a_cancelled_stream_leaves_the_server_usable,
            a_refusal_is_the_requests_alone,
            a_server_at_an_address_is_used_and_not_stopped,
            an_address_where_nobody_is_fails,
            a_backend_is_chosen_by_its_name,
            a_key_is_sent,
            a_server_that_is_held_is_silent_and_goes_on,
            a_server_that_is_held_can_be_stopped,
        );
        $crate::suite::suite!($driver, sweep:
            what_a_killed_program_leaves_is_swept,
            what_a_living_program_has_is_not_swept,
        );
        $crate::suite::suite!($driver, real:
            any_ready_chat_completion_and_stop,
            any_concurrent_streams,
            any_cancel_and_reuse,
            any_context_overflow,
            any_killed_in_mid_stream,
            any_stop_while_loading,
            any_stop_while_streaming,
            any_missing_model,
            any_truncated_model,
            any_port_conflict,
            any_stale_socket,
            any_inherited_settings,
            any_killed_for_memory_in_a_cgroup,
            real_bad_flag,
        );
    };
    ($driver:ident, $module:ident: $($name:ident),+ $(,)?) => {
        mod $module {
            $(#[test]
            fn $name() {
                $crate::$module::$name(&<super::$driver>::default());
            })+
        }
    };
}

pub(crate) use suite;
