/*
 * Holds boxes as gently as it can: 200 calls of 2 ms in which the grip is loosened while a box sticks, and
 * tightened when it is about to slip. Then it saves, asks what other grips would do, goes back, and asks for the
 * response that a host which integrates the body itself would need.
 *
 *     cargo build --release -p bristle-capi
 *     cc examples/c/hold.c -Icapi/include target/release/libbristle_capi.a -lm -lpthread -ldl -o hold
 *     ./hold examples/c/hold.toml cpu
 *
 * It returns 0 if all is as it should be.
 */
#include "bristle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4, CALLS = 200 };

/* Ends the program with the sentence that says why. */
static void must(BristleStatus status, const char *what) {
    if (status != BRISTLE_STATUS_OK) {
        fprintf(stderr, "%s: status %d: %s\n", what, (int)status, bristle_last_error());
        exit(1);
    }
}

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "expected %s\n", what);
        exit(1);
    }
}

static char *text_of(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    expect(file != NULL && text != NULL, "a scenario that can be read");
    expect(fread(text, 1, (1 << 16) - 1, file) > 0, "a scenario that is not empty");
    fclose(file);
    return text;
}

static void print_row(const char *name, size_t contact, const double *row, size_t width) {
    size_t i;
    printf("%s %zu:", name, contact);
    for (i = 0; i < width; i++) {
        printf(" %.17g", row[i]);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    /* The first box, and three copies of the second: one to hold, two to try things with. */
    const uint64_t contacts[COUNT] = {0, 1, 1, 1};
    const size_t held[2] = {0, 1}, tried[2] = {2, 3};
    double grip[COUNT], near_limit[COUNT], pose[COUNT][3], again[COUNT][3], twist[COUNT][3], wrench[COUNT][3];
    double normal_force[COUNT], answer[3], gain[9], time;
    uint32_t words[COUNT];
    const uint8_t *bytes;
    size_t i, call, size;
    BristleBatch *batch = NULL;
    BristleSnapshot *saved = NULL, *read = NULL;
    char *scenario;

    if (argc != 3) {
        fprintf(stderr, "usage: hold scenario.toml cpu|cpu-f32|gpu\n");
        return 2;
    }
    scenario = text_of(argv[1]);
    must(bristle_batch_new(scenario, NULL, contacts, COUNT, argv[2], 2e-4, 0.0, &batch), "new");
    free(scenario);
    expect(bristle_batch_len(batch) == COUNT, "four contacts");
    printf("bristle %s\n", bristle_version());

    /* The closed loop. */
    for (i = 0; i < COUNT; i++) {
        grip[i] = 2.0;
    }
    for (call = 0; call < CALLS; call++) {
        must(bristle_batch_set(batch, BRISTLE_INPUT_NORMAL_FORCE, grip, COUNT), "set");
        must(bristle_batch_advance_some(batch, held, 2, 2e-3), "advance_some");
        must(bristle_batch_near_limit(batch, near_limit, COUNT), "near_limit");
        for (i = 0; i < 2; i++) {
            grip[i] *= near_limit[i] > 0.2 ? 1.1 : 0.995;
        }
    }
    must(bristle_batch_pose(batch, &pose[0][0], COUNT), "pose");
    must(bristle_batch_twist(batch, &twist[0][0], COUNT), "twist");
    must(bristle_batch_wrench(batch, &wrench[0][0], COUNT), "wrench");
    must(bristle_batch_normal_force(batch, normal_force, COUNT), "normal_force");
    must(bristle_batch_status(batch, words, COUNT), "status");
    must(bristle_batch_time(batch, 1, &time), "time");
    expect(time > 0.3999 && time < 0.4001, "0.4 s to have passed");
    for (i = 0; i < 2; i++) {
        print_row("grip", i, &grip[i], 1);
        print_row("pose", i, pose[i], 3);
        print_row("twist", i, twist[i], 3);
        print_row("wrench", i, wrench[i], 3);
        print_row("normal_force", i, &normal_force[i], 1);
        print_row("near_limit", i, &near_limit[i], 1);
        expect(words[i] == 0, "a contact that fares well");
        expect(grip[i] < 1.7 && pose[i][1] > -1e-3, "a gentle grip that holds");
    }

    /* What if one let go, or gripped hard? */
    saved = bristle_snapshot_new();
    must(bristle_batch_save(batch, saved), "save");
    must(bristle_batch_copy(batch, 1, tried, 2), "copy");
    must(bristle_batch_set_one(batch, 2, BRISTLE_INPUT_NORMAL_FORCE, 0.5), "set_one");
    must(bristle_batch_ramp_one(batch, 3, BRISTLE_INPUT_NORMAL_FORCE, 8.0, 0.02), "ramp_one");
    must(bristle_batch_advance(batch, 0.1), "advance");
    must(bristle_batch_pose(batch, &again[0][0], COUNT), "pose");
    print_row("let go", 2, again[2], 3);
    print_row("gripped", 3, again[3], 3);
    expect(again[2][1] < pose[1][1] - 1e-2, "the box to fall from an open grip");
    expect(again[3][1] > pose[1][1] - 1e-3, "the box to stay in a hard grip");

    /* Back, by way of the bytes that one would keep in a file. */
    must(bristle_snapshot_bytes(saved, &bytes, &size), "bytes");
    must(bristle_snapshot_from_bytes(bytes, size, &read), "from_bytes");
    must(bristle_batch_restore(batch, read), "restore");
    must(bristle_batch_pose(batch, &again[0][0], COUNT), "pose");
    expect(memcmp(pose, again, sizeof pose) == 0, "the saved poses, bit for bit");

    /* How friction would oppose the box if it crept down at 10 um/s. */
    {
        const double down[3] = {0.0, -1e-5, 0.0};
        must(bristle_batch_respond(batch, 1, down, 2e-3, answer, gain), "respond");
    }
    print_row("answer", 1, answer, 3);
    print_row("gain", 1, gain, 9);
    expect(answer[1] > 0.0 && gain[4] < 0.0, "friction against the motion");

    /* Mistakes have a code and a sentence, and change nothing. */
    expect(bristle_batch_set_one(batch, 99, BRISTLE_INPUT_FX, 1.0) == BRISTLE_STATUS_ARGUMENT, "no contact 99");
    printf("error: %s\n", bristle_last_error());

    must(bristle_batch_reset(batch, tried, 2), "reset");
    bristle_snapshot_free(read);
    bristle_snapshot_free(saved);
    bristle_batch_free(batch);
    return 0;
}
