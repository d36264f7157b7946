#!/usr/bin/env bats
# A stranger's script that does not get everything back when it resumes: the gate resumes it in a new process
# and says what did not come back, and what did.

load helpers
load stranger

setup() { stranger_setup; }

@test "R1 the loader restarts" { shuts R1-loader-restarts; }
@test "R1 the wrong epoch's order, only from the second epoch on" { shuts R1-only-later-epochs; }
@test "R2 torch's random state" { shuts R2-torch-random; }
@test "R2 numpy's random state" { shuts R2-numpy-random; }
@test "R2 python's random state" { shuts R2-python-random; }
@test "R2 restored, and seeded again afterwards" { shuts R2-reseeded-later; }
@test "R3 wrong only when it resumes for the second time" { shuts R3-second-resume; }
@test "R4 the count is one too high" { shuts R4-count-one-too-high; }
@test "R4 the last update runs twice" { shuts R4-last-update-twice; }
@test "R5 the schedule advanced twice" { shuts R5-schedule-advanced-twice; }
@test "R5 the schedule built anew after the optimizer was loaded" { shuts R5-schedule-reset; }
@test "R6 the optimizer cold" { shuts R6-optimizer-cold; }
@test "R8 the loss scale not restored" { shuts R8-scale-not-saved; }
@test "R11 a lenient load that loads nothing" { shuts R11-lenient-load; }
@test "C3 the optimizer's count beside older weights" { shuts C3-torn-state; }
