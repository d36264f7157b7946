# answers.bash - streams for the questions of the ledger, from answers.py.
# shellcheck shell=bash

answers() { "$PYTHON" "$PILOT_ROOT/t/answers.py" "$@"; }

# three OPTION...: a control and two variants of the rate.
three() {
	answers arms --factor optimizer.lr --arm 'lr=1e-4@1.75:optimizer=adamw;lr=1e-4' --arm 'lr=5e-5@1.80:optimizer=adamw;lr=5e-5' --arm 'lr=2e-4@1.60:optimizer=adamw;lr=2e-4' "$@"
}

# row NAME FILTER: of the JSON Lines answer in $output, rows of that table.
row() { jq -c "select(.table == \"$1\") | $2" <<<"$output"; }
# says NAME: the sentences of that name.
says() { jq -r "select(.says == \"$1\" or .warning == \"$1\") | .text" <<<"$output"; }
