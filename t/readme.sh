#!/bin/sh
# readme.sh - README.md from the overview page: sh t/readme.sh >README.md
# mandoc's markdown, less the page's frame, with pilot as the title.
set -eu
cd "$(dirname "$0")/.."
echo "<!-- made from man/pilot.7 by t/readme.sh -->"
echo
mandoc -T markdown man/pilot.7 | sed -e 1d -e '$d' |
	sed -e "s/'\(\`[^\`]*\`\)'/\1/g" |
	awk '/^# NAME$/ { getline; getline; sub(/^\*\*pilot\*\* - /, ""); print "# pilot\n\n*" $0 "*"; next }
	     /^# DESCRIPTION$/ { getline; next }
	     /^> \$ / { shown = 1 } # a terminal is code, not a quotation
	     !/^>/ { shown = 0 }
	     shown { sub(/^> ?/, ""); sub(/ +$/, ""); print ($0 == "" ? "" : "\t" $0); next }
	     { print }' | cat -s
