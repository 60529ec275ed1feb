//! One suite for every engine: a new one is one more line at the end of this file.
#![cfg(feature = "gpu")]

#[path = "../common/mod.rs"]
mod common;

mod adaptive;
mod analytic;
mod axes;
mod batch;
mod converged;
mod energy;
mod falls;
mod grip;
mod leave;
mod own_inputs;
mod physics;
mod regions;
mod several;
mod slip;
mod steady;
mod surface;

use std::sync::Mutex;

use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_TOLERANCE, Engine};
use bristle::error::EngineError;
use bristle::gpu::{Choice, Gpu};

/// How close an engine has to come (`docs/model.md`, section 9).
pub struct Limits {
    /// Root mean square of force and torque over their maximum, prescribed twist.
    pub prescribed: f64,
    /// In-hand poses on round and square maps [m], [rad].
    pub in_hand: [f64; 2],
    /// In-hand poses on the line gradient [m], [rad].
    pub in_hand_line: [f64; 2],
    /// In-hand poses of the case that nearly comes to rest while it breaks loose [m], [rad].
    pub in_hand_near_rest: [f64; 2],
    /// Creep of an Elasto-Plastic contact that sticks [m/s].
    pub no_drift: f64,
    /// Share by which the drift of LuGre may differ from the converged one.
    pub drift: f64,
    /// Wrenches in steady sliding, relative.
    pub steady: f64,
    /// Spacing of a state's numbers, relative.
    pub last_place: f64,
    /// Energy over a closed loop in stick, relative.
    pub energy: f64,
    /// Free flight, relative.
    pub free: f64,
    /// Difference of a run from its image under a symmetry, relative to the motion.
    pub symmetry: f64,
}

/// Double precision.
pub const F64: Limits = Limits {
    prescribed: 1e-5,
    in_hand: [7e-6, 3e-5],
    in_hand_line: [4e-5, 5e-5],
    in_hand_near_rest: [7e-6, 3e-5],
    no_drift: 1e-17,
    drift: 5e-3,
    steady: 1e-9,
    last_place: f64::EPSILON,
    energy: 1e-12,
    free: 1e-12,
    symmetry: 1e-9,
};

/// Single precision.
pub const F32: Limits = Limits {
    prescribed: 3e-5,
    in_hand: [1e-5, 5e-5],
    in_hand_line: [5e-5, 1e-4],
    in_hand_near_rest: [1e-5, 5e-5],
    no_drift: 2e-12,
    drift: 5e-3,
    steady: 1e-5,
    last_place: f32::EPSILON as f64,
    energy: 1e-5,
    free: 1e-6,
    symmetry: 1e-4,
};

/// Engines of one kind that no test uses now. Tests that run at once have one each: a driver compiles the
/// kernels of a device one after the other.
struct Idle(Mutex<Vec<Box<dyn Engine>>>);

impl Idle {
    /// Runs a test on an engine of them, or on one that `open` opens; if it does not, the test fails with its
    /// message.
    fn with(&self, open: impl FnOnce() -> Result<Box<dyn Engine>, EngineError>, test: impl FnOnce(&dyn Engine)) {
        let idle = self.0.lock().unwrap().pop();
        let engine = idle.unwrap_or_else(|| open().unwrap_or_else(|e| panic!("{e}")));
        test(&*engine);
        self.0.lock().unwrap().push(engine);
    }
}

macro_rules! suite {
    ($name:ident, $engine:expr, $limits:expr) => {
        mod $name {
            use super::*;

            static IDLE: Idle = Idle(Mutex::new(Vec::new()));

            fn on_engine(test: impl FnOnce(&dyn Engine)) {
                IDLE.with(|| Ok(Box::new($engine?)), test);
            }

            suite!(@tests $limits;
                converged::prescribed_twists_give_the_converged_wrenches,
                converged::in_hand_poses_are_the_converged_ones,
                converged::lugre_drifts_as_the_model_says_and_elasto_plastic_does_not,
                analytic::pure_sliding_takes_mu_times_the_normal_force,
                analytic::spinning_disc_takes_two_thirds_of_mu_f_n_r,
                analytic::stick_oscillates_at_the_bristles_frequency_with_second_order,
                analytic::a_body_set_in_motion_loses_the_speed_that_bends_its_bristles,
                analytic::sliding_body_stops_where_its_energy_is_spent,
                analytic::tilted_table_holds_below_the_friction_angle_and_lets_go_above,
                physics::steady_sliding_gives_the_sum_over_the_cells_and_takes_power,
                physics::mirrored_and_turned_contacts_move_in_mirrored_and_turned_ways,
                physics::closed_loop_in_stick_gives_its_energy_back,
                physics::a_stuck_patch_feels_its_way_across_jumps_of_its_twist,
                grip::open_grip_lets_fall_freely_while_bristles_evolve,
                grip::grip_that_opens_and_closes_catches_again,
                grip::normal_force_through_zero_is_no_contact_below,
                steady::a_constant_twist_has_its_steady_wrench_from_the_start,
                steady::a_body_that_has_been_sliding_slows_by_mu_g,
                steady::a_spin_has_no_force,
                surface::a_box_on_a_belt_lags_by_its_braking_distance,
                surface::a_turntable_throws_its_load_at_the_speed_it_must,
                surface::a_hand_loses_its_object_at_the_acceleration_it_must,
                surface::an_open_hand_turns_away_from_its_object,
                surface::a_grip_on_an_arc_carries_weight_and_centripetal_force,
                surface::an_accelerating_surface_is_one_at_rest_under_inertial_loads,
                surface::a_spinning_hand_is_one_at_rest_under_a_torque,
                surface::a_prescribed_twist_is_felt_relative_to_the_surface,
                surface::a_surface_that_does_not_move_is_one_at_rest,
                slip::nothing_slips_at_rest_near_the_limit_and_all_does_in_motion,
                regions::one_factor_everywhere_is_another_coefficient,
                regions::steady_sliding_sums_friction_cell_by_cell,
                regions::what_sticks_does_not_feel_the_factors,
                regions::a_body_holds_inside_the_limit_surface_of_its_regions,
                axes::steady_sliding_is_along_the_normal_of_the_ellipse,
                axes::what_sticks_is_as_stiff_as_the_square_of_its_friction,
                axes::what_is_turned_with_its_axes_has_a_turned_wrench,
                axes::a_body_moves_across_a_belt_that_holds_along,
                axes::a_body_holds_inside_the_limit_surface_of_its_axes,
                energy::friction_takes_work_from_what_is_led,
                energy::friction_takes_what_a_table_puts_in_and_a_body_loses,
                several::steady_sliding_sums_the_friction_of_the_patches,
                several::a_patch_in_parts_moves_as_the_whole,
                several::a_stool_holds_inside_the_limit_surface_of_its_feet,
                own_inputs::steady_sliding_sums_the_friction_at_each_surface,
                own_inputs::a_push_above_the_surface_loads_the_feet_ahead,
                own_inputs::a_high_push_lifts_feet,
                own_inputs::inputs_of_all_patches_are_those_of_the_contact,
                own_inputs::a_plank_on_two_belts_swings_as_its_forces_do,
                own_inputs::a_lifted_foot_takes_no_part,
                slip::what_is_dragged_slips_above_the_limit_speed_alone,
                falls::a_limit_that_falls_at_once_cuts_the_bristles,
                batch::results_do_not_depend_on_neighbours_order_or_threads,
                batch::failed_contact_is_marked_and_its_neighbours_are_unchanged,
                batch::a_contact_that_takes_too_many_steps_is_stopped_and_its_neighbours_are_unchanged,
                leave::a_contact_that_has_left_is_stopped_where_it_has_and_no_bit_changes_before,
            );
        }
    };
    // Steps chosen by a tolerance: what does not ask for an order in the step.
    (adaptive $name:ident, $engine:expr, $limits:expr) => {
        mod $name {
            use super::*;
            use common::Adaptive;

            static IDLE: Idle = Idle(Mutex::new(Vec::new()));

            fn on_engine(test: impl FnOnce(&dyn Engine)) {
                IDLE.with(|| Ok(Box::new(Adaptive::new($engine?, DEFAULT_TOLERANCE))), test);
            }

            suite!(@tests $limits;
                converged::prescribed_twists_give_the_converged_wrenches,
                converged::in_hand_poses_are_the_converged_ones,
                converged::lugre_drifts_as_the_model_says_and_elasto_plastic_does_not,
                analytic::pure_sliding_takes_mu_times_the_normal_force,
                analytic::spinning_disc_takes_two_thirds_of_mu_f_n_r,
                analytic::tilted_table_holds_below_the_friction_angle_and_lets_go_above,
                physics::steady_sliding_gives_the_sum_over_the_cells_and_takes_power,
                physics::mirrored_and_turned_contacts_move_in_mirrored_and_turned_ways,
                physics::closed_loop_in_stick_gives_its_energy_back,
                physics::a_stuck_patch_feels_its_way_across_jumps_of_its_twist,
                grip::open_grip_lets_fall_freely_while_bristles_evolve,
                grip::grip_that_opens_and_closes_catches_again,
                grip::normal_force_through_zero_is_no_contact_below,
                steady::a_constant_twist_has_its_steady_wrench_from_the_start,
                steady::a_body_that_has_been_sliding_slows_by_mu_g,
                surface::a_turntable_throws_its_load_at_the_speed_it_must,
                surface::a_hand_loses_its_object_at_the_acceleration_it_must,
                surface::an_open_hand_turns_away_from_its_object,
                surface::a_grip_on_an_arc_carries_weight_and_centripetal_force,
                surface::an_accelerating_surface_is_one_at_rest_under_inertial_loads,
                surface::a_spinning_hand_is_one_at_rest_under_a_torque,
                surface::a_prescribed_twist_is_felt_relative_to_the_surface,
                surface::a_surface_that_does_not_move_is_one_at_rest,
                regions::one_factor_everywhere_is_another_coefficient,
                regions::steady_sliding_sums_friction_cell_by_cell,
                regions::what_sticks_does_not_feel_the_factors,
                regions::a_body_holds_inside_the_limit_surface_of_its_regions,
                axes::steady_sliding_is_along_the_normal_of_the_ellipse,
                axes::what_sticks_is_as_stiff_as_the_square_of_its_friction,
                axes::what_is_turned_with_its_axes_has_a_turned_wrench,
                axes::a_body_moves_across_a_belt_that_holds_along,
                axes::a_body_holds_inside_the_limit_surface_of_its_axes,
                energy::friction_takes_work_from_what_is_led,
                energy::friction_takes_what_a_table_puts_in_and_a_body_loses,
                slip::what_is_dragged_slips_above_the_limit_speed_alone,
                falls::a_limit_that_falls_at_once_cuts_the_bristles,
                batch::results_do_not_depend_on_neighbours_order_or_threads,
            );
        }
    };
    (@tests $limits:expr; $($module:ident::$test:ident,)*) => {
        $(#[test]
        fn $test() {
            on_engine(|engine| super::$module::$test(engine, &$limits));
        })*
    };
}

suite!(cpu, Ok::<_, EngineError>(Cpu::new()), F64);
suite!(cpu_reference, Ok::<_, EngineError>(Cpu::reference()), F64);
suite!(cpu_single, Ok::<_, EngineError>(Cpu::single()), F32);
suite!(gpu, Gpu::new(Choice::Any), F32);

/// Steps by the default tolerance, which times the duration is 6e-6 m. The last bit may decide whether a step
/// is taken back.
///
/// The case near rest has a limit of its own, three times that. Its grip opens for the fourth time at 1.86 s.
/// The box starts to slide, slows down to 0.28 mm/s at 1.865 s, where friction and weight balance, and leaves
/// this balance along the falling Stribeck branch. An error of its velocity there, a share of the tolerance,
/// is tens of times as large when the box slides, and makes 1e-5 m at the end.
/// With any share of the third-order estimate from 0.4 to 0.02 the error is between 6e-6 and 1.9e-5 m, and
/// does not fall with the share.
const CHOSEN: Limits = Limits {
    in_hand: [8e-6, 4e-5],
    in_hand_line: [1e-4, 1e-4],
    in_hand_near_rest: [1.8e-5, 6e-5],
    drift: 0.01,
    symmetry: 1e-5,
    ..F64
};
/// The same in single precision.
const CHOSEN_F32: Limits = Limits {
    in_hand: CHOSEN.in_hand,
    in_hand_line: CHOSEN.in_hand_line,
    in_hand_near_rest: CHOSEN.in_hand_near_rest,
    drift: CHOSEN.drift,
    ..F32
};

suite!(adaptive cpu_adaptive, Ok::<_, EngineError>(Cpu::new()), CHOSEN);
suite!(adaptive cpu_reference_adaptive, Ok::<_, EngineError>(Cpu::reference()), CHOSEN);
suite!(adaptive cpu_single_adaptive, Ok::<_, EngineError>(Cpu::single()), Limits { steady: 1.5e-5, ..CHOSEN_F32 });
suite!(adaptive gpu_adaptive, Gpu::new(Choice::Any), CHOSEN_F32);
