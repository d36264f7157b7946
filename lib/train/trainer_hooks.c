/* trainer_hooks.c - what hooks may reach of the loop's state. */
#include "trainer.h"

const struct config *trainer_config(const struct trainer *t)
{
	return &t->config;
}

struct dev *trainer_dev(struct trainer *t)
{
	return t->dev;
}

struct data *trainer_data(struct trainer *t)
{
	return t->data;
}

struct model *trainer_model(struct trainer *t)
{
	return t->model;
}

struct optim *trainer_optim(struct trainer *t)
{
	return t->optim;
}

struct schedule *trainer_schedule(struct trainer *t)
{
	return &t->schedule;
}

struct order *trainer_order(struct trainer *t)
{
	return &t->order;
}

struct progress *trainer_progress(struct trainer *t)
{
	return &t->progress;
}

struct batch *trainer_window(struct trainer *t, int *n)
{
	*n = t->passes;
	return t->window;
}

struct batch *trainer_batch(struct trainer *t)
{
	return t->current;
}

struct forward *trainer_forward(struct trainer *t)
{
	return &t->forward;
}

double *trainer_loss(struct trainer *t)
{
	return &t->loss;
}

double *trainer_rate(struct trainer *t)
{
	return &t->rate;
}

double *trainer_scale(struct trainer *t)
{
	return &t->scale;
}

bool *trainer_training(struct trainer *t)
{
	return &t->training;
}

struct checkpoint_facts *trainer_saved(struct trainer *t)
{
	return &t->saved;
}

struct validation *trainer_validation(struct trainer *t)
{
	return &t->validation;
}
