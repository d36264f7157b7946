/* stranger-replay.h - what the files that replay a command share. Only stranger-replay.c, -compare.c, -command.c and
 * -folder.c include it. */
#ifndef PILOT_STRANGER_REPLAY_H
#define PILOT_STRANGER_REPLAY_H

#include "judge.h"
#include "shadow.h"

/* ---- stranger-command.c: what is run again ---- */

/* A command, owned: the run record's, or the caller's. */
struct again {
	char **argv, **env;
	char *resume_with, *step_regex, *cwd;
	char *ran;            /* where it ran, if that was a copy of cwd: a probe's; else NULL */
	char *save;           /* the run's {save_dir}, absolute; NULL: it had none */
	bool resumable;       /* it was said how it resumes: --resume-with, or {resume} among its words */
	bool resume_word;     /* {resume} stands in it */
	int64_t updates;      /* asked for; 0: none */
	bool updates_word;    /* {updates} stands in it */
	bool save_word;       /* {save_dir} stands in it */
};
int again_read(struct again *c, const struct watch *r, const struct judge_settings *s, struct why *w) MUST_USE;
void again_free(struct again *c);
/* The path of the working folder in its words becomes that of the copy. */
int again_move(struct again *c, const char *to, struct why *w) MUST_USE;
/* Absolute and without ".."; a path below the copy that the run worked in as the user's folder has it. Returns out. */
const char *again_home(const struct again *c, const char *path, char out[4096]);
/* Settings of the run for its placeholders and limits. */
void again_settings(const struct watch *r, struct rec *request);

/* ---- one replay ---- */

struct trial_folder {
	struct temp temp; /* the gate's own folder */
	char cwd[4096];  /* where every arm works: always the same path */
	char save[4300]; /* its {save_dir}; "": none */
	int guard;       /* 0: none */
};
struct again_replay {
	struct watch *run, *into;
	const struct judge_settings *settings;
	struct again command;
	struct stranger stranger; /* borrows from command */
	struct trial_folder folder;
	double until;
	int *files;               /* counts saves that are whole on disk */
	int64_t k;                /* the update whose save is resumed from */
	struct arm a, s;          /* the run that goes on; the one that stops and leaves the save */
	char unrepeated[300];     /* how S differs from A up to k; "": not at all */
	bool same_batches;        /* A and S had the same batches */
};

/* ---- stranger-folder.c: where it runs ---- */

int folder_make(struct again_replay *x, struct why *w) MUST_USE; /* a folder for arms; folder.temp is there */
int folder_fresh(struct again_replay *x, struct why *w) MUST_USE; /* as before the run; what another arm left is gone */
int folder_keep(struct again_replay *x, struct why *w) MUST_USE;  /* remembers what an arm has left */
int folder_back(struct again_replay *x, struct why *w) MUST_USE;  /* as it was then */
/* Why a replay would write over files that are the user's; false: it would not. */
bool folder_unsafe(const struct again_replay *x, char *say, size_t n);

/* ---- stranger-compare.c: what came back ---- */

enum piece { P_WEIGHTS, P_OPTIMIZER, P_COUNT, P_RATE, P_SCALE, P_DATA, P_TORCH, P_DEVICE, P_NUMPY, P_PYTHON, P_LOSSES, PIECES };
enum came { CAME_UNKNOWN, CAME_BACK, CAME_NOT, CAME_FREE }; /* FREE: the run does not use it */
struct back {
	enum came piece[PIECES];
	char say[PIECES][300];  /* of what did not come back; of what is free or unknown the reason */
	int64_t from, compared; /* updates from+1.. of the run that went on that were compared */
	bool began_again;      /* nothing was loaded: a start from scratch */
	bool moved;            /* the weights had moved before the save */
	bool stateless;        /* the optimizer keeps no state */
	bool dependent;        /* what follows depends on a random state that did not come back */
};
/* S against A up to k. */
void compare_repeat(struct again_replay *x);
/* An arm that resumed at update `from` of A, where `stop` was the state that was left. */
void compare_resumed(const struct again_replay *x, const struct state_fact *stop, const struct arm *b, int64_t from, struct back *out);
bool back_failed(const struct back *b);
/* "data order: ...; weights, optimizer and count came back". */
void back_say(const struct back *b, char *say, size_t n);
void back_names(const struct back *b, char *say, size_t n); /* "weights, optimizer and count" */
/* C against A after `from`: does it show that state was lost? */
bool compare_cold(const struct again_replay *x, const struct arm *c, int64_t from, char *say, size_t n);

#endif
