#!/bin/sh
# Installs a release archive:
#   packaging/install.sh loadline-VERSION-linux-x86_64.tar.gz [PREFIX]
# PREFIX is /usr/local for root and ~/.local for others. Nothing is downloaded. If the checksum file
# is beside the archive, it must match.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: install.sh ARCHIVE [PREFIX]" >&2; exit 2; }
archive=$1
[ -f "$archive" ] || fail "$archive is not a file: name a release archive, such as loadline-0.1.0-linux-x86_64.tar.gz"
if [ "$(id -u)" = 0 ]; then prefix=${2:-/usr/local}; else prefix=${2:-$HOME/.local}; fi

if [ -f "$archive.sha256" ]; then
  wanted=$(cut -d ' ' -f 1 "$archive.sha256")
  found=$(sha256sum "$archive" | cut -d ' ' -f 1)
  [ "$wanted" = "$found" ] || fail "$archive does not match its checksum: download it again"
fi

unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
tar -xzf "$archive" -C "$unpacked" --strip-components=1 2>/dev/null || fail "$archive is not a release archive"
[ -f "$unpacked/loadline" ] || fail "$archive is not a release archive: it contains no loadline"
# The binary of another architecture, or for a newer C library, does not run.
version=$("$unpacked/loadline" --version 2>&1) || fail "the binary does not run on this machine: $version"

put() {
  mkdir -p "$prefix/$2" 2>/dev/null || fail "cannot write to $prefix: name another folder, or run as root"
  cp -R "$1" "$prefix/$2/" || fail "cannot write to $prefix/$2: name another folder, or run as root"
}

put "$unpacked/completions/loadline.bash" share/bash-completion/completions
mv "$prefix/share/bash-completion/completions/loadline.bash" "$prefix/share/bash-completion/completions/loadline"
put "$unpacked/completions/_loadline" share/zsh/site-functions
put "$unpacked/completions/loadline.fish" share/fish/vendor_completions.d
for page in "$unpacked"/man/*.1; do put "$page" share/man/man1; done
for document in docs README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT THIRD-PARTY.md; do
  put "$unpacked/$document" share/doc/loadline
done
# A running binary can be replaced, but not overwritten.
mkdir -p "$prefix/bin"
cp "$unpacked/loadline" "$prefix/bin/.loadline.new" || fail "cannot write to $prefix/bin: name another folder, or run as root"
chmod 755 "$prefix/bin/.loadline.new"
mv "$prefix/bin/.loadline.new" "$prefix/bin/loadline"

echo "$version is installed at $prefix/bin/loadline"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not on your PATH; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
