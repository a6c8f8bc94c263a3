#!/usr/bin/env bash
# verify_recipes.sh SUITE [ARGUMENT...]: runs it twice in one folder of kernels with REPRISE_RECIPES=verify (Note [Recipes] in runtime/build/recipe.h). The second
# time makes all that is there once more, and each must be byte by byte what it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export REPRISE_CACHE_DIR=$folder/kernels REPRISE_RECIPES=verify
for time in first second; do
  status=0
  "$@" >"$folder/$time" 2>&1 || status=$?
  if [ $status != 0 ] || grep -m 5 'a recipe is not what' "$folder/$time"; then
    grep -E 'FAILED|Failure|a recipe' "$folder/$time" | head -40 || true
    echo "verify_recipes.sh: the $time time, status $status"
    exit 1
  fi
  tail -3 "$folder/$time"
done
echo "recipes: $(grep -la $'\nrecipe \|^recipe ' "$folder"/kernels/* 2>/dev/null | wc -l)"
