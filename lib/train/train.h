/* train.h - floor 4: what a training run is: its configuration, data, order, model,
 * optimizer, schedule, checkpoint, and the loop that puts them together. */
#ifndef PILOT_TRAIN_H
#define PILOT_TRAIN_H

#include "../dev/dev.h"
#include "../file/file.h"

/* ---- config.c: all settings of a run; the one table is wire/options.list ---- */

/* One member a line of options.list: const char* (owned, never NULL, "" unset), int64_t, double. */
struct config {
#define CONFIG_T_STR char *
#define CONFIG_T_INT int64_t
#define CONFIG_T_NUM double
#define OPTION(name, option, letter, type, metavar, doc) CONFIG_##type name;
#include "../wire/options.list"
	uint64_t given[2]; /* bit by option: named by the user, not a default */
};
enum option {
#define OPTION(name, option, letter, type, metavar, doc) O_##name,
#include "../wire/options.list"
	OPTIONS
};
struct option_info {
	const char *field, *option;
	int letter;
	enum type type;
	const char *metavar, *doc;
};
const struct option_info *option_info(enum option o);
enum option option_find(const char *long_name); /* OPTIONS if there is none */

int config_init(struct config *c) MUST_USE; /* the defaults: sums, a small gpt, seconds on two cores */
void config_free(struct config *c);
int config_copy(struct config *to, const struct config *from) MUST_USE;
bool config_given(const struct config *c, enum option o);
/* One setting from a string, checked for itself (range, unit, known words); marks it given. -EX_USAGE names the option. */
int config_set(struct config *c, enum option o, const char *value, struct why *w) MUST_USE;
/* The setting as config_set would take it; into out. */
int config_get(const struct config *c, enum option o, struct buf *out) MUST_USE;
/* Contradictions between settings (two budgets, resume with weights, ...): -EX_USAGE; what a later
 * version will have (precision, device): -EX_UNAVAILABLE. */
int config_check(const struct config *c, struct why *w) MUST_USE;
int config_from_view(struct config *c, const struct view *request_or_run, struct why *w) MUST_USE; /* fields present are set and given */
void config_to_rec(const struct config *c, struct rec *request_or_run); /* request: those given; run: all but empty strings */

/* --stop: rules joined by commas. Unset: loss_above and seconds +inf, target -inf, update 0. */
struct stop_rules {
	double loss_above; /* loss>X: the run has diverged */
	double seconds;    /* seconds=T, a duration: 90, 5m, 2h */
	double target;     /* target=X: validation loss at or below it */
	int64_t update;    /* update=N */
};
int stop_parse(struct stop_rules *s, const char *rules, struct why *w) MUST_USE;

/* ---- data.c: examples, and their splits ---- */

enum split { TRAIN, VALIDATION, TEST, SPLITS };
const char *split_name(enum split s);

/* One micro-batch on the host. Sequences (data_facts.sequence) are right-padded. */
struct batch {
	int64_t rows, length;      /* length: positions, or features a row */
	int64_t capacity_rows, capacity_length;
	int32_t *ids;              /* (rows, length), sequences; padding holds 0 */
	int32_t *targets;          /* (rows, length), -1 where the loss does not look; classes: (rows) */
	float *x;                  /* (rows, length), features */
	int64_t *index;            /* (rows) which example of the split */
	int64_t *lengths;          /* (rows) positions before padding */
	uint64_t *key;             /* (rows) position of the row in the run: what dropout is keyed by */
	int64_t supervised;        /* targets that the loss looks at */
	int64_t tokens;            /* positions before padding, or rows */
};
int batch_init(struct batch *b, int64_t rows, int64_t length, bool sequence) MUST_USE;
void batch_free(struct batch *b);

struct data;
struct data_facts {
	bool sequence;      /* ids and targets by position (gpt); else features and a class (mlp) */
	bool answers;       /* exact answers can be generated (sums) */
	int64_t classes;    /* classes, or size of the vocabulary */
	int64_t features;   /* a row; 0 for sequences */
	int64_t length;     /* longest input in any split, after the cut to --length */
	int64_t count[SPLITS];
	const char *rule;   /* how the splits were made, in words */
	int names;          /* class names, 0 if there are none */
	char *const *name;
	int files;          /* digest[i] "sha256:..", provenance[i] "path, bytes" or how it was made */
	char *const *digest, *const *provenance;
	int64_t shared_examples, shared_groups; /* in more than one split: counted, not assumed; -1: too many to count */
};
/* length 0: what the data has (text and tokens: windows of 64). seed: splits do not depend on it, see
 * facts.rule. Held by the caller until data_close. -EX_USAGE a wrong spec, -EX_UNAVAILABLE a kind of a
 * later version, -EX_NOINPUT, -EX_DATAERR, -EX_IOERR. */
int data_open(struct data **d, const char *spec, int64_t length, uint64_t seed, struct why *w) MUST_USE;
const struct data_facts *data_facts(const struct data *d);
/* Validation and test at their own length (0: as training): windows are cut anew, and count and length
 * of the facts with them; examples that cannot be cut must fit (-EX_USAGE). Once, after data_open. */
int data_cut(struct data *d, int64_t val_length, struct why *w) MUST_USE;
void data_close(struct data *d);
/* Fills rows examples, named by their index in the split, padded to the longest of them; one of more than
 * `length` positions is refused. key is left to the caller. */
int data_fill(const struct data *d, enum split s, const int64_t *index, int64_t rows, int64_t length, struct batch *b, struct why *w) MUST_USE;
int64_t data_longest(const struct data *d, enum split s); /* index of the longest example; -1 if there is none */
int64_t data_example_length(const struct data *d, enum split s, int64_t index);
/* Targets that the example declares (its answer and end mark, its window, its class): found without the mask. */
int64_t data_declared(const struct data *d, enum split s, int64_t index);
/* Readable parts of one example; owned by out until its next use. */
struct example_text {
	struct buf id, group, text, target;
};
int data_describe(const struct data *d, enum split s, int64_t index, struct example_text *out, struct why *w) MUST_USE;
void example_text_free(struct example_text *t);
/* Ids back to text (sequences). */
int data_decode(const struct data *d, const int32_t *ids, int64_t n, struct buf *out) MUST_USE;
/* Generation: ids gets the whole example (prompt, right answer, end mark: at most facts.length + 1 ids),
 * cut to max; returns the prompt's length; -1 if the data has none, or it is longer than max. */
int64_t data_prompt(const struct data *d, enum split s, int64_t index, int32_t *ids, int64_t max, int32_t *end_id);

/* ---- order.c: which examples an update sees: a function of (seed, epoch, position) alone ---- */

struct order {
	uint64_t seed;
	int64_t examples; /* in the training split (or --overfit) */
	int64_t micro_batch, accum;
	bool keep; /* an epoch's last, incomplete window is an update of its own */
};
int64_t order_updates_per_epoch(const struct order *o);  /* 0: fewer examples than one window, and it is dropped */
int64_t order_examples_per_epoch(const struct order *o); /* without those of a dropped window */
/* Update u (from 0) sees positions first..first+count-1 of its epoch. */
void order_window(const struct order *o, int64_t u, int64_t *epoch, int64_t *first, int64_t *count);
int64_t order_example(const struct order *o, int64_t epoch, int64_t position); /* index in the split */
int64_t order_examples_before(const struct order *o, int64_t u); /* examples seen in updates 0..u-1 */

/* ---- model.c, gpt.c, mlp.c: models on a device ---- */

/* One named tensor. Names, shapes and layout are Hugging Face's (GPT-2: Conv1D (in, out)); the
 * mlp's are torch's (fc.N.weight (out, in)). Tied tensors appear once. */
struct param {
	char name[64];
	int dims;
	int64_t shape[4];
	int64_t count;   /* numbers */
	float *w, *g;    /* on the device; g NULL until gradients are allocated */
	bool trainable;  /* not frozen */
	bool decay;      /* weight decay applies (matrices and embeddings; not biases and norms) */
};

/* Parts of a run's memory, each one block. What attention needs for its scratch grows with the device's threads, so plans
 * are of a device. */
enum part { PART_LOAD, PART_DATA, PART_FORWARD, PART_BACKWARD, PART_UPDATE, PART_VALIDATE, PARTS };

struct model;
/* gpt:layers=4,width=128,heads=4,context=N,vocab=N,tied=1 (context is `length` if absent; vocab the data's, or more;
 * tied=0 gives the head a matrix of its own, lm_head.weight), gpt2, gpt2-medium, gpt2-large, gpt2-xl (the published sizes, same
 * keys), mlp:hidden=128x64,activation=relu|gelu|tanh (hidden=0: none). freeze: shell patterns of parameter names,
 * separated by commas; one that names nothing, or that leaves nothing to train, is refused. Errors are -EX_USAGE.
 * Plans only: nothing is allocated on the device yet. */
int model_new(struct model **m, const char *spec, const struct data_facts *facts, int64_t length, double dropout, const char *freeze, uint64_t seed, struct dev *d, struct why *w) MUST_USE;
void model_free(struct model *m); /* and its blocks */
int model_params(const struct model *m, struct param **p);
int64_t model_numbers(const struct model *m, bool trainable_only);
/* Bytes of the part's block, exactly as the allocated counter will move. UPDATE is the optimizer's. */
int64_t model_plan(const struct model *m, enum part part, int64_t rows, int64_t length);
/* Takes the part's block (once; a second call with sizes that fit does nothing, with larger ones it takes a new block
 * in place of the old). 0, -EX_NO out of memory, -EX_USAGE more positions than the context or the kernels have. */
int model_take(struct model *m, enum part part, int64_t rows, int64_t length, const char *phase, struct why *w) MUST_USE;
void model_release(struct model *m, enum part part);
void model_init(struct model *m); /* initial weights, a function of the seed and the tensor's name; GPT-2's, torch.nn.Linear's for the mlp */
/* After weights were written from outside (load, resume): nothing is cached, but tied views are checked. */
int model_tied_apart(const struct model *m);

/* Moves a batch to the device (PART_DATA, or PART_VALIDATE's own place when !train). */
void model_put(struct model *m, const struct batch *b, bool train);
struct forward {
	double loss_sum;      /* over supervised targets, in nats, summed in double */
	int64_t supervised;
	int64_t correct;      /* targets that are the most likely class; only when !train */
	int64_t output_shape[3];
	int output_dims;
	double logits_variance; /* only when asked: of a row's logits, mean over the supervised rows */
};
/* Of the batch put last, whose ids and targets are in range (the data's promise). train: dropout on, activations kept for
 * backward. */
void model_forward(struct model *m, bool train, bool want_variance, struct forward *f);
/* Adds scale x d loss_sum to every trainable gradient (frozen ones get none). Once after each train forward. */
void model_backward(struct model *m, double scale);
void model_zero_gradients(struct model *m);
/* Logits of the last !train forward, (rows x positions, classes), on the host's side. */
const float *model_logits(const struct model *m);
bool model_training(const struct model *m); /* the mode of the last forward */

/* ---- optim.c: optimizers and clipping ---- */

/* sgd, momentum, nesterov, adam, adamw, nadam as torch.optim defines them (SGD, Adam, AdamW, NAdam); its defaults,
 * and lr=0.01 for the SGD kinds. Keys: lr, weight_decay (decoupled for adamw, else L2 in the gradient),
 * momentum (momentum, nesterov: 0.9), beta1, beta2, eps, momentum_decay (nadam), and decay=matrices|all: which parameters
 * weight decay applies to, by default matrices and embeddings only (torch's single group is `all`). nadam is torch's formula,
 * as its later releases and 1.13's foreach variant compute it; 1.13's other variant counts a momentum twice. */
struct optim;
int optim_new(struct optim **o, const char *spec, struct why *w) MUST_USE;
void optim_free(struct optim *o, struct dev *d);
double optim_lr(const struct optim *o); /* the base rate */
/* State tensors per parameter: 0 (sgd), 1, 2; and their names ("momentum_buffer", "exp_avg", "exp_avg_sq"). */
int optim_slots(const struct optim *o);
const char *optim_slot_name(const struct optim *o, int slot);
int64_t optim_plan(const struct optim *o, const struct param *p, int n);
int optim_take(struct optim *o, struct dev *d, const struct param *p, int n, const char *phase, struct why *w) MUST_USE; /* zeroed, touched */
bool optim_taken(const struct optim *o);
float *optim_state(const struct optim *o, int param, int slot); /* NULL for frozen parameters */
/* One update at rate lr of the trainable parameters; g is multiplied by gscale first (clipping). */
void optim_step(struct optim *o, struct dev *d, struct param *p, int n, double lr, double gscale);
int64_t optim_count(const struct optim *o); /* updates applied */
/* Further state that is no tensor (nadam's product of momenta), as text; read back exactly. */
int optim_scalars(const struct optim *o, struct buf *out) MUST_USE;
int optim_restore(struct optim *o, int64_t count, const char *scalars, struct why *w) MUST_USE;
double optim_gradient_norm(struct dev *d, const struct param *p, int n); /* over trainable ones, in double */

/* ---- schedule.c: the learning rate ---- */

/* constant | linear | cosine, with warmup=N (0) and floor=X (0): with u updates done before this one, the rate is
 * base (u+1)/N while u < N; then, with r = (u-N)/(horizon-N) kept within 0..1, base f, where f is 1, or
 * floor + (1-floor)(1-r), or floor + (1-floor)(1+cos(pi r))/2. */
struct schedule {
	int kind;
	int64_t warmup, horizon; /* updates; horizon is the whole budget */
	double floor;            /* share of the base rate at the end */
};
int schedule_parse(struct schedule *s, const char *spec, int64_t horizon, struct why *w) MUST_USE;
bool schedule_decays(const struct schedule *s); /* the rate depends on the horizon */
double schedule_rate(const struct schedule *s, double base, int64_t update); /* update from 0 */

/* ---- checkpoint.c: one safetensors file with all that a run needs to go on ---- */

struct progress { /* where a run is; all there is besides tensors */
	char run[ULID_SIZE];
	char lineage[ULID_SIZE]; /* the first run's id: a run that resumes it keeps that */
	int64_t update, examples, tokens, attempted, skipped, dropped, horizon;
	double best_validation, last_validation;
	int64_t best_update, validations;
	double training_seconds;
};
/* Saves into dir as update-NNNNNNNNN.safetensors, keeps the newest `keep`. path gets the absolute path. */
struct checkpoint_facts {
	char path[4096], digest[72], weights_digest[72], optimizer_digest[72];
	int64_t bytes;
	double seconds;
	int weights, states; /* tensors */
};
int checkpoint_save(const char *dir, int64_t keep, const struct config *c, const struct progress *p, const struct data_facts *data, const struct model *m, const struct optim *o, struct checkpoint_facts *f, struct why *w) MUST_USE;
/* Makes dir if need be and holds it for one run until *lock is closed: -EX_TEMPFAIL if another process
 * has it, -EX_USAGE if it holds files of another lineage (any, where lineage is "") or newer than update. */
int checkpoint_claim(const char *dir, const char *lineage, int64_t update, int *lock, struct why *w) MUST_USE;
/* FILE, or the newest complete one in DIR, into path. How many newer, torn ones were passed over
 * (w says what is wrong with the newest). */
int checkpoint_find(const char *file_or_dir, char *path, size_t size, struct why *w) MUST_USE;
struct checkpoint;
int checkpoint_open(struct checkpoint **c, const char *path, struct why *w) MUST_USE; /* header checked, config and progress read */
const struct config *checkpoint_config(const struct checkpoint *c);
const struct progress *checkpoint_progress(const struct checkpoint *c);
int checkpoint_same_data(const struct checkpoint *c, const struct data_facts *data, struct why *w) MUST_USE; /* digests, class names, counts */
int checkpoint_load(struct checkpoint *c, struct model *m, struct optim *o, struct checkpoint_facts *f, struct why *w) MUST_USE;
void checkpoint_close(struct checkpoint *c);
/* Weights alone, from any safetensors file with or without "transformer."; every tensor must be there with its shape. */
int weights_load(const char *path, struct model *m, int *tensors, char digest[72], struct why *w) MUST_USE;
int weights_digest(const struct model *m, char out[72]) MUST_USE;
int optimizer_digest(const struct model *m, const struct optim *o, char out[72]) MUST_USE; /* "" while there is no state */

/* ---- trainer.c: the loop ---- */

/* Called at fixed points of the loop; a shipped program passes none. The test-only trainer injects its
 * faults here (see t/faults). Members may be NULL. */
struct trainer;
struct trainer_hooks {
	void *ctx;
	void (*at)(void *ctx, struct trainer *t, const char *point); /* "data" "forward" "backward" "update" "validate" "save" "resume" ... */
};
/* What one run came to. */
struct outcome {
	char run[ULID_SIZE];
	char status[16]; /* as in the end record */
	int code;        /* 0, EX_NO (diverged, oom), EX_USAGE, EX_DATAERR, EX_IOERR, EX_UNAVAILABLE */
	int signal;      /* the signal that stopped it, 0 if none */
	char why[1000];  /* of the status, in words, "" if it needs none */
};
struct run_names {
	const char *role, *request, *parent, *repeats;
	const char *comparison, *arm; /* of a planned run; NULL: none */
	char *const *values;          /* NULL-terminated NAME=VALUE for a command's own placeholders; may be NULL */
	const char *trainer; /* of a run that is refused: NULL is builtin */
	char *const *argv;
	int64_t show; /* --show K: example records and nothing else */
	void (*progress)(const char *line); /* told where the run is, twice a second at most; may be NULL */
};
/* One run: run record to end record. Errors before the run record return <0 with nothing written;
 * later ones stand in the end record and in w. */
int trainer_run(const struct config *c, const struct run_names *names, const struct trainer_hooks *h, struct out *o, struct outcome *result, struct why *w) MUST_USE;

/* For a request that never became a run: a run record with its names alone, and an end record with the reason. */
int trainer_refuse(const struct run_names *names, const struct why *reason, struct out *o, struct outcome *result, struct why *w) MUST_USE;

#endif
