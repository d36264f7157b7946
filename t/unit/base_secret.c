/* base_secret.c - what looks like a secret, and what does not. */
#include "tap.h"

#include "../../lib/base/base.h"

static void names(void)
{
	static const char *const yes[] = { "HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "MYSQL_PWD", "npm_config__auth",
		"SENTRY_DSN", "GOOGLE_APPLICATION_CREDENTIALS", "COOKIE", "my_private_thing", "SLACK_WEBHOOK", "OPENAI_KEY", "x_passphrase" };
	static const char *const no[] = { "PATH", "HOME", "PWD", "OLDPWD", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES", "LANG", "PYTHONPATH", "" };

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		ok(secret_name(yes[i], strlen(yes[i])), "a secret: %s", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		ok(!secret_name(no[i], strlen(no[i])), "none: %s", no[i]);
	ok(!secret_name("HOME_TOKEN", 4), "only the name counts");
}

static void urls(void)
{
	ok(secret_url("postgres://me:pw@host/db"), "a URL with a password");
	ok(secret_url("x=https://a https://u:p@h"), "the second of two");
	ok(!secret_url("https://host:8080/a@b"), "a port, and an @ in the path");
	ok(!secret_url("https://user@host/"), "a user alone");
	ok(!secret_url("a:b@c"), "no URL");
	ok(!secret_url("://"), "nearly nothing");
}

static void line(void)
{
	char *argv[] = { "python", "--api-key=abc", "--password", "hunter2", "--num_key_value_heads=4", "--max_tokens=100", "--pad_token=<|endoftext|>",
		"--hub_token=hf_AbCdEfGh1234567890", "--label_key=label", "--sort_key", "name", "git+https://u:pw@h/x", "--repo=https://u:pw@h/x", "API_KEY=abc python x.py",
		"--env", "MY_TOKEN=abc", "--env=MY_TOKEN=abc", "--tokenizer=gpt2", "--passes=3", "--access_key", "AKIA", "", "-", "=", NULL };
	static const char *const want[] = { "python", "--api-key={secret}", "--password", "{secret}", "--num_key_value_heads=4", "--max_tokens=100", "--pad_token=<|endoftext|>",
		"--hub_token={secret}", "--label_key=label", "--sort_key", "name", "{secret}", "--repo={secret}", "API_KEY={secret} python x.py",
		"--env", "MY_TOKEN={secret}", "--env=MY_TOKEN={secret}", "--tokenizer=gpt2", "--passes=3", "--access_key", "{secret}", "", "-", "=" };
	char **shown = NULL;

	if (!is_int(secret_argv(argv, &shown), 0, "a command line"))
		return;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		is_str(shown[i], want[i], argv[i]);
	ok(!shown[sizeof want / sizeof *want], "and no more");
	secret_free(shown);
	secret_free(NULL);
}

static void shell(void)
{
	char *s = secret_shell("cd x  &&\tpython train.py 'a b'");

	is_str(s, "cd x  &&\tpython train.py 'a b'", "a line without a secret stays as it is");
	free(s);
	s = secret_shell("HF_TOKEN=abc  python x.py --password  y");
	is_str(s, "HF_TOKEN={secret} python x.py --password {secret}", "one with two");
	free(s);
}

int main(void)
{
	names();
	urls();
	line();
	shell();
	return done_testing();
}
