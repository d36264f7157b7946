/* faults.c - the test-only trainer: every run of this program goes through hooks, and through the
 * functions below instead of the library's own, each of which knows the faults that it can show. */
#include "faults.h"

#include <stdlib.h>
#include <string.h>

struct scene scene;

bool fault(const char *name)
{
	const char *chosen = getenv("PILOT_FAULT");

	return chosen && !strcmp(chosen, name);
}

struct param *trained(int *n)
{
	struct param *p;

	*n = model_params(trainer_model(scene.t), &p);
	return p;
}

static void at(void *ctx, struct trainer *t, const char *point)
{
	(void)ctx;
	scene.t = t;
	if (!strcmp(point, "open"))
		scene.resumed_at = -1;
	if (!strcmp(point, "window"))
		scene.pass = 0;
	faults_data(point);
	faults_update(point);
	faults_state(point);
	if (!strcmp(point, "backward"))
		scene.pass++;
}

int __real_trainer_run(const struct config *c, const struct run_names *names, const struct trainer_hooks *h, struct out *o, struct outcome *result, struct why *w);
int __wrap_trainer_run(const struct config *c, const struct run_names *names, const struct trainer_hooks *h, struct out *o, struct outcome *result, struct why *w);
int __wrap_trainer_run(const struct config *c, const struct run_names *names, const struct trainer_hooks *h, struct out *o, struct outcome *result, struct why *w)
{
	static const struct trainer_hooks hooks = { NULL, at };

	(void)h;
	memset(&scene, 0, sizeof scene);
	scene.resumed_at = -1;
	return __real_trainer_run(c, names, &hooks, o, result, w);
}

/* ---- the order of examples ---- */

int64_t __real_order_example(const struct order *o, int64_t epoch, int64_t position);
int64_t __wrap_order_example(const struct order *o, int64_t epoch, int64_t position);
int64_t __wrap_order_example(const struct order *o, int64_t epoch, int64_t position)
{
	if (fault("D6-same-order"))
		epoch = 0;
	if (fault("D6-not-shuffled"))
		return position;
	if (fault("R1-first-epochs-order") && scene.resumed_at >= 0)
		epoch = 0;
	if (fault("R1-next-epochs-order") && scene.resumed_at >= 0 && epoch > 0)
		epoch++;
	return __real_order_example(o, epoch, position);
}

void __real_order_window(const struct order *o, int64_t u, int64_t *epoch, int64_t *first, int64_t *count);
void __wrap_order_window(const struct order *o, int64_t u, int64_t *epoch, int64_t *first, int64_t *count);
void __wrap_order_window(const struct order *o, int64_t u, int64_t *epoch, int64_t *first, int64_t *count)
{
	int64_t window = o->micro_batch * o->accum;

	if (fault("R1-restarts") && scene.resumed_at >= 0)
		u -= scene.resumed_at;
	if (fault("R1-epoch-restarts") && scene.resumed_at >= 0)
		u -= scene.resumed_at % order_updates_per_epoch(o);
	__real_order_window(o, u, epoch, first, count);
	if (!fault("G2-tail-dropped") || o->examples < window)
		return;
	*epoch = u / (o->examples / window);
	*first = u % (o->examples / window) * window;
	*count = window;
}

/* ---- the schedule ---- */

double __real_schedule_rate(const struct schedule *s, double base, int64_t update);
double __wrap_schedule_rate(const struct schedule *s, double base, int64_t update);
double __wrap_schedule_rate(const struct schedule *s, double base, int64_t update)
{
	int64_t accum = scene.t ? trainer_config(scene.t)->accum : 1;

	if (fault("U7-ticks-per-micro-batch"))
		update *= accum;
	if (fault("U7-one-late"))
		update -= update > 0;
	if (fault("R5-advanced-twice") && scene.resumed_at >= 0)
		update++;
	if (fault("R5-reset") && scene.resumed_at >= 0)
		update -= scene.resumed_at;
	return __real_schedule_rate(s, base, update);
}

/* ---- gradients ---- */

void __real_model_backward(struct model *m, double scale);
void __wrap_model_backward(struct model *m, double scale);
void __wrap_model_backward(struct model *m, double scale)
{
	__real_model_backward(m, scene.scale > 0 ? scene.scale : scale);
}

void __real_model_zero_gradients(struct model *m);
void __wrap_model_zero_gradients(struct model *m);
void __wrap_model_zero_gradients(struct model *m)
{
	if (!scene.leak)
		__real_model_zero_gradients(m);
	scene.leak = false;
}

/* ---- the optimizer ---- */

void __real_optim_step(struct optim *o, struct dev *d, struct param *p, int n, double lr, double gscale);
void __wrap_optim_step(struct optim *o, struct dev *d, struct param *p, int n, double lr, double gscale);
void __wrap_optim_step(struct optim *o, struct dev *d, struct param *p, int n, double lr, double gscale)
{
	int64_t update = trainer_progress(scene.t)->update;

	if (fault("U5-skips-silently") && update == 1)
		return;
	if (fault("R4-last-runs-twice") && scene.resumed_at == update)
		__real_optim_step(o, d, p, n, lr, gscale);
	__real_optim_step(o, d, p, n, lr, gscale);
}

int __real_model_tied_apart(const struct model *m);
int __wrap_model_tied_apart(const struct model *m);
int __wrap_model_tied_apart(const struct model *m)
{
	return fault("U9-tied-apart") ? 1 : __real_model_tied_apart(m);
}

/* ---- what data says of itself ---- */

const struct data_facts *__real_data_facts(const struct data *d);
const struct data_facts *__wrap_data_facts(const struct data *d);
const struct data_facts *__wrap_data_facts(const struct data *d)
{
	static struct data_facts other;

	other = *__real_data_facts(d);
	if (fault("D9-names-out-of-step") && other.names > 1)
		other.names--;
	else if (fault("D-shared-examples"))
		other.shared_examples = 3;
	else
		return __real_data_facts(d);
	return &other;
}
