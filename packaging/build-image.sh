#!/bin/sh
# The steps that build the image of packaging/Dockerfile. Each also runs without Docker:
#   packaging/build-image.sh page               the report page, with Node
#   packaging/build-image.sh wheel              the wheel, in dist/, with Rust and Python, after `page`
#   packaging/build-image.sh install PYTHON WHEEL [RAY]     the wheel, and this version of Ray, into that Python
set -eu
cd "$(dirname "$0")/.."

page() {
  cd web
  npm ci --ignore-scripts --no-audit --no-fund
  npm run build
}

wheel() {
  # The page was built in another stage; this one has no Node.
  make --old-file=web/dist/report.html wheel
}

install() {
  python=$1 wheel=$2 ray=${3:-}
  set -- "$wheel"
  if [ -n "$ray" ]; then
    # The extra lists the versions that work. On Kubernetes jobs are submitted to Ray's dashboard.
    set -- "$wheel[ray]" "ray[default]==$ray"
  fi
  "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir "$@"
  "$python" -c 'import loadline; print("loadline", loadline.__version__)'
  if [ -n "$ray" ]; then
    "$python" -c 'import ray; print("ray", ray.__version__)'
  fi
}

step=${1:-}
case $step in
  page | wheel) "$step" ;;
  install)
    [ $# -ge 3 ] || { echo "build-image.sh install PYTHON WHEEL [RAY]" >&2; exit 2; }
    shift
    install "$@"
    ;;
  *)
    echo "build-image.sh: a step is page, wheel or install, and not '$step'" >&2
    exit 2
    ;;
esac
