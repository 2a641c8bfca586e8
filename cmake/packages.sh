# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that set up a machine: Debian and Ubuntu packages, as root or with sudo.

# need_packages PACKAGE…: installs what is missing, all or nothing.
need_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    command -v apt-get >/dev/null || { echo "missing, and no apt-get here to install them: ${missing[*]}" >&2; return 1; }
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    echo "installing ${missing[*]}"
    # A package list may be old or absent: fetch it only when the first try fails.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        >/dev/null 2>&1 ||
        { "${as_root[@]}" apt-get update -qq >/dev/null 2>&1 &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
                >/dev/null; }
}
