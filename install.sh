#!/bin/sh
# Installs agent-daemon from a signed release, or from a checkout with --from-source.
# Everything is inside functions that the last line calls: a download that was cut off runs nothing.
# It never uses sudo, never edits a shell's start-up files and never takes a token.
set -eu
umask 077

# The release process fills these two in. A copy without a key installs from source only.
release_base_url=''
release_public_key=''

program=agent-daemon
deno_version=2.9.6
# What the program may do; the compiled releases are built with the same.
permissions='--allow-all'

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "$program" "$*" >&2; }

# fail PLACE RULE FIX: one line, then the end.
fail() {
  warn "$1: $2; $3"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

usage() {
  cat <<'TEXT'
Usage: install.sh [OPTION...]

  --base-url URL   where releases are served
  --version V      the release to install (default: the newest)
  --dir DIR        where the command goes (default: ~/.local/bin)
  --system         installs to /usr/local/bin; you must be able to write there
  --core-url URL   writes Core's address to the configuration, if it has none
  --no-service     does not touch the service
  --from-source    installs a launcher for this checkout
  --uninstall      removes the service and the command; keeps configuration, state and workspace
  --help           prints this
TEXT
}

# value_of FLAG COUNT VALUE: checks that a value follows, so that an unset variable is no default.
value_of() {
  if [ "$2" -lt 2 ] || [ -z "$3" ]; then fail "$1" 'needs a value' "write $1 VALUE"; fi
}

parse_options() {
  base_url=$release_base_url version='' directory='' core_url=''
  system=no service=yes mode=release
  while [ "$#" -gt 0 ]; do
    case $1 in
      --base-url) value_of "$1" "$#" "${2:-}"; base_url=${2%/}; shift ;;
      --version) value_of "$1" "$#" "${2:-}"; version=$2; shift ;;
      --dir) value_of "$1" "$#" "${2:-}"; directory=$2; shift ;;
      --core-url) value_of "$1" "$#" "${2:-}"; core_url=$2; shift ;;
      --system) system=yes ;;
      --no-service) service=no ;;
      --from-source) mode=source ;;
      --uninstall) mode=uninstall ;;
      --help | -h) usage; exit 0 ;;
      # What was typed is not repeated: it may be a secret.
      *) fail option 'is not known' 'see install.sh --help' ;;
    esac
    shift
  done
}

# base_directory GIVEN DEFAULT: a base directory that is not absolute is invalid and ignored, as its
# specification says and as the program does.
base_directory() {
  case $1 in
    /*) printf '%s' "$1" ;;
    *) printf '%s' "$2" ;;
  esac
}

# Where things go. All names are absolute afterwards.
choose_places() {
  if [ "$system" = no ]; then
    case ${HOME:-} in
      /*) ;;
      *) fail HOME 'is not set to an absolute path' 'set it, or use --system' ;;
    esac
  fi
  if [ -z "$directory" ]; then
    if [ "$system" = yes ]; then directory=/usr/local/bin; else directory=$HOME/.local/bin; fi
  fi
  case $directory in
    /*) ;;
    *) directory=$PWD/$directory ;;
  esac
  command_path=$directory/$program
  receipt=$directory/.$program.installed
  account=user
  if [ "$system" = yes ] || [ "$(id -u)" -eq 0 ]; then account=system; fi
  case $(uname -s)-$account in
    Darwin-system) configuration="/Library/Application Support/$program" ;;
    Darwin-user) configuration="$HOME/Library/Application Support/$program" ;;
    *-system) configuration=/etc/$program ;;
    *) configuration=$(base_directory "${XDG_CONFIG_HOME:-}" "$HOME/.config")/$program ;;
  esac
  if [ "$system" = yes ]; then
    # Everybody runs it, so everybody must be able to read it.
    runtime=/usr/local/lib/$program/deno public_umask=022
  else
    runtime=$(base_directory "${XDG_DATA_HOME:-}" "$HOME/.local/share")/$program/deno public_umask=077
  fi
}

check_core_url() {
  [ -n "$core_url" ] || return 0
  case $core_url in
    *[!A-Za-z0-9._:/\[\]-]*) fail --core-url 'holds a character that no address has' 'write https://core.example' ;;
    https://?* | http://127.0.0.1 | http://127.0.0.1[:/]* | http://localhost | http://localhost[:/]* | \
      http://\[::1\] | http://\[::1\][:/]*) ;;
    *) fail --core-url 'must be https' 'write https://core.example' ;;
  esac
}

# The name of the release for this machine, as the compiler of the program calls it.
find_target() {
  kernel=$(uname -s) machine=$(uname -m)
  case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail platform 'has no release' 'use --from-source in a checkout' ;;
  esac
  case $kernel in
    Linux)
      if uses_musl; then
        fail platform 'has no release: this system uses musl, releases need glibc' 'use --from-source in a checkout'
      fi
      target=$machine-unknown-linux-gnu
      ;;
    Darwin)
      # A shell under Rosetta says x86_64 on an Apple processor.
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || echo 0)" = 1 ]; then machine=aarch64; fi
      target=$machine-apple-darwin
      ;;
    *) fail platform 'has no release' 'use --from-source in a checkout; on Windows use install.ps1' ;;
  esac
}

uses_musl() {
  if have getconf && getconf GNU_LIBC_VERSION >/dev/null 2>&1; then return 1; fi
  if have ldd && ldd --version 2>&1 | grep -qi 'gnu\|glibc'; then return 1; fi
  if have ldd && ldd --version 2>&1 | grep -qi musl; then return 0; fi
  for loader in /lib/ld-musl-*; do
    [ -e "$loader" ] && return 0
  done
  return 1
}

# download URL FILE: https only, also after redirects; plain http for loopback alone.
download() {
  case $1 in
    # What stands before an @ is not the host, however much it looks like one.
    *@*) fail --base-url 'must not hold a user name' 'name a host that serves https' ;;
    https://*) protocol='=https' ;;
    http://127.0.0.1[:/]* | http://localhost[:/]* | http://\[::1\][:/]*) protocol='=http' ;;
    *) fail --base-url 'must be https' 'name a host that serves https' ;;
  esac
  if have curl; then
    curl --proto "$protocol" --proto-redir "$protocol" --tlsv1.2 --fail --silent --show-error \
      --location --max-redirs 5 --connect-timeout 20 --retry 2 --output "$2" -- "$1"
  elif have wget && wget --version 2>/dev/null | grep -q 'GNU Wget'; then
    if [ "$protocol" = '=https' ]; then
      wget --https-only --secure-protocol=TLSv1_2 --quiet --tries=3 --timeout=20 --output-document="$2" -- "$1"
    else
      wget --quiet --max-redirect=0 --tries=3 --timeout=20 --output-document="$2" -- "$1"
    fi
  else
    fail curl 'is missing' 'install curl or GNU wget'
  fi
}

fetch() {
  download "$base_url/$1" "$work/$2" ||
    fail "$1" 'could not be downloaded' 'check the network and --base-url, or use --from-source in a checkout'
}

digest_of() {
  if have sha256sum; then sha256sum <"$1" | cut -d ' ' -f 1
  elif have shasum; then shasum -a 256 <"$1" | cut -d ' ' -f 1
  else openssl dgst -sha256 <"$1" | sed 's/^.*= *//'
  fi
}

check_signature() {
  have openssl || fail openssl 'is missing, so the signature cannot be checked' 'install openssl'
  printf '%s\n' "$release_public_key" >"$work/key.pem"
  openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/SHA256SUMS.sig" "$work/SHA256SUMS" >/dev/null 2>&1 ||
    fail SHA256SUMS 'has a wrong signature' 'do not install this release; tell its publisher'
}

check_digest() {
  expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1; exit }' "$work/SHA256SUMS")
  [ -n "$expected" ] || fail "$archive" 'is not in this release' 'choose another --version, or use --from-source in a checkout'
  fetch "$version/$archive" archive.tar.gz
  [ "$(digest_of "$work/archive.tar.gz")" = "$expected" ] ||
    fail "$archive" 'has a wrong digest' 'download it again; if that does not help, tell its publisher'
}

# A private directory that is removed however the script ends, and what is half placed with it.
make_work() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/$program.XXXXXXXX") ||
    fail TMPDIR 'cannot be written' 'set it to a directory that can'
  fresh=
  trap 'rm -rf "$work"; [ -z "$fresh" ] || rm -f "$fresh"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

install_release() {
  [ -n "$release_public_key" ] ||
    fail install.sh 'holds no release key' 'take install.sh from a release, or use --from-source in a checkout'
  [ -n "$base_url" ] || fail --base-url 'is missing' 'name the host of the releases, or use --from-source in a checkout'
  find_target
  make_work
  if [ -z "$version" ]; then
    fetch latest latest
    version=$(head -n 1 "$work/latest")
  fi
  case $version in
    '' | *[!A-Za-z0-9.+-]* | .*) fail --version 'must be a release such as 1.2.3' 'leave it out for the newest' ;;
  esac
  archive=$program-$version-$target.tar.gz
  fetch "$version/SHA256SUMS" SHA256SUMS
  fetch "$version/SHA256SUMS.sig" SHA256SUMS.sig
  check_signature
  check_digest
  mkdir "$work/content"
  tar -xzf "$work/archive.tar.gz" -C "$work/content" "$program" 2>/dev/null ||
    fail "$archive" 'does not hold the program' 'tell its publisher'
  if [ ! -f "$work/content/$program" ] || [ -L "$work/content/$program" ]; then
    fail "$archive" 'does not hold the program' 'tell its publisher'
  fi
  chmod 700 "$work/content/$program"
  case $("$work/content/$program" version 2>/dev/null) in
    "$program $version "*) ;;
    *) fail "$archive" 'does not run here or is another version' 'set TMPDIR if programs may not run there; else tell its publisher' ;;
  esac
  place "$work/content/$program"
}

# Whether what is at the command's path was put there by this script. A file of somebody else is
# neither run nor replaced nor removed.
is_ours() {
  if [ -L "$command_path" ] || [ ! -f "$command_path" ]; then return 1; fi
  case $(head -c 200 "$command_path" | tr -d '\000') in
    *'Written by install.sh --from-source.'*) return 0 ;;
  esac
  [ -f "$receipt" ] || return 1
  case $("$command_path" version 2>/dev/null) in
    "$program "*) return 0 ;;
  esac
  return 1
}

# place FILE: puts the program at its path in one step, so that a running one is never half new.
place() {
  if [ -f "$command_path" ] && [ ! -L "$command_path" ] && [ -x "$command_path" ] && cmp -s "$1" "$command_path"; then
    say "$command_path is current."
    return 0
  fi
  if [ -d "$command_path" ]; then
    fail "$command_path" 'is a directory' 'remove it, or choose another --dir'
  fi
  if [ -e "$command_path" ] || [ -L "$command_path" ]; then
    is_ours || fail "$command_path" 'is there and not from this script' 'move it away, or choose another --dir'
  fi
  if ! (umask "$public_umask" && mkdir -p "$directory") 2>/dev/null || [ ! -w "$directory" ]; then
    fail "$directory" 'cannot be written' 'choose another --dir, or run as a user who may'
  fi
  # A name that nobody can foresee: others may be able to write here too.
  fresh=$(mktemp "$directory/.$program.XXXXXXXX" 2>/dev/null) ||
    fail "$directory" 'cannot be written' 'choose another --dir, or run as a user who may'
  cp "$1" "$fresh" 2>/dev/null || fail "$directory" 'has no room for the program' 'free some space'
  if [ "$system" = yes ]; then chmod 755 "$fresh"; else chmod 700 "$fresh"; fi
  # First the receipt: a program without one could never be replaced or removed by this script.
  (umask "$public_umask" && say "install.sh put $program into this directory." >"$receipt") 2>/dev/null ||
    fail "$receipt" 'cannot be written' 'choose another --dir, or run as a user who may'
  mv -f "$fresh" "$command_path"
  fresh=
  say "Installed $command_path."
}

# quoted TEXT: one word for a shell.
quoted() {
  printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

find_deno() {
  if have deno && [ "$(deno --version 2>/dev/null | sed -n 's/^deno \([0-9.]*\).*/\1/p')" = "$deno_version" ]; then
    deno=$(command -v deno)
    case $deno in
      /*) ;;
      *) deno=$PWD/$deno ;; # a search path may be relative; the launcher runs from anywhere
    esac
    return 0
  fi
  deno=$runtime/node_modules/.bin/deno
  if [ -x "$deno" ] && "$deno" --version >/dev/null 2>&1; then return 0; fi
  have npm || fail deno "$deno_version is missing" 'install it, or npm, with which this script gets it'
  say "Getting Deno $deno_version with npm …"
  umask "$public_umask"
  mkdir -p "$runtime" || fail "$runtime" 'cannot be made' 'run as a user who may write there'
  npm install --silent --no-fund --no-audit --prefix "$runtime" "deno@$deno_version" >/dev/null ||
    fail deno 'could not be installed with npm' 'check the network'
  umask 077
}

install_source() {
  checkout=$(CDPATH='' cd -- "$(dirname -- "$0")" 2>/dev/null && pwd -P) || checkout=
  if [ -z "$checkout" ] || [ ! -f "$checkout/main.ts" ] || [ ! -f "$checkout/deno.json" ]; then
    fail --from-source 'needs a checkout' 'run: sh install.sh --from-source in the folder that holds main.ts'
  fi
  find_deno
  (cd "$checkout" && NO_COLOR=1 "$deno" install --quiet >/dev/null) ||
    fail --from-source 'could not get the dependencies' 'check the network'
  make_work
  # Manual: the dependencies are there, and looking after them costs 0.3 s at each start.
  cat >"$work/launcher" <<LAUNCHER
#!/bin/sh
# Runs agent-daemon from a checkout. Written by install.sh --from-source.
DENO_NO_UPDATE_CHECK=1 exec $(quoted "$deno") run --quiet --no-prompt --node-modules-dir=manual --config $(quoted "$checkout/deno.json") $permissions $(quoted "$checkout/main.ts") "\$@"
LAUNCHER
  chmod 700 "$work/launcher"
  sh "$work/launcher" version >/dev/null ||
    fail --from-source 'the program does not start' "run: $deno check $checkout/main.ts"
  place "$work/launcher"
}

write_configuration() {
  [ -n "$core_url" ] || return 0
  file=$configuration/config.json
  if [ -e "$file" ]; then
    grep -qF "\"$core_url\"" "$file" || warn "$file: exists and is left as it is; set core_url there"
    return 0
  fi
  mkdir -p "$configuration"
  printf '{\n  "core_url": "%s"\n}\n' "$core_url" >"$file"
  say "Wrote $file."
}

finish() {
  write_configuration
  typed=$(quoted "$command_path")
  case :${PATH:-}: in
    *":$directory:"*)
      if [ "$(command -v "$program")" = "$command_path" ]; then
        typed=$program
      else
        say "Another $program comes first on your PATH; type the full path."
      fi
      ;;
    *) say "$directory is not on your PATH; add it, or type the full path." ;;
  esac
  if [ "$service" = yes ] && [ -f "$configuration/config.json" ] && [ -f "$configuration/token" ]; then
    say 'Next:'
    say "  $typed service install"
    return 0
  fi
  say 'Next, with the device id and the token file that Core gave you:'
  if [ -n "$core_url" ] || [ -f "$configuration/config.json" ]; then
    say "  $typed --device-id UUID --token-file FILE"
  else
    say "  $typed --device-id UUID --token-file FILE --core-url https://core.example"
  fi
  say 'Or, without a Core, on this machine alone:'
  say "  $typed doctor --offline"
}

uninstall() {
  if [ ! -e "$command_path" ] && [ ! -L "$command_path" ]; then
    rm -f "$receipt"
    say "$command_path is not there; nothing to do."
    return 0
  fi
  is_ours || fail "$command_path" 'is not from this script' 'remove it yourself if you want to'
  if [ "$service" = yes ] && ! "$command_path" service uninstall >/dev/null 2>&1; then
    warn 'the service was not removed, or there was none; see: service status'
  fi
  rm -f "$command_path" || fail "$command_path" 'cannot be removed' 'run as a user who may'
  rm -f "$receipt"
  # Only this script makes it, and nothing but npm writes into it.
  if [ -d "$runtime/node_modules/deno" ]; then rm -rf "$runtime"; fi
  say "Removed $command_path. Configuration, state and workspace are kept; see $configuration."
}

main() {
  parse_options "$@"
  choose_places
  check_core_url
  case $mode in
    release) install_release; finish ;;
    source) install_source; finish ;;
    uninstall) uninstall ;;
  esac
}

{ main "$@"; exit 0; }
