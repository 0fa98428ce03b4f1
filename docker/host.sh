#!/bin/sh
# Makes a bare Debian host ready for `docker compose up`: an engine, Compose v2, BuildKit and the images that are pulled.
#
#   docker/host.sh [--engine] [IMAGE...]
#
# As root, and as often as you like: what is there is left alone. Images are those named here, else those that
# docker/Dockerfile and compose.yaml name. An image comes from its registry; where no registry can be reached,
# python:* and prom/prometheus:* are made here from Debian's packages (label edgefw.standin). The versions in a stand-in
# are Debian's, whatever its tag says. Packages come from where apt and pip are set up to get them.
# --engine stops before the images.
set -eu

suite=trixie # the Debian release whose Python is 3.13, and whose Compose is v2
root=$(cd "$(dirname "$0")/.." && pwd)
plugins=/usr/local/lib/docker/cli-plugins
log=/var/log/dockerd.log
bundle=/etc/ssl/certs/ca-certificates.crt

say() { printf 'host: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# --- packages -----------------------------------------------------------------------------------------------------

fresh_lists() { # once a run; one source that is down need not matter
  [ ! -e "$work/fresh" ] || return 0
  apt-get update -qq >"$work/apt" 2>&1 || say "apt-get update complains: $(tail -n 1 "$work/apt")"
  : >"$work/fresh"
}

install_packages() { # install_packages PACKAGE...
  fresh_lists
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$work/apt" 2>&1 ||
    die "apt-get install $*: $(tail -n 1 "$work/apt")"
}

debian_archive() { # where this host gets Debian itself from, as apt knows it
  fresh_lists
  # shellcheck disable=SC2016 # apt's own format
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
    sort -u | head -n 1 | grep . || die "apt knows no archive of Debian: add one to /etc/apt/sources.list"
}

plugin_from_suite() { # plugin_from_suite PACKAGE: only its command-line plugin, out of $suite
  archive=$(debian_archive)
  mkdir -p "$work/lists/partial" "$work/debs" "$plugins"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" >"$work/sources"
  set -- "$1" -o "Dir::Etc::sourcelist=$work/sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
  package=$1
  shift
  apt-get "$@" update -qq >"$work/apt" 2>&1 || die "no package lists of $suite: $(tail -n 1 "$work/apt")"
  (cd "$work/debs" && apt-get "$@" download -qq "$package") >"$work/apt" 2>&1 ||
    die "cannot fetch $package of $suite: $(tail -n 1 "$work/apt")"
  dpkg-deb --extract "$work/debs/$package"_*.deb "$work/$package"
  install -m 755 "$work/$package"/usr/libexec/docker/cli-plugins/* "$plugins/"
}

plugin() { # plugin COMMAND PACKAGE: the host's own package where its release has one
  docker "$1" version >/dev/null 2>&1 && return
  fresh_lists
  case $(apt-cache policy "$2" | sed -n 's/^ *Candidate: //p') in
  '' | '(none)' | 0.* | 1.*) plugin_from_suite "$2" ;; # Debian 12 has Compose v1 and no buildx
  *) install_packages "$2" ;;
  esac
  docker "$1" version >/dev/null 2>&1 || die "docker $1 does not work though $2 is installed"
}

# --- engine -------------------------------------------------------------------------------------------------------

start_engine() {
  docker info >/dev/null 2>&1 && return
  if [ -d /run/systemd/system ]; then
    systemctl start docker || die "systemctl start docker failed: see journalctl -u docker"
  else
    setsid dockerd --log-level warn >>"$log" 2>&1 </dev/null &
  fi
  tries=0
  until docker info >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || die "the engine did not answer within 60 s: $(tail -n 1 "$log" 2>/dev/null)"
    sleep 0.5
  done
}

engine() {
  has dockerd || install_packages docker.io iptables ca-certificates
  has docker || install_packages docker-cli # a package of its own since Debian 13
  plugin compose docker-compose
  plugin buildx docker-buildx
  start_engine
  say "engine $(docker version --format '{{.Server.Version}}'), compose $(docker compose version --short)"
}

# --- images -------------------------------------------------------------------------------------------------------

images_in_use() { # what the project's own files name, and this script knows how to stand in for
  sed -n 's/^ARG PYTHON_IMAGE=//p' "$root/docker/Dockerfile" 2>/dev/null || :
  sed -n 's/^ *image: *["'\'']\{0,1\}\(prom\/prometheus:[^"'\'' ]*\).*/\1/p' "$root/compose.yaml" 2>/dev/null || :
}

pip_settings() { # the host's way to packages; a folder of the host does not exist in a container
  printf '[global]\ncert = %s\n' "$bundle"
  python3 -m pip config list 2>/dev/null |
    sed -n "s/^[^.]*\.\(index-url\|trusted-host\|default-timeout\)='\(.*\)'\$/\1 = \2/p" |
    grep -v 'file:' | sort -u -t ' ' -k 1,1 || :
}

python_standin() { # python_standin IMAGE: Debian's Python where the official image has its own
  has mmdebstrap || install_packages mmdebstrap
  archive=$(debian_archive)
  pip_settings >"$work/pip.conf"
  cp -L "${SSL_CERT_FILE:-$bundle}" "$work/bundle.crt"
  cat >"$work/customize" <<'END'
set -eu
rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED
for name in python python3; do ln -sf /usr/bin/python3 "$1/usr/local/bin/$name"; done
ln -sf /usr/bin/pip3 "$1/usr/local/bin/pip"
cp pip.conf "$1/etc/pip.conf"
cp bundle.crt "$1/etc/ssl/certs/ca-certificates.crt"
rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/* "$1"/var/log/*.log
END
  # shellcheck disable=SC2016 # $1 is for mmdebstrap to fill in
  (cd "$work" && mmdebstrap --quiet --mode=root --variant=minbase --components=main --dpkgopt=force-unsafe-io \
    --include=python3,python3-pip,python3-venv,ca-certificates \
    --customize-hook='sh customize "$1"' "$suite" standin.tar "$archive" >mmdebstrap.log 2>&1) ||
    die "cannot make $1: $(grep -E '^E:' "$work/mmdebstrap.log" | tail -n 1)"
  docker import --change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]' --change 'LABEL edgefw.standin=python' \
    --change 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change "ENV SSL_CERT_FILE=$bundle" "$work/standin.tar" "$1" >/dev/null
  rm "$work/standin.tar"
}

prometheus_standin() { # prometheus_standin IMAGE: the paths, user and arguments of the official image
  base=$(sed -n 's/^ARG PYTHON_IMAGE=//p' "$root/docker/Dockerfile" 2>/dev/null | head -n 1)
  base=${base:-python:3.13-slim}
  provide "$base"
  docker build --quiet --tag "$1" - >/dev/null 2>"$work/build" <<END || die "cannot make $1: $(tail -n 1 "$work/build")"
FROM $base
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus promtool && \
    rm -rf /var/lib/apt/lists/* /etc/prometheus/* && \
    install -d -o 65534 -g 65534 /etc/prometheus /prometheus
LABEL edgefw.standin=prometheus
USER 65534:65534
WORKDIR /prometheus
EXPOSE 9090
VOLUME ["/prometheus"]
ENTRYPOINT ["/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
END
}

provide() { # provide IMAGE: present, pulled, or made
  docker image inspect "$1" >/dev/null 2>&1 && { say "$1: present"; return; }
  timeout 600 docker pull --quiet "$1" >/dev/null 2>"$work/pull" && { say "$1: pulled"; return; }
  if grep -q -i -E 'manifest|denied' "$work/pull"; then # the registry did answer
    die "$1 cannot be pulled: $(tail -n 1 "$work/pull")"
  fi
  case $1 in
  python:*) python_standin "$1" ;;
  prom/prometheus:*) prometheus_standin "$1" ;;
  *) die "$1: no registry answers ($(tail -n 1 "$work/pull")), and there is no stand-in for it" ;;
  esac
  say "$1: no registry answers; a stand-in was made from Debian's packages"
}

# --- main ---------------------------------------------------------------------------------------------------------

case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit ;; esac
only_engine=
[ "${1:-}" != --engine ] || { only_engine=1; shift; }
for image; do case $image in -*) die "unknown option $image: there is --engine" ;; esac; done
[ "$(id -u)" = 0 ] || die "run it as root: it installs packages and starts the engine"
has apt-get || die "this is not Debian (no apt-get): install Docker as its handbook says, then run docker compose up"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

engine
[ -z "$only_engine" ] || exit 0
# shellcheck disable=SC2046 # one word an image
[ $# -gt 0 ] || set -- $(images_in_use)
for image; do provide "$image"; done
