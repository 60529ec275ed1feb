/*
 * Friction patches that live on an engine between calls: set inputs, advance, read, save, branch.
 *
 * Units are SI: metres, newtons, kilograms, seconds, radians. Arrays of numbers of all contacts have one row
 * a contact, in the order of the batch; rows of three are (x, y, angle) or (fx, fy, torque). `count` is
 * always a number of rows or of indices, never of bytes.
 *
 * Functions return BRISTLE_STATUS_OK (0) or say why not; bristle_last_error() has the sentence. All that is
 * asked for is checked before anything is changed: a call that is refused, with another code than
 * BRISTLE_STATUS_DEVICE or BRISTLE_STATUS_DEFECT, leaves a batch as it was. What functions write is
 * undefined after a failure, unless they say otherwise. NULL where a pointer is needed is an error.
 * A pointer that is not NULL must be valid for as many elements as the function says, and a handle must be
 * one that has not been freed.
 *
 * A handle may be used from any thread; calls on one handle wait for each other. Free it after its last call
 * has returned. A batch on the CPU computes on as many threads as RAYON_NUM_THREADS says, or as there are
 * cores. A child that is forked while no other thread is in a call has threads of its own, and may use its
 * parent's batches on the CPU and make new ones; for a GPU it gets BRISTLE_STATUS_DEVICE.
 */

/* Written by the command `BRISTLE_RENEW=1 cargo test --release -p bristle-capi --test interface header`. */

#ifndef BRISTLE_H
#define BRISTLE_H

#include <stddef.h>
#include <stdint.h>

/**
 * How a call went.
 */
typedef enum {
    /**
     * All is done.
     */
    BRISTLE_STATUS_OK = 0,
    /**
     * A pointer is NULL that may not be, or one to numbers is not aligned.
     */
    BRISTLE_STATUS_NULL = 1,
    /**
     * A number, an index, a length or a name is out of range; the message has the range.
     */
    BRISTLE_STATUS_ARGUMENT = 2,
    /**
     * The scenario is wrong; the message has the line.
     */
    BRISTLE_STATUS_SCENARIO = 3,
    /**
     * There is no such device, or the library was built without it.
     */
    BRISTLE_STATUS_NO_DEVICE = 4,
    /**
     * The device failed, is lost, has not enough memory, or was opened before this process was forked. After
     * that the batch says so at every call; a snapshot saved before can be restored in a new batch.
     */
    BRISTLE_STATUS_DEVICE = 5,
    /**
     * The bytes are no snapshot, or one of another version, or damaged.
     */
    BRISTLE_STATUS_SNAPSHOT = 6,
    /**
     * A defect of the library, of which more is on stderr. The handle refuses all further calls, and can
     * only be freed.
     */
    BRISTLE_STATUS_DEFECT = 7,
    /**
     * The machine has not the memory for what was asked; the message has what it takes and what is free.
     * Nothing has changed.
     */
    BRISTLE_STATUS_MEMORY = 8,
} BristleStatus;

/**
 * An input of a contact.
 */
typedef enum {
    /**
     * Normal force of one pad [N], at most 1e12; negative is no contact.
     */
    BRISTLE_INPUT_NORMAL_FORCE = 0,
    /**
     * Load force along x [N] of a free body, up to 1e12 in size, as the next four.
     */
    BRISTLE_INPUT_FX = 1,
    /**
     * Load force along y [N].
     */
    BRISTLE_INPUT_FY = 2,
    /**
     * Load torque [N m], up to 1e12 in size.
     */
    BRISTLE_INPUT_TAU = 3,
    /**
     * Gravity along x [m/s^2], up to 1e9 in size.
     */
    BRISTLE_INPUT_GRAVITY_X = 4,
    /**
     * Gravity along y [m/s^2].
     */
    BRISTLE_INPUT_GRAVITY_Y = 5,
    /**
     * Velocity along x [m/s] of a prescribed motion, up to 1e9 in size, as the next two.
     */
    BRISTLE_INPUT_VX = 6,
    /**
     * Velocity along y [m/s].
     */
    BRISTLE_INPUT_VY = 7,
    /**
     * Angular velocity [rad/s].
     */
    BRISTLE_INPUT_W = 8,
    /**
     * Coulomb coefficient [-], 1e-9 to 1e6 and no more than the static one.
     */
    BRISTLE_INPUT_MU_C = 9,
    /**
     * Static coefficient [-], at most 1e6.
     */
    BRISTLE_INPUT_MU_S = 10,
    /**
     * Where the spring of a point contact is held along x [m], up to 1e9 in size.
     */
    BRISTLE_INPUT_ANCHOR_X = 11,
    /**
     * Where it is held along y [m].
     */
    BRISTLE_INPUT_ANCHOR_Y = 12,
    /**
     * Velocity along x [m/s] of a moving surface, up to 1e9 in size, as the next two.
     */
    BRISTLE_INPUT_SURFACE_VX = 13,
    /**
     * Its velocity along y [m/s].
     */
    BRISTLE_INPUT_SURFACE_VY = 14,
    /**
     * Its angular velocity [rad/s].
     */
    BRISTLE_INPUT_SURFACE_W = 15,
    /**
     * Normal force of one pad [N] of the first of several patches with normal forces of their own; negative
     * is no contact. Plus 4 k it is that of the patch with number k, as are the next three.
     */
    BRISTLE_INPUT_PATCH_NORMAL_FORCE = 16,
    /**
     * Velocity along x [m/s] of the surface of the first of several patches with surfaces of their own, up
     * to 1e9 in size, as the next two.
     */
    BRISTLE_INPUT_PATCH_VX = 17,
    /**
     * Its velocity along y [m/s].
     */
    BRISTLE_INPUT_PATCH_VY = 18,
    /**
     * Its angular velocity [rad/s].
     */
    BRISTLE_INPUT_PATCH_W = 19,
} BristleInput;

/**
 * How a signal goes from point to point.
 */
typedef enum {
    /**
     * It keeps the value of a point until the next.
     */
    BRISTLE_SIGNAL_STEPS = 0,
    /**
     * In straight lines.
     */
    BRISTLE_SIGNAL_LINEAR = 1,
} BristleSignal;

/**
 * Bits of a contact's status word, which is 0 if all is well. After one of the first three its numbers are
 * NaN until it is reset, restored or copied to.
 */
typedef enum {
    /**
     * Its velocity is not finite.
     */
    BRISTLE_FAULT_TWIST = 1,
    /**
     * Its friction is not finite.
     */
    BRISTLE_FAULT_WRENCH = 2,
    /**
     * It took as many steps as it may in one call.
     */
    BRISTLE_FAULT_STEPS = 8,
    /**
     * Some of its steps are less exact than they should be.
     */
    BRISTLE_FAULT_UNCONVERGED = 4,
} BristleFault;

/**
 * Contacts that live on an engine.
 */
typedef struct BristleBatch BristleBatch;

/**
 * Everything that the contacts of a batch take along: states, bristles, times and inputs.
 */
typedef struct BristleSnapshot BristleSnapshot;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, as "1.2.3".
 */
const char *bristle_version(void);

/**
 * Draws contacts from a scenario and puts them on a device, at their start.
 *
 * - `scenario`: the text of a scenario file, in UTF-8.
 * - `base_dir`: where its map files are; NULL is the working directory.
 * - `contacts`: which contacts of the scenario, `count` indices from 0 that may repeat: copies of one
 *   contact are what one state can be branched into. NULL takes the first `count`, and all if `count` is 0.
 * - `device`: "cpu" in double precision, "cpu-f32", or "gpu", any adapter in single precision.
 * - `step`: length of a step [s], 1e-7 to 0.1; with a tolerance the longest. 0 takes step and tolerance of
 *   the scenario.
 * - `tolerance`: error of the velocity by which each contact chooses its steps [m/s], 1e-9 to 1. 0 for fixed
 *   steps, and where `step` is 0.
 * - `out`: the new handle, to be freed by bristle_batch_free(); NULL after a failure.
 */
BristleStatus bristle_batch_new(const char *scenario,
                                const char *base_dir,
                                const uint64_t *contacts,
                                size_t count,
                                const char *device,
                                double step,
                                double tolerance,
                                BristleBatch **out);

/**
 * Frees a batch; nothing if it is NULL.
 */
void bristle_batch_free(BristleBatch *batch);

/**
 * Number of contacts; 0 if `batch` is NULL.
 */
size_t bristle_batch_len(const BristleBatch *batch);

/**
 * From now on an input of every contact is its value.
 *
 * `input`: a BristleInput. `values`: `count` numbers in the input's unit. If one is out of range, none is
 * set.
 */
BristleStatus bristle_batch_set(BristleBatch *batch, uint32_t input, const double *values, size_t count);

/**
 * From now on several inputs of every contact are their values, which are set together: the two coefficients
 * of friction are checked as the pair that they will be, whatever the present ones are.
 *
 * `inputs`: `kinds` BristleInputs. `values`: `kinds` x `count` numbers, a row of one for each contact for
 * every input. If one is out of range, none is set.
 */
BristleStatus bristle_batch_set_together(BristleBatch *batch,
                                         const uint32_t *inputs,
                                         size_t kinds,
                                         const double *values,
                                         size_t count);

/**
 * From now on an input of a contact is `value`, in the input's unit. Nothing changes if it is out of range,
 * or none of the contact's kind of body.
 *
 * `input`: a BristleInput.
 */
BristleStatus bristle_batch_set_one(BristleBatch *batch, size_t contact, uint32_t input, double value);

/**
 * From now on an input of a contact goes in a straight line from its present value to `to` in `over` [s],
 * and stays there.
 *
 * `input`: a BristleInput. `over`: at least 1e-9 s.
 */
BristleStatus bristle_batch_ramp_one(BristleBatch *batch,
                                     size_t contact,
                                     uint32_t input,
                                     double to,
                                     double over);

/**
 * Lets `dt` [s] pass for all contacts, 1e-9 to 1e6. A contact that fails is no failure of the call: its
 * numbers become NaN, and bristle_batch_status() says why.
 */
BristleStatus bristle_batch_advance(BristleBatch *batch, double dt);

/**
 * bristle_batch_advance() of some contacts.
 *
 * `contacts`: `count` indices; one that is there twice advances once.
 */
BristleStatus bristle_batch_advance_some(BristleBatch *batch,
                                         const size_t *contacts,
                                         size_t count,
                                         double dt);

/**
 * Time of a contact since its start [s].
 */
BristleStatus bristle_batch_time(const BristleBatch *batch, size_t contact, double *time);

/**
 * Reads poses of the centres of mass [m, m, rad]; of the patch, if its motion is prescribed.
 *
 * `out`: `count` x 3.
 */
BristleStatus bristle_batch_pose(BristleBatch *batch, double *out, size_t count);

/**
 * Reads twists of the centres of mass [m/s, m/s, rad/s]; of the patch origin, if the motion is prescribed.
 *
 * `out`: `count` x 3.
 */
BristleStatus bristle_batch_twist(BristleBatch *batch, double *out, size_t count);

/**
 * Reads friction wrenches of one pad on the body [N, N, N m], at the patch origin in the patch frame, under
 * the inputs at the end of the last call.
 *
 * `out`: `count` x 3.
 */
BristleStatus bristle_batch_wrench(BristleBatch *batch, double *out, size_t count);

/**
 * Reads normal forces of one pad [N].
 *
 * `out`: `count`.
 */
BristleStatus bristle_batch_normal_force(BristleBatch *batch, double *out, size_t count);

/**
 * Reads which share of the normal force is on bristles that slip, each faster than 1e-5 m/s: 0 sticks, 1
 * slides everywhere.
 *
 * `out`: `count`.
 */
BristleStatus bristle_batch_slip(BristleBatch *batch, double *out, size_t count);

/**
 * Reads which share of the normal force is on bristles near their limit, whether they slip or not: longer
 * than the share `s_ba` of it, 0 to 1.
 *
 * `out`: `count`.
 */
BristleStatus bristle_batch_near_limit(BristleBatch *batch, double *out, size_t count);

/**
 * Reads status words: 0, or bits of BristleFault.
 *
 * `out`: `count`.
 */
BristleStatus bristle_batch_status(BristleBatch *batch, uint32_t *out, size_t count);

/**
 * The friction wrench if the patch of a contact moved with `twist` for `dt` [s], under the inputs at
 * the end of the last call; nothing moves. It is that of one implicit stage over the whole time: a
 * host that integrates the body itself takes a step of Newton with `gain`, sets the velocities that come
 * out, and advances.
 *
 * `twist`: 3, at the patch origin in the patch frame [m/s, m/s, rad/s]. `wrench`: 3, on the moving side, in
 * the same frame [N, N, N m]. `gain`: 3 x 3, its derivative over the twist, a row a component of the wrench.
 * A contact that has failed gives BRISTLE_STATUS_ARGUMENT.
 */
BristleStatus bristle_batch_respond(BristleBatch *batch,
                                    size_t contact,
                                    const double *twist,
                                    double dt,
                                    double *wrench,
                                    double *gain);

/**
 * Puts contacts back to their start: time 0, with the inputs of the scenario. One that has failed is clean
 * again.
 *
 * `contacts`: `count` indices. None is reset if one is out of range.
 */
BristleStatus bristle_batch_reset(BristleBatch *batch, const size_t *contacts, size_t count);

/**
 * Gives the state of contact `from`, its time and its inputs to others, which keep their own patches and
 * parameters.
 *
 * `to`: `count` indices of contacts of the same model, kind of body and number of cells. None is changed if
 * one is out of range or of another kind.
 */
BristleStatus bristle_batch_copy(BristleBatch *batch, size_t from, const size_t *to, size_t count);

/**
 * Saves all contacts in place of what is in `snapshot`. The batch is not changed.
 */
BristleStatus bristle_batch_save(BristleBatch *batch, BristleSnapshot *snapshot);

/**
 * Puts all contacts to what they were when they were saved, in this batch or in one with the same contacts.
 * On the device that saved them they go on with the same bits, on another within its rounding.
 *
 * `snapshot`: not changed. BRISTLE_STATUS_ARGUMENT if it is of another number or another kind of contacts;
 * then the batch has not changed either.
 */
BristleStatus bristle_batch_restore(BristleBatch *batch, const BristleSnapshot *snapshot);

/**
 * A snapshot of no contacts, for bristle_batch_save(). To be freed by bristle_snapshot_free().
 */
BristleSnapshot *bristle_snapshot_new(void);

/**
 * Frees a snapshot; nothing if it is NULL.
 */
void bristle_snapshot_free(BristleSnapshot *snapshot);

/**
 * A snapshot as bytes, for a file or another process of the same version.
 *
 * `bytes`, `count`: the bytes and how many there are. They are the snapshot's, and valid until it is saved
 * to, asked for bytes again, or freed.
 */
BristleStatus bristle_snapshot_bytes(BristleSnapshot *snapshot, const uint8_t **bytes, size_t *count);

/**
 * The snapshot of bristle_snapshot_bytes().
 *
 * `bytes`: `count` of them, which are copied. `out`: the new handle, to be freed by bristle_snapshot_free();
 * NULL after a failure.
 */
BristleStatus bristle_snapshot_from_bytes(const uint8_t *bytes, size_t count, BristleSnapshot **out);

/**
 * Why the last call on this thread that failed did so: one or more lines in UTF-8; empty if none has. The
 * text is valid until the next call on this thread fails.
 */
const char *bristle_last_error(void);

/**
 * Puts another pressure map under a contact at once, such as the next frame of a tactile sensor. The normal
 * force is as before, and bristles are kept. The patch must have `takes_frames = true` in the scenario.
 *
 * `pressure`: `count` numbers >= 0 in any unit, one a cell of the patch's grid, bottom row first. Nothing
 * changes if one is out of range, or if none is above 0.
 */
BristleStatus bristle_batch_set_frame_one(BristleBatch *batch,
                                          size_t contact,
                                          const double *pressure,
                                          size_t count);

/**
 * From now on an input of a contact follows a signal over the contact's own time, which starts at 0.
 *
 * `input`: a BristleInput. `signal`: a BristleSignal. `times`, `values`: `count` points; the times [s]
 * increase, and the first is 0. After the last point the signal keeps its value.
 */
BristleStatus bristle_batch_follow_one(BristleBatch *batch,
                                       size_t contact,
                                       uint32_t input,
                                       uint32_t signal,
                                       const double *times,
                                       const double *values,
                                       size_t count);

/**
 * bristle_batch_reset() of one contact, to another initial state. Later resets go to this state.
 *
 * `pose`: 3, of the centre of mass [m, m, rad]; of the patch, if its motion is prescribed. `twist`: 3, at
 * the centre of mass [m/s, m/s, rad/s], without effect on a prescribed motion. `bristles`: `count` x 2
 * states as bristle_batch_bristles() has them; NULL leaves them unloaded. Nothing changes if one is out of
 * range.
 */
BristleStatus bristle_batch_reset_to(BristleBatch *batch,
                                     size_t contact,
                                     const double *pose,
                                     const double *twist,
                                     const double *bristles,
                                     size_t count);

/**
 * Reads the states of the bristles of a contact [-], docs/model.md: of a grid one for each cell that carries
 * pressure, bottom row first; of a reduced model (zeta_x, zeta_y), (zeta_3, 0).
 *
 * `out`: room for `room` x 2. `count`: how many there are. With fewer in `room` nothing is written to `out`,
 * and the call fails; with a `room` of 0, when `out` may be NULL, it tells `count` alone.
 */
BristleStatus bristle_batch_bristles(BristleBatch *batch,
                                     size_t contact,
                                     double *out,
                                     size_t room,
                                     size_t *count);

/**
 * Reads the friction of each of the patches of a contact that has several (`[[patches]]` in the scenario),
 * in their order. Their model must be `distributed`.
 *
 * `wrench`: `room` x 3, on the body at the origin of the patch, in the axes of all of them [N, N, N m].
 * `normal_force`: `room` [N]. `slip`, `near_limit`: `room`, the shares of that on bristles that slip, and on
 * bristles near their limit. What is NULL is not written. `count`: how many patches there are, 0 of a
 * contact with one. With fewer in `room` nothing else is written, and the call fails; with a `room` of 0 it
 * tells `count` alone.
 */
BristleStatus bristle_batch_patches(BristleBatch *batch,
                                    size_t contact,
                                    double *wrench,
                                    double *normal_force,
                                    double *slip,
                                    double *near_limit,
                                    size_t room,
                                    size_t *count);

/**
 * Reads the normal force and the friction of each cell of the grid of a contact, bottom row first; of
 * several patches those of one patch after the other. The model must be `distributed`.
 *
 * `normal_force`: `room`, of the cell [N]. `force`: `room` x 2, friction on the body in the axes of the
 * patch [N]; 0 on cells without pressure. `nearness`: `room`, the length of the bristle over its limit [-],
 * 1 in steady sliding. What is NULL is not written. `count`: how many cells there are. With fewer in `room`
 * nothing else is written, and the call fails; with a `room` of 0 it tells `count` alone.
 */
BristleStatus bristle_batch_cells(BristleBatch *batch,
                                  size_t contact,
                                  double *normal_force,
                                  double *force,
                                  double *nearness,
                                  size_t room,
                                  size_t *count);

/**
 * Asks for the present samples and does not wait for them: a GPU goes on computing, and the caller with
 * other work, such as the next bristle_batch_advance(). They take the place of those asked for before.
 */
BristleStatus bristle_batch_request(BristleBatch *batch);

/**
 * Reads the samples of the last bristle_batch_request(): those of that moment, whatever was called since.
 *
 * `ready`: NULL waits for them. Else nobody waits, and it is set to 1 if they are there and read, or to 0,
 * when nothing is read. `pose`, `twist`, `wrench`: `count` x 3. `normal_force`, `slip`: `count`. All as
 * bristle_batch_pose() and the like have them; NULL for what is not wanted.
 */
BristleStatus bristle_batch_requested(BristleBatch *batch,
                                      int32_t *ready,
                                      double *pose,
                                      double *twist,
                                      double *wrench,
                                      double *normal_force,
                                      double *slip,
                                      size_t count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BRISTLE_H */
